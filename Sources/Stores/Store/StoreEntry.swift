import Streams

/// The state of a key that is in use: watched, read or requested. Accessed only under the store's lock.
@usableFromInline
final class StoreEntry<Key: Hashable & Sendable, Value: Sendable> {
  @usableFromInline var cached: CachedValue<Value>?
  /// Whether the source of truth was read, or need not be.
  var isLoaded: Bool
  /// Whether the value was invalidated while it was being read.
  var isInvalidatedWhileLoading = false
  /// Whether the source of truth may have a value that could not be read.
  var isUnreadable = false
  /// What waits until the value is loaded from an asynchronous source of truth, in order; `nil` if it is not loading.
  var loading: [@Sendable (SnapshotSource?) -> Void]?
  /// Whether a change by others is being read, and whether there was another one meanwhile.
  var following: (isRunning: Bool, isRepeated: Bool) = (false, false)
  /// The number of the latest write.
  @usableFromInline var version: UInt64
  /// The number of the latest write of a complete value, or removal; a local change does not count.
  @usableFromInline var replacedAt: UInt64 = 0
  /// The requests in flight: one, unless reads have contexts of several identities.
  @usableFromInline var fetches: [Fetch<Key, Value>] = []
  /// What was pushed since the oldest of them began, with the number of each.
  var pushes: [Push] = []
  /// How many responses in a row were overtaken by what was pushed, and whether the next request waits for a pause.
  var overtaken = (count: 0, isPausing: false)
  /// The errors of the latest request, and their number.
  @usableFromInline var errors: [any Error] = []
  @usableFromInline var failure: UInt64 = 0
  /// Whether the latest request failed without a response.
  @usableFromInline var hasFailed = false
  /// In the order of their ids.
  var watchers: [Watcher<Key, Value>] = []
  var uses = 0

  /// A change that a server has pushed.
  struct Push: Sendable {
    let number: UInt64
    /// `nil` if it does not concern the value, or fails.
    let change: @Sendable (Value) -> Value?
  }

  init(cached: CachedValue<Value>?, isLoaded: Bool, version: UInt64) {
    self.cached = cached
    self.isLoaded = isLoaded
    self.version = version
  }

  /// The place of a request among those in flight; `nil` if it was cancelled.
  func place(of fetchID: UInt64) -> Int? { fetches.indices.first { fetches[$0].id == fetchID } }
}

/// A cached value and its metadata.
@usableFromInline
struct CachedValue<Value: Sendable>: Sendable {
  @usableFromInline var value: Value
  @usableFromInline var writtenAt: StoreTime
  @usableFromInline var readAt: StoreTime
  @usableFromInline var isInvalidated = false
  /// The number of the write that brought it; 0 if it was loaded from the source of truth. A local change keeps it.
  @usableFromInline var writtenBy: UInt64 = 0
  /// What few reads need, behind one reference, since a read copies a cached value several times; `nil` for one that
  /// has none of it.
  @usableFromInline var record: CachedValueRecord?

  init(_ value: Value, writtenAt: StoreTime, cost: Int = 1) {
    self.value = value
    self.writtenAt = writtenAt
    readAt = writtenAt
    if cost != 1 { self.cost = cost }
  }
}

extension CachedValue {
  /// What is missing from a partial response; empty for a complete one.
  @inlinable var errors: [any Error] {
    get { record?.content.errors ?? [] }
    set { modifyRecord { $0.errors = newValue } }
  }

  /// A partial value is kept only while there is no complete one, and never on disk.
  @inlinable var isPartial: Bool { record?.content.errors.isEmpty == false }

  /// Which state of the key it is, for all processes; zero if no source of truth has it.
  @inlinable var version: EntryVersion {
    get { record?.content.version ?? .zero }
    set { modifyRecord { $0.version = newValue } }
  }

  @inlinable var cost: Int {
    get { record?.content.cost ?? 1 }
    set { modifyRecord { $0.cost = newValue } }
  }

  /// When it becomes stale, if that is known otherwise than by its age.
  @inlinable var staleDate: StaleDate? {
    get { record?.content.staleDate }
    set { modifyRecord { $0.staleDate = newValue } }
  }

  @usableFromInline mutating func modifyRecord(_ change: (inout CachedValueRecord.Content) -> Void) {
    var content = record?.content ?? CachedValueRecord.Content()
    change(&content)
    record = CachedValueRecord(content)
  }
}

@usableFromInline
final class CachedValueRecord: Sendable {
  @usableFromInline
  struct Content: Sendable {
    @usableFromInline var version = EntryVersion.zero
    @usableFromInline var cost = 1
    @usableFromInline var errors: [any Error] = []
    @usableFromInline var staleDate: StaleDate?

    @usableFromInline init() {}
  }

  @usableFromInline let content: Content

  init(_ content: Content) { self.content = content }
}

extension CachedValue {
  init(_ stored: StoredValue<Value>, cost: Int) {
    self.init(stored.value, writtenAt: stored.writtenAt, cost: cost)
    isInvalidated = stored.isInvalidated
    version = stored.version
  }

