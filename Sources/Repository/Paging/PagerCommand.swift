/// What a pager is told to do, and the results of its requests.
enum PagerCommand<Item: Sendable, Cursor: Sendable>: Sendable {
  /// `then` is told the state after the request; if none is needed, at once.
  case refresh(then: (@Sendable (PagerState<Item>) -> Void)?)
  case loadMore(then: (@Sendable (PagerState<Item>) -> Void)?)
  case edit(@Sendable (inout [Item]) -> Void)
  /// The result of the request with this number.
  case loaded(UInt64, Result<Page<Item, Cursor>, any Error>)
}
