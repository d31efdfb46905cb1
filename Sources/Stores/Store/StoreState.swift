import Streams
public import SystemBase

/// A store's state, without locks and files: methods change it, and collect the effects to carry out afterwards.
///
/// The only user code that runs here is the `==` and `hash` of keys and, if they are objects, their `deinit`.
@usableFromInline
struct StoreState<Key: Hashable & Sendable, Value: Sendable> {
  /// What to do once the lock is released.
  enum Effect: Sendable {
    /// Show watchers of one key what was posted to them.
    case deliver([Watcher<Key, Value>])
    /// Give a reader its result: it may stall, as a watcher may.
    indirect case answer(Fetch<Key, Value>.Waiter, Result<KeyState<Key, Value>, any Error>)
    /// Report that a write is done, or why it is not.
    case complete(WriteCompletion, (any Error)?)
    /// Carry out an effect whose completion gives readers their result: they may stall.
    indirect case answering(Effect)
    case start(Key, Fetch<Key, Value>)
    case cancel(Fetch<Key, Value>)
    /// Make a request for the watchers of a key after a while, since those before were overtaken by what was pushed.
    case refetchLater(Key, Duration)
    /// Remove idle values from memory after a part of the idle time.
    case sweepLater
    /// Carry out work that was enqueued for a synchronous source of truth.
    case finish(StorageQueue<Key, Value>.Job, StorageQueue<Key, Value>.Timing, WriteCompletion?)
    /// Carry out work that was added for an asynchronous source of truth: on a key, or the removal of everything.
    case share(Key)
    case shareRemoval
    /// Keep what has to know that the server has refused the account; let its other stores know that it was signed out.
    case keepRefusal
    case endOtherStores(SharedAccount.Ended)
  }

  @usableFromInline let freshness: Freshness
  let storage: StorageAccess<Key, Value>
  private let writesBehind: Bool
  private var versions = VersionClock()
  @usableFromInline var entries: [Key: StoreEntry<Key, Value>] = [:]
  @usableFromInline var memory: LRUCache<Key, CachedValue<Value>>
  @usableFromInline var layers = Layers<Key, Value>()
  /// Tells which responses are superseded.
  var writes = WriteLog<Key>()
  /// Tells which keys were written locally since a change began that waits in order.
  var localWrites = WriteLog<Key>()
  /// Why the store has ended; `nil` while it has not.
  @usableFromInline var ending: StoreError?
  /// The latest failures of keys whose requests fail.
  var failures = LRUCache<Key, KeyFailure>(countLimit: 1 << 12, costLimit: .max)
  /// When the server refused a request so that all values from before are hidden; `nil` if they are not.
  @usableFromInline var refusedAt: UInt64?
  var effects: [Effect] = []
  /// Replaced values, to be released after the lock is: their last release may run the user's code.
  var garbage: [Any] = []
  /// The newer of two values of a key, if values have an order of their own, whichever is cached last.
  private let newer: (@Sendable (Value, Value) -> Value)?
  private let staleDate: (@Sendable (Value) -> StaleDate?)?
  let isPart: (@Sendable (Value) -> Bool)?
  private let releasesIdle: Bool
  private var awaitsSweep = false
  private var lastNumber: UInt64 = 0

  init(_ configuration: StoreConfiguration<Value>, _ storage: StorageAccess<Key, Value> = .memory) {
    freshness = configuration.freshness
    memory = LRUCache(countLimit: configuration.memoryCount, costLimit: configuration.memoryCost)
    self.storage = storage
    writesBehind = configuration.writing == .behind
    newer = configuration.newer
    staleDate = configuration.staleDate
    isPart = configuration.isPart
    releasesIdle = configuration.idleTime != nil
    // What was refused to an earlier store or process stays hidden.
    if storage.isRefused { refusedAt = nextNumber() }
  }

  /// Keeps a replaced value until the lock is released.
  mutating func discard(_ value: Any?) {
    guard let value else { return }
    // A response replaces about as many.
    if garbage.isEmpty { garbage.reserveCapacity(6) }
    garbage.append(value)
  }

  /// Keeps replaced values until the lock is released.
  mutating func discard<Replaced>(all values: [Replaced]) {
    for value in values { garbage.append(value) }
  }

