import Streams

/// A request under way, and who wants its answer.
@usableFromInline
struct Fetch<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// One who wants one answer.
  struct Waiter: Sendable {
    let policy: FetchPolicy
    let answer: @Sendable (Result<KeyState<Key, Value>, any Error>) -> Void
  }

  let id: UInt64
  let subscription = DisposeBag()
  /// Those who keep it alive: the last one that leaves cancels it.
  var claims: Set<UInt64> = []
  var waiters: [UInt64: Waiter] = [:]
  /// Whether at least one of them wants the answer kept.
  var keepsAnswer = false
  /// Whether a change which the server has made since may not be in its answer.
  var mayBeOutdated = false
}
