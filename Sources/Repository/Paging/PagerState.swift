/// What a ``Pager`` has loaded so far, and what it is doing.
public struct PagerState<Item: Sendable>: Sendable {
  /// What a pager is doing.
  public enum Phase: Sendable {
    /// Nothing; there may be more to load.
    case idle
    /// Requesting the first page. The rows loaded before are shown until the response comes.
    case refreshing
    /// Requesting the next page.
    case loadingMore
    /// Nothing: all pages are loaded.
    case noMore
    /// Nothing: the latest request failed. The rows loaded before it are kept, and either request may be made again.
    case failed(any Error)
  }

  /// All rows loaded so far, each once.
  public var items: [Item]

  /// What the pager is doing.
  public var phase: Phase

  /// Whether a request is under way, for the first page or the next.
  public var isLoading: Bool {
    switch phase {
    case .refreshing, .loadingMore: true
    case .idle, .noMore, .failed: false
    }
  }

  /// Whether there may be more rows than these.
  public var mayHaveMore: Bool { if case .noMore = phase { false } else { true } }

  /// Why the latest request failed; `nil` if it did not, or another one has begun.
  public var error: (any Error)? { if case .failed(let error) = phase { error } else { nil } }

  /// Makes a state, for fixtures.
  public init(items: [Item] = [], phase: Phase = .idle) {
    self.items = items
    self.phase = phase
  }
}
