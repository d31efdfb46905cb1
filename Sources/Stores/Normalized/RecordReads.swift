import StrictJSON
import SystemBase

/// What keys have read of the records, and which of them have to read again after a change.
///
/// A read has a lease, which those have who keep its value. When nobody has it any more, the key is forgotten.
struct RecordReads: Sendable {
  /// A read of the records, still to be decoded.
  struct Reading: Sendable {
    let key: NormalizedKey
    let lease: ReadLease
    let number: UInt64
    let isOptimistic: Bool
    /// `nil` if something is missing, or, of a partial read, all.
    let json: PaddedBytes?
    /// The path of what is missing first.
    let missing: [RecordStep]
    /// Whether the read before gave the same.
    let isSame: Bool
    /// How often everything had been removed before.
    let epoch: UInt64

    /// Whether there is all of it.
    var isComplete: Bool { json != nil && missing.isEmpty }
  }

  /// What is read again and again for a key.
  private struct Watch: Sendable {
    let key: NormalizedKey
    var plan: PreparedPlan
    weak var lease: ReadLease?
    var number: UInt64 = 0
    /// What the latest read gave from which nothing was missing; of a partial read, what the latest one gave.
    var json: PaddedBytes?
    /// What the latest read gave if something was missing from it, with null in its place.
    var partial: PaddedBytes?
    var isOptimistic = false
    /// Whether something was missing from the latest read.
    var lacksSomething = false
    /// The fields it looked at that become stale by times of their own.
    var dated: [DatedField] = []
    /// How often the records had changed before the latest read.
    var version: UInt64 = 0
    /// Whether nothing that the latest read gave is known to be otherwise now.
    var isCurrent = false { didSet { if !isCurrent { written = nil } } }
    /// What the latest response to the operation had, if nothing that is read of it has changed since.
    var written: Written?
    /// What tells its operation from others, once somebody has asked for it.
    var digest: UInt128?
  }

  /// The bytes of a response.
  private enum Written {
    /// Those that the latest read gave.
    case asRead
    /// Others, such as with white space: so many, with a fingerprint.
    case other(count: Int, fingerprint: UInt64)
  }

  private var index = WatchIndex()
  private var watches: [UInt64: Watch] = [:]
  private var ids: [NormalizedKey: UInt64] = [:]
  /// The watches by their operations, but for those of which nobody has asked for it yet.
  private var operations: [UInt128: Set<UInt64>] = [:]
  private var undigested: Set<UInt64> = []
  private let ended = Locked<[UInt64]>([])
  private var optimisticWatches: Set<UInt64> = []
  /// Whether an optimistic layer has ended, or was made again, since these were read: they may be what they were, but no
  /// longer optimistic.
  private var hasConfirmation = false
  /// How often the records were changed.
  private var version: UInt64 = 0
  private var lastNumber: UInt64 = 0
  /// The keys that were forgotten, to be released after the lock is: their sessions are the user's.
  private var garbage: [NormalizedKey] = []

  private mutating func next() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  /// The plan of a key that was read.
  func plan(of key: NormalizedKey) -> PreparedPlan? { ids[key].flatMap { watches[$0]?.plan } }

  // MARK: Reading

  /// Reads a key, and notes what the read depends on.
  /// - Parameter expected: What it probably gives.
  mutating func read(
    _ key: NormalizedKey, of cache: inout RecordCache, _ epoch: UInt64, expecting expected: PaddedBytes? = nil,
    _ plan: @autoclosure () throws -> PreparedPlan
  ) throws -> Reading {
    forgetEnded()
    if let id = ids[key], let reading = try read(id, of: &cache, epoch, expecting: expected) { return reading }
    let id = next()
    watches[id] = Watch(key: key, plan: try plan())
    ids[key] = id
    undigested.insert(id)
    guard let reading = try read(id, of: &cache, epoch, expecting: expected) else { throw RecordError.noEntity }
    return reading
  }

