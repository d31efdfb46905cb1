import Streams

/// A subscriber to a key, and what may be shown to it.
///
/// `@unchecked Sendable`: the variables are accessed by the channel only, which delivers one state at a time.
final class Watcher<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
  let id: UInt64
  let policy: FetchPolicy
  private let observer: AnyObserver<Snapshot<Value>>
  /// Values written up to this number, and local changes of them, are not shown: the policy waits for the network.
  private var hiddenThrough: UInt64?
  /// A response that was not cached, shown until something is written.
  private var passing: (answer: CachedValue<Value>, version: UInt64)?
  private var last: Fingerprint?

  /// What makes one snapshot differ from the next.
  private struct Fingerprint: Equatable {
    let stamp: SnapshotStamp
    let isFetching: Bool
    let failure: UInt64
    let isStale: Bool
    /// The layers over a response that was not cached; `nil` if none is shown.
    let passingLayers: [UInt64]?
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
    let hasPassed = passing.map { $0.version != state.version } ?? false
    if hasPassed { passing = nil }
    if let answer = state.passing { passing = (answer, state.version) }
    if let hidden = hiddenThrough,
      hasPassed || state.replacedAt > hidden || standsIn(state, freshness: freshness, now: now)
    {
      hiddenThrough = nil
    }
    let showsKept = hiddenThrough == nil && rendered.value != nil
    var snapshot = showsKept ? state.snapshot(rendered, freshness: freshness, now: now) : state.empty
    var passingLayers: [UInt64]?
    if !showsKept, let passing {
      let (value, layers) = state.rendered(over: passing.answer.value)
      snapshot.value = value
      snapshot.source = layers.isEmpty ? .network : .optimistic
      snapshot.isPartial = passing.answer.isPartial
      snapshot.age = max(.zero, now - passing.answer.writtenAt)
      passingLayers = layers
    }
    let fingerprint = Fingerprint(
      stamp: snapshot.stamp, isFetching: snapshot.isFetching, failure: state.failure, isStale: snapshot.isStale,
      passingLayers: passingLayers)
    guard fingerprint != last else { return }
    last = fingerprint
    observer.onNext(snapshot)
  }

  private func standsIn(_ state: KeyState<Key, Value>, freshness: Freshness, now: StoreTime) -> Bool {
    guard policy.cacheRead == .onNetworkFailure, !state.isFetching, state.hasFailed else { return false }
    return state.kept.map { freshness.mayStandIn($0, now: now) } ?? true
  }
}
