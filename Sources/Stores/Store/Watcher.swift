import Streams
import SystemBase

/// A state of a key, for all its watchers; layers are applied to it once.
final class Publication<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  typealias Rendered = (value: Value?, layers: [UInt64])

  let state: KeyState<Key, Value>
  private let result = Locked<Rendered?>(nil)

  init(_ state: KeyState<Key, Value>) {
    self.state = state
  }

  /// Calls the user's closures, so it must not be called under a lock. Of two threads at once, each may call them.
  func rendered() -> Rendered {
    if state.layers.isEmpty { return state.rendered() }
    if let known = result.withLock({ $0 }) { return known }
    let rendered = state.rendered()
    result.withLock { if $0 == nil { $0 = rendered } }
    return rendered
  }
}

/// A subscriber to a key, and what may be shown to it. Of the states that are posted while it is busy, only the latest is
/// kept.
///
/// `@unchecked Sendable`: all variables but the mailbox are accessed only while that delivers.
final class Watcher<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
  private struct Letter: Sendable {
    var latest: Publication<Key, Value>?
    /// The latest response that was not cached, and the version that it came after.
    var uncached: (response: CachedValue<Value>, version: UInt64)?
    /// Whether the stream completes, after what is here.
    var isEnding = false
  }

  let id: UInt64
  let policy: FetchPolicy
  let context: ReadContext
  private let observer: AnyObserver<Snapshot<Value>>
  private let mailbox = Mailbox(Letter())
  /// Values written up to this number, and local changes of them, are not shown: the policy waits for the network.
  private var hiddenThrough: UInt64?
  /// A response that was not cached, shown until something is written.
  private var shownUncached: (response: CachedValue<Value>, version: UInt64)?
  private var last: Fingerprint?

  /// What makes one snapshot differ from the next.
  private struct Fingerprint: Equatable {
    let stamp: SnapshotStamp
    let isFetching: Bool
    let failure: UInt64
    let isStale: Bool
    /// The layers over a response that was not cached; `nil` if none is shown.
    let uncachedLayers: [UInt64]?
  }

  /// - Parameter hiddenThrough: If it waits for the network, the number of the latest write before it subscribed.
  init(
    id: UInt64, policy: FetchPolicy, context: ReadContext, hiddenThrough: UInt64?,
    observer: AnyObserver<Snapshot<Value>>
  ) {
    self.id = id
    self.policy = policy
    self.context = context
    self.observer = observer
    self.hiddenThrough = hiddenThrough
  }

  /// Keeps a state until it is delivered; returns what it replaces, to be released outside the lock.
  /// - Parameter uncached: A response that may not replace what is cached, if this watcher has requested it.
  func post(_ publication: Publication<Key, Value>, uncached: CachedValue<Value>?) -> (any Sendable)? {
    mailbox.post { letter -> (any Sendable)? in
      let old = letter
      letter.latest = publication
      if let uncached { letter.uncached = (uncached, publication.state.version) }
      return old.latest == nil && old.uncached == nil ? nil : old
    }
  }

  /// Completes the stream with the next delivery.
  func end() { mailbox.post { $0.isEnding = true } }

  /// Delivers the latest state, unless another thread is doing so: that one then delivers it.
  func deliver(freshness: Freshness, clock: StoreClock) {
    let take: @Sendable (inout Letter) -> Letter? = { waiting in
      if waiting.latest == nil {
        return exchange(&waiting.isEnding, with: false) ? Letter(isEnding: true) : nil
      }
      return Letter(latest: waiting.latest.take(), uncached: waiting.uncached.take())
    }
    while mailbox.deliver(
      take,
      to: { letter in
        guard let publication = letter.latest else { return observer.onCompleted() }
        show(publication, letter.uncached, freshness: freshness, now: clock.now)
      })
    {}
  }

  private func show(
    _ publication: Publication<Key, Value>, _ uncached: (response: CachedValue<Value>, version: UInt64)?,
    freshness: Freshness, now: StoreTime
  ) {
    let (state, rendered) = (publication.state, publication.rendered())
    // One that came, and was replaced, while the subscriber was busy counts, too.
    let wasReplaced = [shownUncached, uncached].contains { $0.map { $0.version != state.version } ?? false }
    if let uncached { shownUncached = uncached }
    if shownUncached?.version != state.version { shownUncached = nil }
    if let hidden = hiddenThrough,
      wasReplaced || state.replacedAt > hidden || showsOnError(state, freshness: freshness, now: now)
    {
      hiddenThrough = nil
    }
    let showsCached = hiddenThrough == nil && rendered.value != nil
    var snapshot =
      showsCached ? state.snapshot(rendered, isStale: state.isStale(by: freshness, now: now), now: now) : state.empty
    var uncachedLayers: [UInt64]?
    if !showsCached, let response = shownUncached?.response {
      let (value, layers) = state.rendered(over: response.value)
      snapshot.value = value
      snapshot.source = layers.isEmpty ? .network : .optimistic
      snapshot.isPartial = response.isPartial
      snapshot.age = max(.zero, now - response.writtenAt)
      uncachedLayers = layers
    }
    let fingerprint = Fingerprint(
      stamp: snapshot.stamp, isFetching: snapshot.isFetching, failure: state.failure, isStale: snapshot.isStale,
      uncachedLayers: uncachedLayers)
    guard fingerprint != last else { return }
    last = fingerprint
    observer.onNext(snapshot)
  }

  private func showsOnError(_ state: KeyState<Key, Value>, freshness: Freshness, now: StoreTime) -> Bool {
    guard policy.cacheRead == .onNetworkFailure, !state.isFetching, state.hasFailed else { return false }
    return state.cached.map { freshness.isUsableOnError($0, now: now) } ?? true
  }
}
