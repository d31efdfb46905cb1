/// What a ``Pager`` has so far, and what it is doing.
public struct PagerState<Item: Sendable>: Sendable {
  /// What a pager is doing.
  public enum Phase: Sendable {
    /// Nothing; there may be more to load.
    case idle
    /// Asks for the first page. What was there before is shown until the answer comes.
    case refreshing
    /// Asks for the next page.
    case loadingMore
    /// Nothing: all is loaded.
    case noMore
    /// Nothing, since the latest request failed; what was there before it still is, and either request may be made again.
    case failed(any Error)
  }

  /// All rows that were loaded, each once.
  public var items: [Item]

  /// What the pager is doing.
  public var phase: Phase

  /// Makes a state; for fixtures.
  public init(items: [Item] = [], phase: Phase = .idle) {
    self.items = items
    self.phase = phase
  }
}