  /// Numbers grow across the whole store: a greater one is always later.
  mutating func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  /// A version that is greater than all that this store has seen.
  mutating func nextVersion() -> EntryVersion { versions.next() }

  /// Takes notice of what another store has written.
  mutating func see(_ cached: CachedValue<Value>) -> CachedValue<Value> {
    var cached = cached
    cached.version = versions.see(cached.version)
    return cached
  }

  /// At least as great as all versions that this store has made.
  var latestVersion: EntryVersion { versions.last }

  /// Lets the next version be greater than this.
  mutating func see(_ version: EntryVersion) { _ = versions.see(version) }

  /// A version that is greater than one that a source of truth has, for the change that had an older one; `nil` after a
  /// sign-out: that may be what stands in the way.
  mutating func rename(_ old: EntryVersion, after greater: EntryVersion, of key: Key) -> EntryVersion? {
    if ending == .signedOut { return nil }
    _ = versions.see(greater)
    let new = versions.next()
    if entries[key]?.cached?.version == old { entries[key]?.cached?.version = new }
    memory.modify(key) { if $0.version == old { $0.version = new } }
    return new
  }

  /// Retains a key, and what memory has for it, until `release`; reading counts as a use of the cache.
  mutating func acquire(_ key: Key, forReading: Bool = false) {
    let cached = forReading ? use(key) : memory.peek(key)
    if entries[key] == nil {
      entries[key] = StoreEntry(
        cached: cached, isLoaded: cached != nil || storage.isMemory, version: nextNumber())
    }
    entries[key]?.uses += 1
  }

  /// What memory has for a key, counted as a use; a value that is still watched, but was evicted, is put back.
  private mutating func use(_ key: Key) -> CachedValue<Value>? {
    guard let cached = entries[key]?.cached, memory.peek(key) == nil else { return memory.read(key) }
    discard(all: memory.write(cached, for: key, cost: cached.cost))
    memory.statistics.hits += 1
    return cached
  }

  /// Whether the value of a key that was acquired was loaded from the source of truth, or need not be.
  func isLoaded(_ key: Key) -> Bool { entries[key]?.isLoaded ?? true }

  mutating func release(_ key: Key) {
    guard let entry = entries[key] else { return }
    entry.uses -= 1
    if entry.uses == 0 { discard(entries.removeValue(forKey: key)) }
  }

  /// The cached value of a key that was acquired, now counted as read; an expired value is removed.
  mutating func current(_ key: Key, now: StoreTime, evenHidden: Bool = false) -> CachedValue<Value>? {
    guard let cached = entries[key]?.cached else { return nil }
    if freshness.isExpired(cached, now: now) {
      expire(key, cached, isWorthless: freshness.isTooOld(cached, now: now))
      return nil
    }
    if !evenHidden, isHidden(cached) { return nil }
    noteRead(key, now: now)
    return cached
  }

  /// Removes an expired value from memory. In a source of truth of its own, one that is too old for everybody is
  /// removed, too, unless another process has replaced it; what one process has not read for long may be another's, and
  /// a source that is shared has limits of its own.
  private mutating func expire(_ key: Key, _ cached: CachedValue<Value>, isWorthless: Bool) {
    discard(memory.remove(key))
    forget(valueOf: key)
    if isWorthless, storage.queue != nil { store(.expire(key, cached.version), isAsynchronous: true) }
    publish(key)
  }

  @inlinable
  func isHidden(_ cached: CachedValue<Value>) -> Bool { refusedAt.map { cached.writtenBy < $0 } ?? false }

  @inlinable
  mutating func noteRead(_ key: Key, now: StoreTime) {
    guard freshness.expireAfterAccess != nil else { return }
    entries[key]?.cached?.readAt = now
    memory.modify(key) { $0.readAt = now }
  }