  /// What the latest read of a key gave, if that is what another one would; `nil` if that is not known. For records without
  /// layers.
  func current(_ key: NormalizedKey, _ epoch: UInt64) -> Reading? {
    guard !hasConfirmation, let watch = ids[key].flatMap({ watches[$0] }), watch.isCurrent, let json = watch.json,
      let lease = watch.lease
    else { return nil }
    return Reading(
      key: key, lease: lease, number: watch.number, isOptimistic: false, json: json, missing: [], isSame: true,
      epoch: epoch)
  }

  /// The number of the latest read of a key, if it gave all, and another one would give the same. For records without
  /// layers.
  func currentNumber(of key: NormalizedKey) -> UInt64? {
    guard !hasConfirmation, let watch = ids[key].flatMap({ watches[$0] }), watch.isCurrent else { return nil }
    return watch.number
  }

  /// Reads a key again; `nil` if nobody keeps its values any more.
  private mutating func read(
    _ id: UInt64, of cache: inout RecordCache, _ epoch: UInt64, expecting expected: PaddedBytes? = nil
  ) throws(RecordError) -> Reading? {
    guard var watch = watches.removeValue(forKey: id) else { return nil }
    defer { watches[id] = watch }
    let lease =
      watch.lease ?? ReadLease(id, endingIn: ended, staleDate: cache.dates.staleTimes.isEmpty ? nil : StaleDate())
    let record = watch.key.source.entity.map { cache.insert($0.type, key: $0.key) }
    let isPartial = watch.key.source.form == .partial
    let result = try cache.read(
      &watch.plan, at: record, isPartial: isPartial, expecting: expected ?? watch.json)
    let json = result.isEmpty ? nil : result.json
    // What comes after the first that is missing may be shown, too, if it has come in a partial response.
    let rest = result.json == nil ? try cache.read(&watch.plan, at: record, isPartial: true) : nil
    let dependencies = rest?.dependencies ?? result.dependencies
    index.watch(id, dependencies)
    let isOptimistic = cache.showsOptimistic(in: dependencies)
    // A part of which nothing is left is another one: what was refused of it goes.
    let isSameContent =
      json.map { $0 == watch.json } ?? (!isPartial || watch.json == nil)
    let lacksSomething = !result.missing.isEmpty
    let isSame =
      watch.number > 0 && isSameContent && watch.partial == rest?.json && watch.isOptimistic == isOptimistic
      && watch.lacksSomething == lacksSomething
    if !isSame { watch.number = next() }
    if !isSameContent { watch.json = json }
    watch.lacksSomething = lacksSomething
    (watch.lease, watch.partial, watch.isOptimistic) = (lease, rest?.json, isOptimistic)
    watch.dated = (rest ?? result).dated
    if let staleDate = lease.staleDate { cache.dates.tell(staleDate, of: watch.dated) }
    (watch.version, watch.isCurrent, watch.written) = (version, !lacksSomething && !isOptimistic, nil)
    if isOptimistic { optimisticWatches.insert(id) } else { optimisticWatches.remove(id) }
    return Reading(
      key: watch.key, lease: lease, number: watch.number, isOptimistic: isOptimistic,
      json: json == nil ? nil : watch.json, missing: result.missing.first ?? [], isSame: isSame,
      epoch: epoch)
  }

  /// Whether a read is the latest of its key.
  func isLatest(_ reading: Reading) -> Bool { watches[reading.lease.id]?.number == reading.number }

  // MARK: Repeating

  /// Notes what was written for a key, and read after that.
  mutating func noteWritten(_ data: PaddedBytes, of key: NormalizedKey, in cache: RecordCache) {
    // What a response means for a list in pages depends on more than what is read of it.
    guard let id = ids[key], let watch = watches[id], watch.isCurrent, watch.plan.pages.isEmpty else { return }
    watches[id]?.written =
      watch.json == data ? .asRead : .other(count: data.count, fingerprint: cache.fingerprint(data.bytes))
  }

  /// Whether these bytes are what was written for a key the last time, and no field that it reads has changed since: then
  /// they change nothing. For records without layers.
  func isWritten(_ data: PaddedBytes, of key: NormalizedKey, in cache: RecordCache) -> Bool {
    guard !hasConfirmation, let watch = ids[key].flatMap({ watches[$0] }), let json = watch.json else { return false }
    return switch watch.written {
    case .asRead: json == data
    case .other(data.count, let fingerprint): fingerprint == cache.fingerprint(data.bytes)
    case .other, nil: false
    }
  }

