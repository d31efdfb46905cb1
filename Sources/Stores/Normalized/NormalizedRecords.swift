import GraphQLClient
import GraphQLLanguage
import StrictJSON
import SystemBase

/// What the records have for a key, decoded: the value that a normalised store's `Store` keeps.
struct NormalizedValue: Sendable {
  let value: any Sendable
  /// Grows with each read of the key that gave something else than the one before.
  let number: UInt64
  /// The JSON that it was decoded from.
  let json: [UInt8]
  /// Whether an optimistic change shows in it.
  let isOptimistic: Bool
  /// Keeps the key's dependencies for as long as somebody keeps a value.
  let lease: ReadLease?
}

/// Says that a key's value is kept somewhere: what it was read of is then not collected, and its changes are noticed.
final class ReadLease: Sendable {
  let id: UInt64
  private let ended: Locked<[UInt64]>

  init(_ id: UInt64, endingIn ended: Locked<[UInt64]>) { (self.id, self.ended) = (id, ended) }

  deinit { ended.withLock { $0.append(id) } }
}

/// The records that all operations of an account share, who depends on what of them, and what is under way. It is pure:
/// a store keeps it under a lock, sends the requests, and decodes what it gives.
///
/// **The order of changes.** Each request, edit and push has a number, in the order in which they begin. What has
/// arrived is written at the level of its number: into the base if nothing that began earlier is under way, else into a
/// layer, above which are those of later changes. So a query that was sent before a mutation settles below its response,
/// in whichever order the two arrive. Layers whose turn has come are made a part of those below.
struct NormalizedRecords: Sendable {
  /// A change in progress.
  struct Change: Hashable, Sendable {
    /// Even; the odd number above is that of the layer with what is shown until the response comes.
    let number: UInt64
    /// Changes with the removal of everything: what began before is dropped.
    let epoch: UInt64

    var optimistic: UInt64 { number + 1 }
  }

  /// What is read again and again for a key.
  private struct Watch: Sendable {
    let key: NormalizedKey
    var plan: PreparedPlan
    weak var lease: ReadLease?
    var number: UInt64 = 0
    /// What the latest read gave from which nothing was missing.
    var json: [UInt8]?
    /// Whether something was missing from the latest read.
    var isMissing = false
    var isOptimistic = false
  }

  /// What is known of a key beside its records.
  struct Freshness: Sendable {
    /// When its latest response came.
    var writtenAt: StoreTime
    var isInvalidated = false
    /// When it was last requested because something was missing.
    var missedAt: StoreTime?
  }

  /// A read of the records, still to be decoded.
  struct Reading: Sendable {
    let key: NormalizedKey
    let lease: ReadLease
    let number: UInt64
    let isOptimistic: Bool
    /// `nil` if something is missing.
    let json: [UInt8]?
    let missing: [RecordStep]
    /// Whether the read before gave the same.
    let isSame: Bool
    let freshness: Freshness
  }

  private(set) var cache: RecordCache
  private var index = WatchIndex()
  private var watches: [UInt64: Watch] = [:]
  private var ids: [NormalizedKey: UInt64] = [:]
  private var freshness = LRUCache<NormalizedKey, Freshness>(countLimit: 1 << 14, costLimit: .max)
  private let ended = Locked<[UInt64]>([])
  private var optimisticWatches: Set<UInt64> = []
  /// Whether an optimistic layer has ended since these were read: they may be what they were, but no longer optimistic.
  private var hasConfirmed = false
  private var underWay: Set<UInt64> = []
  private var lastNumber: UInt64 = 0
  private var epoch: UInt64 = 0
  /// Whether nothing is kept any more.
  private var isEnded = false
  /// When the oldest of what is here may have been written.
  private(set) var emptyAt: StoreTime

  init(_ schema: RecordSchema, now: StoreTime) {
    cache = RecordCache(schema)
    emptyAt = now
  }

  private mutating func next() -> UInt64 {
    lastNumber += 2
    return lastNumber
  }

  // MARK: Changes

  /// Begins a change, which must be ended.
  mutating func begin() -> Change {
    let change = Change(number: next(), epoch: epoch)
    underWay.insert(change.number)
    return change
  }