  /// Replaces the cached value of a key by a new one, or by the old one changed; returns it with its version.
  /// - Parameters:
  ///   - request: Of a response, the number of its request; of what others have written, that of the first request whose
  ///     response counts as newer.
  ///   - version: Of a response, the version that it got with its request.
  ///   - isPush: Whether the responses to requests in flight will have the change, too.
  ///   - isInOrder: Whether this is the response to a change that waited in order, or that change.
  @discardableResult
  mutating func cache(
    _ cached: CachedValue<Value>, for key: Key, requestedAt request: UInt64? = nil, version: EntryVersion? = nil,
    isChange: Bool = false, isPush: Bool = false, isInOrder: Bool = false, isForeign: Bool = false
  ) -> CachedValue<Value> {
    let number = nextNumber()
    if isForeign || request == nil, !isInOrder {
      discard(localWrites.log(key, at: number) { $0.changedAt = number })
    }
    if isChange {
      discard(writes.log(key, at: number) { if isPush { $0.pushedAt = number } else { $0.changedAt = number } })
    } else {
      // A complete response replaces a partial one, even a newer one.
      if !cached.isPartial {
        discard(writes.log(key, at: number) { $0.writtenOrRequestedAt = request ?? number })
      }
      entries[key]?.replacedAt = number
    }
    entries[key]?.version = number
    entries[key]?.isLoaded = true
    entries[key]?.isUnreadable = false
    discard(entries[key]?.errors)
    entries[key]?.errors = []
    entries[key]?.hasFailed = false
    forgetFailure(of: key)
    var cached = cached
    if newer != nil, let old = entries[key]?.cached { cached.value = newest(old.value, cached.value) }
    if isForeign { cached = see(cached) } else { cached.version = version ?? versions.next() }
    // What others have written is no newer than a refusal: it is hidden, too.
    if !isChange { cached.writtenBy = isForeign ? 0 : number }
    install(cached, for: key)
    return cached
  }

  /// The newer of two values; the second unless they have an order of their own.
  func newest(_ old: Value, _ new: Value) -> Value { newer?(old, new) ?? new }

  /// Installs a value loaded from the source of truth, unless something was written since. Returns whether it installed
  /// one.
  mutating func install(loaded cached: CachedValue<Value>?, for key: Key, version: UInt64) -> Bool {
    guard let entry = entries[key], entry.version == version, !entry.isLoaded, ending == nil else { return false }
    entry.isLoaded = true
    if var cached {
      cached.isInvalidated = cached.isInvalidated || entry.isInvalidatedWhileLoading
      install(see(cached), for: key)
    }
    return cached != nil
  }

  /// Records that what the source of truth has could not be read, unless something was written since.
  func noteUnreadable(_ key: Key, version: UInt64) {
    guard let entry = entries[key], entry.version == version, !entry.isLoaded else { return }
    (entry.isLoaded, entry.isUnreadable) = (true, true)
  }

  mutating func install(_ cached: CachedValue<Value>, for key: Key) {
    var cached = cached
    if let staleDate { cached.staleDate = staleDate(cached.value) }
    discard(entries[key]?.cached)
    discard(all: memory.write(cached, for: key, cost: cached.cost))
    entries[key]?.cached = cached
    sweepLater()
  }

  mutating func sweepLater() {
    guard releasesIdle, !awaitsSweep, ending == nil else { return }
    awaitsSweep = true
    effects.append(.sweepLater)
  }

  /// Removes from memory what was not used for four sweeps, and begins the time until the next one.
  mutating func sweep() {
    awaitsSweep = false
    discard(all: memory.sweep(keeping: 4))
    discard(all: failures.sweep(keeping: 4))
    if memory.statistics.count + failures.statistics.count > 0 { sweepLater() }
  }

  mutating func forgetFailure(of key: Key) {
    if failures.statistics.count > 0 { discard(failures.remove(key)) }
  }

  /// Records that the value of a key was removed, so that nothing that was requested before brings it back.
  mutating func empty(_ key: Key) {
    forgetFailure(of: key)
    let number = nextNumber()
    discard(writes.log(key, at: number) { $0.removedAt = number })
    forget(valueOf: key)
  }

  mutating func forget(valueOf key: Key) {
    guard let entry = entries[key] else { return }
    discard(entry.cached)
    entry.cached = nil
    entry.version = nextNumber()
    entry.replacedAt = entry.version
    entry.isLoaded = true
    entry.isUnreadable = false
  }

