/// What a pager is asked to do, and what its requests come to.
enum PagerCommand<Item: Sendable, Cursor: Sendable>: Sendable {
  case refresh
  case loadMore
  /// The end of the request with a number.
  case loaded(UInt64, Result<Page<Item, Cursor>, any Error>)
}
