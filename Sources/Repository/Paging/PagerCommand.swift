/// What a pager is told to do, and the results of its requests.
enum PagerCommand<Item: Sendable, Cursor: Sendable>: Sendable {
  case refresh
  case loadMore
  /// The result of the request with this number.
  case loaded(UInt64, Result<Page<Item, Cursor>, any Error>)
}