  /// Enqueues work for the source of truth. The completion runs without a lock held: after the work if writing through
  /// or removing everything, else at once.
  /// - Parameter isAsynchronous: Whether the work is done on another thread than the caller's.
  mutating func store(
    _ work: StorageQueue<Key, Value>.Work, isAsynchronous: Bool = false, completion: WriteCompletion? = nil
  ) {
    let isAwaited = !writesBehind || work.isOfAll
    let awaited = isAwaited ? completion : nil
    switch storage {
    case .memory: if let awaited { effects.append(.complete(awaited, nil)) }
    case .queue(let queue) where work.isOfOneValue && !queue.keepsValues:
      if let awaited { effects.append(.complete({ _ in queue.finishEarlier { awaited(nil) } }, nil)) }
    case .queue(let queue):
      let (job, released) = queue.enqueue(work)
      discard(released)
      effects.append(.finish(job, !isAwaited ? .later : isAsynchronous ? .elsewhere : .here, awaited))
    case .shared(let shared): share(work, shared, awaited)
    }
    // After the work is begun: it may call a reader, which may stall.
    if !isAwaited, let completion { effects.append(.complete(completion, nil)) }
  }

  /// The effects of a change, for the caller to add behind others.
  mutating func postponing(_ change: (inout Self) -> Void) -> [Effect] {
    let place = effects.count
    change(&self)
    defer { effects.removeSubrange(place...) }
    return Array(effects[place...])
  }

  /// Enqueues work for an asynchronous source of truth.
  private mutating func share(
    _ work: StorageQueue<Key, Value>.Work, _ shared: SharedQueue<Key, Value>, _ completion: WriteCompletion?
  ) {
    let (key, shares): (Key, SharedQueue<Key, Value>.Work)
    switch work {
    case .write(let stored, let written, let isResponse):
      (key, shares) = (written, .write(stored, isResponse: isResponse))
    case .invalidate(let invalidated): (key, shares) = (invalidated, .invalidate(versions.next()))
    case .remove(let removed, let version): (key, shares) = (removed, .remove(version))
    // Its own limits apply.
    case .expire: return
    case .refuse(let isRefused):
      // In the order of the changes of this state.
      shared.account.setRefused(isRefused)
      effects.append(.keepRefusal)
      if let completion { effects.append(.complete(completion, nil)) }
      return
    case .removeAll(let version), .signOut(let version):
      discard(shared.addRemoval(version, completion: completion))
      return effects.append(.shareRemoval)
    }
    discard(shared.add(shares, for: key, completion: completion))
    effects.append(.share(key))
  }

  /// Enqueues a write to the source of truth, if there is one, unless the value is partial. If the write fails, that is
  /// only reported: a full disk must not turn a response into a failure.
  mutating func write(
    _ cached: CachedValue<Value>, for key: Key, isAsynchronous: Bool = false, isResponse: Bool = false,
    completion: WriteCompletion? = nil
  ) {
    if cached.isPartial || storage.isMemory {
      if let completion { effects.append(.complete(completion, nil)) }
      return
    }
    var end: WriteCompletion?
    // That the account was signed out elsewhere is no failure of the disk.
    if let completion { end = { error in completion(error.flatMap { $0.isSignedOut ? $0 : nil }) } }
    store(.write(cached.stored, key, isResponse: isResponse), isAsynchronous: isAsynchronous, completion: end)
  }

  func keyState(_ key: Key, source: SnapshotSource) -> KeyState<Key, Value> {
    let entry = entries[key]
    let cached = entry?.cached.flatMap { isHidden($0) ? nil : $0 }
    return KeyState(key: key, cached: cached, layers: layers.concerning(key), source: source, entry: entry)
  }

  /// Notifies all watchers of a key.
  /// - Parameter uncached: A response that was not cached, and its request, for the watchers that have requested it.
  mutating func publish(
    _ key: Key, source: SnapshotSource = .memory,
    uncached: (response: CachedValue<Value>, fetch: Fetch<Key, Value>)? = nil
  ) {
    guard let entry = entries[key], !entry.watchers.isEmpty else { return }
    let publication = Publication(keyState(key, source: source))
    for watcher in entry.watchers {
      let response = uncached.flatMap { $0.fetch.claims.keys.contains(watcher.id) ? $0.response : nil }
      discard(watcher.post(publication, uncached: response))
    }
    effects.append(.deliver(entry.watchers))
  }
}