  // MARK: Reading again

  /// Notes that the records were changed.
  mutating func noteChange() { version += 1 }

  /// Notes that what is optimistic may be what the server has.
  mutating func noteConfirmation() { hasConfirmation = true }

  /// Notes that what was read of these fields is otherwise now, where it is to be read again only later.
  mutating func noteUnread(_ changes: [RecordChange]) {
    for id in index.touched(by: changes) { watches[id]?.isCurrent = false }
  }

  /// Moves the dates at which values become stale that were read of these fields.
  mutating func tellDates(of fields: [RecordChange], in cache: RecordCache) {
    for id in index.touched(by: fields) {
      guard let watch = watches[id], let staleDate = watch.lease?.staleDate else { continue }
      cache.dates.tell(staleDate, of: watch.dated)
    }
  }

  /// Notes that anything may be otherwise now.
  mutating func noteAllUnread() {
    for id in watches.keys { watches[id]?.isCurrent = false }
  }

  /// The keys that have read one of these fields.
  mutating func keys(touchedBy changes: [RecordChange]) -> [NormalizedKey] {
    index.touched(by: changes).compactMap { watches[$0]?.key }
  }

  /// The keys of an operation that are read, in all their forms.
  mutating func keys(of operation: UInt128, by digest: (NormalizedKey) -> UInt128?) -> [NormalizedKey] {
    forgetEnded()
    for id in exchange(&undigested, with: []) {
      guard let known = watches[id].flatMap({ digest($0.key) }) else { continue }
      watches[id]?.digest = known
      operations[known, default: []].insert(id)
    }
    return (operations[operation] ?? []).sorted().compactMap { watches[$0]?.key }
  }

  /// Reads again what changes have touched; those keys alone whose response is another one now, and that are watched.
  mutating func readTouched(
    by changes: [RecordChange], of cache: inout RecordCache, _ epoch: UInt64, isWatched: (NormalizedKey) -> Bool
  ) -> [Reading] {
    forgetEnded()
    // What has changed the records has read it, too.
    if !hasConfirmation, changes.isEmpty || watches.values.allSatisfy({ $0.version == version }) { return [] }
    var touched = index.touched(by: changes)
    if exchange(&hasConfirmation, with: false) { touched = Set(touched).union(optimisticWatches).sorted() }
    var readings: [Reading] = []
    for id in touched {
      guard let watch = watches[id] else { continue }
      // What has changed the records has read it, too.
      if watch.version == version { continue }
      watches[id]?.isCurrent = false
      guard isWatched(watch.key) else { continue }
      if let reading = try? read(id, of: &cache, epoch), !reading.isSame { readings.append(reading) }
    }
    return readings
  }

  /// Reads all keys of other records, since everything was removed. Watchers stay.
  mutating func readAll(of cache: inout RecordCache, _ epoch: UInt64) {
    index = WatchIndex()
    optimisticWatches = []
    forgetEnded()
    for id in watches.keys.sorted() { _ = try? read(id, of: &cache, epoch) }
  }

  // MARK: Forgetting

  /// What all values together depend on that somebody keeps.
  mutating func dependencies() -> RecordDependencies {
    forgetEnded()
    return index.dependencies
  }

  /// Takes out what is to be released outside the lock.
  mutating func takeGarbage() -> [NormalizedKey] { exchange(&garbage, with: []) }

  private mutating func forgetEnded() {
    for id in ended.withLock({ exchange(&$0, with: []) }) where watches[id]?.lease == nil {
      index.unwatch(id)
      optimisticWatches.remove(id)
      undigested.remove(id)
      guard let watch = watches.removeValue(forKey: id) else { continue }
      garbage.append(watch.key)
      ids[watch.key] = nil
      guard let operation = watch.digest else { continue }
      operations[operation]?.remove(id)
      if operations[operation]?.isEmpty == true { operations[operation] = nil }
    }
  }
}