  /// Writes what a change has brought, at its level; nothing if everything was removed since it began.
  mutating func write(
    _ data: [UInt8], of plan: inout PreparedPlan, at entity: EntityID? = nil, errors: [RecordErrorPath] = [],
    by change: Change
  ) throws(RecordError) -> [RecordChange] {
    guard isUnderWay(change) else { return [] }
    return try cache.write(
      data.span.bytes, of: &plan, at: record(of: entity), errors: errors, in: level(of: change))
  }

  /// Writes what is shown until a change's response comes.
  mutating func writeOptimistic(
    _ data: [UInt8], of plan: inout PreparedPlan, at entity: EntityID? = nil, by change: Change
  ) throws(RecordError) -> [RecordChange] {
    guard isUnderWay(change) else { return [] }
    cache.addLayer(change.optimistic)
    return try cache.write(data.span.bytes, of: &plan, at: record(of: entity), in: change.optimistic)
  }

  /// Whether what a change brings is kept: it has not ended, and nothing was removed since it began.
  func isUnderWay(_ change: Change) -> Bool {
    !isEnded && change.epoch == epoch && underWay.contains(change.number)
  }

  /// Ends a change: what was shown for it until then is no longer.
  mutating func end(_ change: Change) -> [RecordChange] {
    guard underWay.remove(change.number) != nil else { return [] }
    if cache.layerNumbers.contains(change.optimistic) { hasConfirmed = true }
    let changes = cache.removeLayer(change.optimistic)
    settle()
    return changes
  }

  /// The layer for what a change has brought; `nil` for the base.
  private mutating func level(of change: Change) -> UInt64? {
    let isFirst = underWay.allSatisfy { $0 >= change.number } && cache.layerNumbers.allSatisfy { $0 > change.number }
    if isFirst { return nil }
    cache.addLayer(change.number)
    return change.number
  }

  /// Makes layers a part of what is below them, if nothing that is under way belongs between.
  private mutating func settle() {
    // The layer that another may join, 0 for the base; `nil` if it is that of a change in progress.
    var below: UInt64? = 0
    for number in cache.layerNumbers {
      let isEnded = number % 2 == 0 && !underWay.contains(number)
      if isEnded, let low = below, !underWay.contains(where: { $0 > low && $0 < number }) {
        cache.settleLayer(number)
      } else {
        below = isEnded ? number : nil
      }
    }
  }

  private mutating func record(of entity: EntityID?) -> RecordID? {
    entity.map { cache.insert($0.type, key: $0.key) }
  }

  // MARK: Reads

  /// The plan of a key that was read.
  func plan(of key: NormalizedKey) -> PreparedPlan? { ids[key].flatMap { watches[$0]?.plan } }

  /// What a plan selects now, up to the level of a change; nobody depends on it.
  mutating func json(
    _ plan: inout PreparedPlan, at entity: EntityID?, upTo layer: UInt64
  ) throws(RecordError) -> [UInt8]? {
    try cache.read(&plan, at: record(of: entity), upTo: layer).json
  }

  /// Reads a key, and notes what the read depends on.
  mutating func read(_ key: NormalizedKey, _ plan: @autoclosure () throws -> PreparedPlan) throws -> Reading {
    forgetEnded()
    if let id = ids[key], let reading = try read(id) { return reading }
    lastNumber += 2
    let id = lastNumber
    watches[id] = Watch(key: key, plan: try plan())
    ids[key] = id
    guard let reading = try read(id) else { throw RecordError.noEntity }
    return reading
  }

  /// Reads a key again; `nil` if nobody keeps its values any more.
  private mutating func read(_ id: UInt64) throws(RecordError) -> Reading? {
    guard var watch = watches.removeValue(forKey: id) else { return nil }
    defer { watches[id] = watch }
    let lease = watch.lease ?? ReadLease(id, endingIn: ended)
    let result = try cache.read(&watch.plan, at: record(of: watch.key.source.entity))
    index.watch(id, result.dependencies)
    let isOptimistic = cache.layerNumbers.contains { $0 % 2 == 1 && cache.shows($0, in: result.dependencies) }
    let isSameContent = result.json.map { $0 == watch.json } ?? true
    let isSame =
      watch.number > 0 && isSameContent && watch.isMissing == (result.json == nil)
      && watch.isOptimistic == isOptimistic
    if !isSame { watch.number = next() }
    if !isSameContent { watch.json = result.json }
    (watch.lease, watch.isMissing, watch.isOptimistic) = (lease, result.json == nil, isOptimistic)
    if isOptimistic { optimisticWatches.insert(id) } else { optimisticWatches.remove(id) }
    return Reading(
      key: watch.key, lease: lease, number: watch.number, isOptimistic: isOptimistic,
      json: result.json == nil ? nil : watch.json, missing: result.missing.first ?? [], isSame: isSame,
      freshness: freshness.peek(watch.key) ?? Freshness(writtenAt: emptyAt))
  }

