import Streams

/// A request under way, and the readers that want its response.
@usableFromInline
struct Fetch<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// A read that waits for one response.
  struct Waiter: Sendable {
    let policy: FetchPolicy
    let answer: @Sendable (Result<KeyState<Key, Value>, any Error>) -> Void
  }

  let id: UInt64
  let subscription = DisposeBag()
  /// The ids of the readers and watchers that keep the request alive: it is cancelled when the last one leaves.
  var claims: Set<UInt64> = []
  var waiters: [UInt64: Waiter] = [:]
  /// Whether at least one of them wants the response kept.
  var keepsAnswer = false
  /// Whether the response may lack a change that the server has made since the request began.
  var mayBeOutdated = false
}