  var stored: StoredValue<Value> {
    StoredValue(value, writtenAt: writtenAt, isInvalidated: isInvalidated, version: version)
  }
}

/// A request in progress, and the readers that want its response.
@usableFromInline
struct Fetch<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// A read that waits for one response.
  struct Waiter: Sendable {
    let policy: FetchPolicy
    let completion: @Sendable (Result<KeyState<Key, Value>, any Error>) -> Void
  }

  /// The claim of the store itself, which refreshes a value.
  static var ownClaim: UInt64 { 0 }

  let id: UInt64
  let context: ReadContext
  let subscription = DisposeBag()
  /// The readers and watchers that keep the request alive, by their ids, and those of them that wait for one response:
  /// it is cancelled when the last one leaves.
  var claims: [UInt64: Waiter?] = [:]
  /// Whether at least one of them wants the response cached.
  var cachesResponse = false
  /// The version of its response: what others write meanwhile has a greater one.
  let version: EntryVersion
  /// Whether the response may lack a change that the server has made since the request began.
  var mayBeOutdated = false

  /// In the order of their reads.
  var waiters: [Waiter] {
    if claims.count == 1 { return claims.values.compactMap { $0 } }
    return claims.sorted { $0.key < $1.key }.compactMap(\.value)
  }

  /// Gives readers their result, on this thread. One that stalls keeps it from no other.
  static func answer(_ waiters: [Waiter], _ result: Result<KeyState<Key, Value>, any Error>) {
    if waiters.count == 1 { return waiters[0].completion(result) }
    if waiters.isEmpty { return }
    let answers = waiters.map { waiter in EffectRunner.Action(mayStall: true) { waiter.completion(result) } }
    EffectRunner().run(answers)
  }
}

/// The latest failure of a key, because of which it is not requested again for a time.
struct KeyFailure: Sendable {
  let error: any Error
  let isOutage: Bool
  /// Whether there was a response, but a complete value is better than that.
  var isPartial = false
  /// How many requests have failed in a row.
  var count = 1
  let at: StoreTime
  let delay: Duration

  /// A date in the future, as after the clock was set back, means nothing.
  func isRecent(now: StoreTime) -> Bool { at <= now && now - at < delay }
}

/// Everything that can be shown for a key, taken at one moment.
@usableFromInline
struct KeyState<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  @usableFromInline let key: Key
  @usableFromInline var cached: CachedValue<Value>?
  @usableFromInline var layers: [Layer<Key, Value>]
  @usableFromInline var source: SnapshotSource
  @usableFromInline var errors: [any Error]
  @usableFromInline var isFetching: Bool
  /// The number of the latest write.
  @usableFromInline var version: UInt64
  /// The number of the latest write that replaced the value, rather than changing it.
  @usableFromInline var replacedAt: UInt64
  /// The number of the latest failure.
  @usableFromInline var failure: UInt64
  /// Whether the latest request failed without a response.
  @usableFromInline var hasFailed: Bool

  @inlinable init(
    key: Key, cached: CachedValue<Value>?, layers: [Layer<Key, Value>], source: SnapshotSource,
    entry: StoreEntry<Key, Value>?
  ) {
    self.key = key
    self.cached = cached
    self.layers = layers
    self.source = source
    errors = entry?.errors ?? []
    isFetching = entry?.fetches.isEmpty == false
    version = entry?.version ?? 0
    replacedAt = entry?.replacedAt ?? 0
    failure = entry?.failure ?? 0
    hasFailed = entry?.hasFailed ?? false
  }

  /// The cached value, or `base`, with the layers applied. Calls the user's closures, so it must not be called under a
  /// lock.
  @inlinable
  func rendered(over base: Value? = nil) -> (value: Value?, layers: [UInt64]) {
    var value = base ?? cached?.value
    if layers.isEmpty { return (value, []) }
    var applied: [UInt64] = []
    for layer in layers {
      guard let changed = layer.apply(key, value) else { continue }
      value = changed
      applied.append(layer.id)
    }
    return (value, applied)
  }

  @inlinable
  func isStale(by freshness: Freshness, now: StoreTime) -> Bool {
    cached.map { freshness.isStale($0, now: now) } ?? false
  }

  @inlinable
  func snapshot(_ rendered: (value: Value?, layers: [UInt64]), isStale: Bool, now: StoreTime) -> Snapshot<Value> {
    guard rendered.value != nil else { return empty }
    var snapshot = Snapshot(
      value: rendered.value, source: rendered.layers.isEmpty ? source : .optimistic, errors: errors,
      isFetching: isFetching)
    snapshot.stamp = SnapshotStamp(version: cached == nil ? 0 : version, layers: rendered.layers)
    if let cached {
      snapshot.age = max(.zero, now - cached.writtenAt)
      snapshot.isStale = isStale
      snapshot.isPartial = cached.isPartial
      if cached.isPartial { snapshot.errors += cached.errors }
    }
    return snapshot
  }

  /// A snapshot without a value.
  @inlinable var empty: Snapshot<Value> { Snapshot(value: nil, errors: errors, isFetching: isFetching) }
}