  /// Reads again what changes have touched; those keys alone whose response is another one now. Keys that nobody watches
  /// are not read, but given by name.
  mutating func readTouched(
    by changes: [RecordChange], isWatched: (NormalizedKey) -> Bool
  ) -> (readings: [Reading], unwatched: [NormalizedKey]) {
    forgetEnded()
    var touched = index.touched(by: changes)
    if exchange(&hasConfirmed, with: false) { touched = Set(touched).union(optimisticWatches).sorted() }
    var readings: [Reading] = []
    var unwatched: [NormalizedKey] = []
    for id in touched {
      guard let key = watches[id]?.key else { continue }
      if !isWatched(key) {
        unwatched.append(key)
      } else if let reading = try? read(id), !reading.isSame {
        readings.append(reading)
      }
    }
    return (readings, unwatched)
  }

  private mutating func forgetEnded() {
    for id in ended.withLock({ exchange(&$0, with: []) }) where watches[id]?.lease == nil { forget(id) }
  }

  private mutating func forget(_ id: UInt64) {
    index.unwatch(id)
    optimisticWatches.remove(id)
    if let watch = watches.removeValue(forKey: id) { ids[watch.key] = nil }
  }

  // MARK: Freshness

  /// Notes that the response to an operation has come.
  mutating func noteResponse(of key: NormalizedKey, at now: StoreTime) {
    _ = freshness.write(
      Freshness(writtenAt: now, missedAt: freshness.peek(key)?.missedAt), for: key, cost: 1)
  }

  /// Marks an operation as out of date, until its next response.
  mutating func invalidate(_ key: NormalizedKey) {
    var known = freshness.peek(key) ?? Freshness(writtenAt: emptyAt)
    known.isInvalidated = true
    _ = freshness.write(known, for: key, cost: 1)
  }

  /// Whether a key may be requested because something is missing, which is then noted: not again within a time, so that
  /// two keys whose responses take something from each other are not requested for ever.
  mutating func mayRequestMissing(_ key: NormalizedKey, now: StoreTime, pause: Duration) -> Bool {
    var known = freshness.peek(key) ?? Freshness(writtenAt: emptyAt)
    if let missedAt = known.missedAt, now >= missedAt, now - missedAt < pause { return false }
    known.missedAt = now
    _ = freshness.write(known, for: key, cost: 1)
    return true
  }

  // MARK: Removing

  /// Makes the fields of an entity missing, or one of them.
  mutating func remove(_ entity: EntityID, field: String?) -> [RecordChange] {
    guard let record = cache.entity(entity.type, key: entity.key) else { return [] }
    return field.map { cache.remove(record, field: $0) } ?? cache.remove(record)
  }

  /// Makes what an operation begins with missing.
  mutating func removeRoot(of plan: inout PreparedPlan) throws(RecordError) -> [RecordChange] {
    guard let root = cache.root(plan.plan.rootType) else { return [] }
    var changes: [RecordChange] = []
    for field in try cache.rootFields(of: &plan) { changes += cache.remove(root, field: field) }
    return changes
  }

  /// Removes everything. What is under way is dropped when it comes, and what comes later, too, if this is the end.
  mutating func removeAll(now: StoreTime, isEnd: Bool = false) {
    epoch += 1
    isEnded = isEnded || isEnd
    cache = RecordCache(cache.schema)
    index = WatchIndex()
    _ = freshness.removeAll()
    optimisticWatches = []
    underWay = []
    emptyAt = now
    forgetEnded()
    // Who watches goes on doing so.
    for id in watches.keys.sorted() { _ = try? read(id) }
  }

  // MARK: Collecting

  /// Begins to drop what no kept value was read of.
  mutating func beginCollection() {
    forgetEnded()
    cache.beginCollection(retaining: [index.dependencies])
  }

  /// Goes on with it; returns whether there is more to do.
  mutating func continueCollection(entities limit: Int) -> Bool { cache.continueCollection(entities: limit) }
}
