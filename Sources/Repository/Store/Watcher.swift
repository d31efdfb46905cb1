import Streams

/// One who watches a key, and what may be shown to it.
///
/// `@unchecked Sendable`: the two variables are touched by the channel alone, which delivers one at a time.
final class Watcher<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
  let id: UInt64
  let policy: FetchPolicy
  private let observer: AnyObserver<Snapshot<Value>>
  /// What was written up to this number is not shown: the policy asks for the network's answer.
  private var hiddenThrough: UInt64?
  private var last: Sign?

  /// What makes one snapshot differ from the next.
  private struct Sign: Equatable {
    let stamp: SnapshotStamp
    let isFetching: Bool
    let failure: UInt64
    let isStale: Bool
    let isPassing: Bool
  }

  init(id: UInt64, policy: FetchPolicy, observer: AnyObserver<Snapshot<Value>>) {
    self.id = id
    self.policy = policy
    self.observer = observer
  }

  /// The first state.
  func greet(
    _ state: KeyState<Key, Value>, _ rendered: (value: Value?, layers: [UInt64]), freshness: Freshness, now: StoreTime
  ) {
    if policy.cacheRead != .beforeNetworkFetch { hiddenThrough = state.version }
    receive(state, rendered, freshness: freshness, now: now)
  }

  func receive(
    _ state: KeyState<Key, Value>, _ rendered: (value: Value?, layers: [UInt64]), freshness: Freshness, now: StoreTime
  ) {
    if let hidden = hiddenThrough, state.version > hidden || standsIn(state, freshness: freshness, now: now) {
      hiddenThrough = nil
    }
    var snapshot = state.empty
    var isPassing = false
    if hiddenThrough == nil, rendered.value != nil {
      snapshot = state.snapshot(rendered, freshness: freshness, now: now)
    } else if let passing = state.passing {
      snapshot.value = passing.value
      snapshot.source = .network
      isPassing = true
    }
    let sign = Sign(
      stamp: snapshot.stamp, isFetching: snapshot.isFetching, failure: state.failure, isStale: snapshot.isStale,
      isPassing: isPassing)
    guard sign != last else { return }
    last = sign
    observer.onNext(snapshot)
  }

  private func standsIn(_ state: KeyState<Key, Value>, freshness: Freshness, now: StoreTime) -> Bool {
    guard policy.cacheRead == .onNetworkFailure, !state.isFetching, !state.errors.isEmpty else { return false }
    return state.kept.map { freshness.mayStandIn($0, now: now) } ?? true
  }
}
