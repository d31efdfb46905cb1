import GraphQLClient
import GraphQLLanguage
import StrictJSON
import SystemBase

/// The records that all operations of an account share, who depends on what of them, and what is in progress. It is pure:
/// a store keeps it under a lock, sends the requests, and decodes what it gives.
///
/// **The order of changes.** Each request, edit and push has a number, in the order in which they begin. What has
/// arrived is written at the level of its number: into the base if nothing that began earlier is in progress, else into a
/// layer, above which are those of later changes. So a query that was sent before a mutation settles below its response,
/// in whichever order the two arrive. Layers whose turn has come are made a part of those below. What is shown until a
/// server answers is in layers above all these, and is never read for what is to stay.
struct NormalizedRecords: Sendable {
  /// A change in progress.
  struct Change: Hashable, Sendable {
    let number: UInt64
    /// Changes with the removal of everything: what began before is dropped.
    let epoch: UInt64

    /// The layer with what is shown until the response comes.
    var optimistic: UInt64 { RecordLayer.firstOptimistic | number }
  }

  /// An entity whose fields were removed, or one of them.
  private struct Removal: Hashable {
    let entity: EntityID
    let field: ExactText?
  }

  typealias Reading = RecordReads.Reading

  var cache: RecordCache
  var reads = RecordReads()
  var freshness = Self.noFreshness
  private var inProgress: Set<UInt64> = []
  /// The changes that wait to be sent: they show something, and their responses come by changes of their own.
  private var waiting: Set<UInt64> = []
  /// What was changed meanwhile, by what the server may have done later.
  private var meanwhile = ChangesMeanwhile()
  /// The layers with what the server has said: responses, and pushes. Layers that joined others may have some of both.
  private var answers: Set<UInt64> = []
  /// What was removed while something older was in progress, and by which change: also what was not there yet.
  private var removals: [Removal: UInt64] = [:]
  private var lastRemoval: UInt64 = 0
  private var rebases = RecordRebases()
  /// What the latest response to what has waited has otherwise than what was changed meanwhile.
  private var doubts: [RecordChange] = []
  private var lastNumber: UInt64 = 0
  private(set) var epoch: UInt64 = 0
  /// Whether nothing is kept any more.
  private var isEnded = false
  /// When the oldest of what is here may have been written.
  var emptyAt: StoreTime
  /// What a journal has not got yet; `nil` without one.
  var log: RecordLog?
  /// What was replaced, to be released after the lock is: the last release may run the user's code.
  private var garbage: [any Sendable] = []

  private static var noFreshness: LRUCache<NormalizedKey, Freshness> { LRUCache(countLimit: 1 << 14, costLimit: .max) }

  init(_ schema: RecordSchema, staleTimes: [String: Duration] = [:], now: StoreTime) {
    cache = RecordCache(schema, RecordDates(staleTimes))
    emptyAt = now
    cache.dates.earliest = now
  }

  mutating func next() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  /// Keeps what was replaced until the lock is released.
  private mutating func discard(_ value: (any Sendable)?) {
    if let value { garbage.append(value) }
  }

  fileprivate mutating func takeGarbage() -> [any Sendable] {
    for key in reads.takeGarbage() { garbage.append(key) }
    return exchange(&garbage, with: [])
  }

  // MARK: Changes

  /// Begins a change, which must be ended.
  /// - Parameters:
  ///   - waits: Whether it only shows something, while it waits to be sent. What is requested meanwhile is older than its
  ///     response.
  ///   - earlier: The change that it is a part of: nothing of it is kept if everything was removed since that began.
  mutating func begin(waits: Bool = false, partOf earlier: Change? = nil) -> Change {
    let change = Change(number: next(), epoch: earlier?.epoch ?? epoch)
    if waits { waiting.insert(change.number) } else { inProgress.insert(change.number) }
    if waits { listenToCache() }
    return change
  }

  /// Writes what a change has brought, at its level; nothing if everything was removed since it began.
  /// - Parameters:
  ///   - date: When the server has said it; `nil` if it has not.
  ///   - isOrdered: Whether it is known to be older than the responses to what waits to be sent, or one of them.
  ///   - shown: What has waited to be sent, if this is the response to that.
  mutating func write(
    _ data: PaddedBytes, of plan: inout PreparedPlan, at entity: EntityID? = nil, errors: [RecordErrorPath] = [],
    by change: Change, saidAt date: StoreTime? = nil, isOrdered: Bool = true, insteadOf shown: Change? = nil
  ) throws(RecordError) -> [RecordChange] {
    doubts = []
    guard isInProgress(change) else { return [] }
    let level = level(of: change)
    defer {
      if let shown { doubts = meanwhile.others(than: cache.touched ?? [], since: shown.number, in: cache) }
      noteTouched(in: level, isOrdered: isOrdered)
    }
    var changes = try cache.write(
      data, of: &plan, at: record(of: entity), errors: errors, in: level, saidAt: date)
    changes += removeAgain(after: change, in: level)
    if !cache.dated.isEmpty {
      log?.noteDates(of: cache.dated, in: cache)
      reads.tellDates(of: cache.dated, in: cache)
    }
    return changes
  }

  /// Writes what is shown until a change's response comes.
  mutating func writeOptimistic(
    _ data: PaddedBytes, of plan: inout PreparedPlan, at entity: EntityID? = nil, by change: Change
  ) throws(RecordError) -> [RecordChange] {
    guard isInProgress(change) else { return [] }
    cache.addLayer(change.optimistic)
    defer { noteTouched(in: change.optimistic) }
    return try cache.write(data, of: &plan, at: record(of: entity), in: change.optimistic)
  }

  /// Whether what a change brings is kept: it has not ended, and nothing was removed since it began.
  func isInProgress(_ change: Change) -> Bool {
    !isEnded && change.epoch == epoch && (inProgress.contains(change.number) || waiting.contains(change.number))
  }

  /// Ends a change: what was shown for it until then is no longer.
  mutating func end(_ change: Change) -> [RecordChange] {
    guard (inProgress.remove(change.number) ?? waiting.remove(change.number)) != nil else { return [] }
    if waiting.isEmpty { meanwhile = ChangesMeanwhile() }
    let changes = hide(change)
    settle()
    if !removals.isEmpty, let first = inProgress.min() {
      if first > change.number { removals = removals.filter { $1 > first } }
    } else {
      removals = [:]
    }
    return changes
  }

  /// Stops showing what is shown until a change's response comes.
  mutating func hide(_ change: Change) -> [RecordChange] {
    if cache.layerNumbers.contains(change.optimistic) { reads.noteConfirmation() }
    let changes = cache.removeLayer(change.optimistic)
    forgetRebase(of: change.optimistic)
    noteTouched(in: change.optimistic)
    return changes
  }

  /// The layer for what a change has brought; `nil` for the base.
  mutating func level(of change: Change) -> UInt64? {
    if isFirst(change), cache.layerNumbers.allSatisfy({ $0 > change.number }) { return nil }
    cache.addLayer(change.number)
    return change.number
  }

  /// Whether nothing that began earlier is in progress.
  func isFirst(_ change: Change) -> Bool { inProgress.allSatisfy { $0 >= change.number } }

  /// Makes layers a part of what is below them, if nothing that is in progress belongs between.
  private mutating func settle() {
    // The layer that another may join, 0 for the base; `nil` if it is that of a change in progress.
    var below: UInt64? = 0
    for number in cache.layerNumbers where number < RecordLayer.firstOptimistic {
      let isEnded = !inProgress.contains(number)
      if isEnded, let low = below, !inProgress.contains(where: { $0 > low && $0 < number }),
        rebases.maySettle(number, into: low)
      {
        cache.settleLayer(number, isOther: answers.contains(number) != answers.contains(low))
        forgetRebase(of: number)
      } else {
        below = isEnded ? number : nil
      }
    }
    if !answers.isEmpty { answers.formIntersection(cache.layerNumbers) }
  }

  private mutating func record(of entity: EntityID?) -> RecordID? {
    entity.map { cache.insert($0.type, key: $0.key) }
  }

  /// The operations that show what the latest write has otherwise, because what began later has come before it, if it is
  /// unknown which of the two the server has.
  /// - Parameter isResponse: Whether it was what the server has answered: then a later edit is right.
  mutating func overruledKeys(by change: Change, isResponse: Bool) -> [NormalizedKey] {
    if cache.overruled.isEmpty, doubts.isEmpty { return [] }
    let unknown = cache.overruled.filter { field in
      guard let layer = cache.answeringLayer(of: field) else { return true }
      // What is made again, is made of this.
      if rebases.has(layer.number) { return false }
      return !isResponse || answers.contains(layer.number) != layer.isOther
    }
    return reads.keys(touchedBy: unknown + doubts)
  }

  /// Forgets what the latest write has found out, since another response was not written.
  mutating func forgetLatestWrite() { (cache.overruled, cache.dated, doubts) = ([], [], []) }

  /// Notes that what a change has brought is what the server has said.
  mutating func noteAnswer(_ change: Change) {
    if isInProgress(change) { answers.insert(change.number) }
  }

  /// Whether a change waits to be sent.
  func isWaiting(_ change: Change) -> Bool { waiting.contains(change.number) }

  /// Whether the records have layers: what is read may then hide what was written.
  var hasLayers: Bool { !cache.layerNumbers.isEmpty }

  /// Whether there may be something to read of a key: a read for one time only makes no entity.
  func knows(_ key: NormalizedKey) -> Bool {
    key.source.entity.map { cache.entity($0.type, key: $0.key) != nil } ?? true
  }

  // MARK: Reads

  /// The plan of a key that was read.
  func plan(of key: NormalizedKey) -> PreparedPlan? { reads.plan(of: key) }

  /// What a plan selects now, up to the level of a change; nobody depends on it.
  mutating func json(
    _ plan: inout PreparedPlan, at entity: EntityID?, upTo layer: UInt64
  ) throws(RecordError) -> PaddedBytes? {
    let isRebased = rebases.has(layer)
    // What is not there yet can be depended on.
    let record = entity.map { isRebased ? cache.insert($0.type, key: $0.key) : cache.entity($0.type, key: $0.key) }
    if case .some(nil) = record { return nil }
    guard isRebased else { return try cache.read(&plan, at: record ?? nil, upTo: layer).json }
    let result =
      rebases.isRunning(layer)
      ? try cache.withStaged(layer) { cache throws(RecordError) in
        try cache.read(&plan, at: record ?? nil, upTo: layer)
      } : try cache.read(&plan, at: record ?? nil, upTo: layer)
    if let result { rebases.depend(layer, on: result.dependencies) }
    return result?.json
  }

  /// The path of what a plan lacks first; nobody depends on it.
  mutating func missing(_ plan: inout PreparedPlan) throws(RecordError) -> [RecordStep]? {
    try cache.read(&plan).missing.first
  }

  /// Reads a key, and notes what the read depends on.
  /// - Parameter expected: What it probably gives.
  mutating func read(
    _ key: NormalizedKey, expecting expected: PaddedBytes? = nil, _ plan: @autoclosure () throws -> PreparedPlan
  ) throws -> Reading {
    try reads.read(key, of: &cache, epoch, expecting: expected, plan())
  }

  /// Reads a key after its response has changed these fields, unless it is known what it reads.
  mutating func read(
    _ key: NormalizedKey, after changes: [RecordChange], of response: PaddedBytes,
    _ plan: @autoclosure () throws -> PreparedPlan
  ) throws -> Reading {
    if changes.isEmpty, !hasLayers, let known = reads.current(key, epoch) { return known }
    return try read(key, expecting: response, plan())
  }

  /// The number of the latest read of a key, if it gave all, and it is known that another one would give the same.
  func currentNumber(of key: NormalizedKey) -> UInt64? { hasLayers ? nil : reads.currentNumber(of: key) }

  /// Whether a read is the latest of its key, so that it may be shown. It is not if everything was removed since.
  func isLatest(_ reading: Reading) -> Bool { reading.epoch == epoch && !isEnded && reads.isLatest(reading) }

  /// Reads again what changes have touched; those keys alone whose response is another one now, and that are watched.
  mutating func readTouched(by changes: [RecordChange], isWatched: (NormalizedKey) -> Bool) -> [Reading] {
    reads.readTouched(by: changes, of: &cache, epoch, isWatched: isWatched)
  }

  /// Notes that what was read of these fields is otherwise now, where it is to be read again only later.
  mutating func noteUnread(_ changes: [RecordChange]) { reads.noteUnread(changes) }

  // MARK: Removing

  /// Makes the fields of an entity missing, or one of them, at the level of a change: what was requested before it does
  /// not bring them back.
  mutating func remove(_ entity: EntityID, field: String?, by change: Change) -> [RecordChange] {
    cache.overruled = []
    guard isInProgress(change) else { return [] }
    if inProgress.contains(where: { $0 < change.number }) {
      removals[Removal(entity: entity, field: field.map(ExactText.init))] = change.number
      lastRemoval = max(lastRemoval, change.number)
    }
    // A journal may have of it what memory has not.
    let known = log == nil ? cache.entity(entity.type, key: entity.key) : record(of: entity)
    guard let record = known else { return [] }
    log?.noteRemoval()
    let level = level(of: change)
    defer { noteTouched(in: level) }
    guard let field else {
      defer { log?.noteAll(of: record, in: cache) }
      return cache.remove(record, in: level)
    }
    if log != nil { _ = cache.field(field) }
    return cache.remove(record, field: field, in: level)
  }

  /// Removes what a change has brought that was removed after it began, and was not there then.
  private mutating func removeAgain(after change: Change, in level: UInt64?) -> [RecordChange] {
    if change.number > lastRemoval { return [] }
    var changes: [RecordChange] = []
    for (removal, number) in removals where number > change.number {
      guard let record = cache.entity(removal.entity.type, key: removal.entity.key) else { continue }
      cache.addLayer(number)
      changes += cache.hide(record, field: removal.field?.text, of: level, in: number)
    }
    return changes
  }

  /// Makes what an operation begins with missing, at the level of a change.
  mutating func removeRoot(of plan: inout PreparedPlan, by change: Change) throws(RecordError) -> [RecordChange] {
    let known = log == nil ? cache.root(plan.plan.rootType) : cache.insert(plan.plan.rootType, key: [])
    guard isInProgress(change), let root = known else { return [] }
    log?.noteRemoval()
    let level = level(of: change)
    var changes: [RecordChange] = []
    for field in try cache.rootFields(of: &plan) { changes += cache.remove(root, field: field, in: level) }
    let refused = cache.touched ?? []
    noteTouched(in: level)
    log?.noteRefusal(of: refused, in: cache)
    return changes
  }

  /// Removes everything. What is in progress is dropped when it comes, and what comes later, too, if this is the end.
  mutating func removeAll(now: StoreTime, isEnd: Bool = false) {
    isEnded = isEnded || isEnd
    if isEnded { discard(exchange(&log, with: nil)) }
    log?.reset()
    removeAll(now)
    reads.readAll(of: &cache, epoch)
  }

  /// Removes everything, and leaves it to the caller to read it again.
  mutating func removeAll(_ now: StoreTime) {
    epoch += 1
    cache = RecordCache(cache.schema, RecordDates(cache.dates.staleTimes))
    cache.dates.earliest = now
    waiting = isEnded ? [] : waiting
    let layers = Set(waiting.map { RecordLayer.firstOptimistic | $0 })
    discard(exchange(&rebases, with: rebases.restarted(layers, epoch)))
    for layer in layers where rebases.has(layer) { cache.addLayer(layer) }
    listenToCache()
    meanwhile = ChangesMeanwhile()
    discard(exchange(&freshness, with: Self.noFreshness))
    (inProgress, answers, removals) = ([], [], [:])
    emptyAt = now
  }

  // MARK: Rebasing

  /// Adds a layer for a change, with what makes it, to make it again when what it was made of changes below it, once
  /// ``endFirstMaking(of:isOptimistic:)`` was called.
  mutating func keepRebase(
    of change: Change, isOptimistic: Bool, _ run: @escaping @Sendable (NormalizedEdits) throws -> Void
  ) {
    // What waits outlives the removal of everything: also one since it began, after which nothing of its first making is
    // kept.
    guard isInProgress(change) || !isEnded && waiting.contains(change.number) else { return }
    let layer = isOptimistic ? change.optimistic : change.number
    cache.addLayer(layer)
    rebases.keep(layer, epoch, isDue: change.epoch != epoch, run)
    listenToCache()
  }

  /// Lets the layer of a change be made again, since it was made for the first time.
  mutating func endFirstMaking(of change: Change, isOptimistic: Bool) {
    rebases.endFirst(isOptimistic ? change.optimistic : change.number)
  }

  private mutating func forgetRebase(of layer: UInt64) {
    discard(rebases.forget(layer))
    cache.staged[layer] = nil
    listenToCache()
  }

  /// Whether layers have to be made again.
  var hasDueRebases: Bool { rebases.isAnyDue }

  /// How many layers may have to be made again.
  var rebaseCount: Int { rebases.count }

  /// Begins to make the lowest layer again that has to be.
  mutating func beginRebase() -> RecordRebases.Rebase? { rebases.begin() }

  /// Writes to a layer that is made again.
  mutating func rewrite(
    _ data: PaddedBytes, of plan: inout PreparedPlan, at entity: EntityID? = nil, errors: [RecordErrorPath] = [],
    in layer: UInt64
  ) throws(RecordError) {
    guard rebases.isRunning(layer) else { return }
    let record = record(of: entity)
    // What it touches is known when it is shown.
    let (touched, altered) = (cache.touched, cache.altered)
    defer { (cache.touched, cache.altered) = (touched, altered) }
    _ = try cache.withStaged(layer) { cache throws(RecordError) in
      try cache.write(data, of: &plan, at: record, errors: errors, in: layer)
    }
  }

  /// Shows a layer that was made again.
  mutating func endRebase(_ rebase: RecordRebases.Rebase) -> [RecordChange] {
    guard rebase.epoch == epoch, rebases.end(rebase.layer) else { return [] }
    let changes = cache.showStaged(rebase.layer)
    noteTouched(in: rebase.layer)
    noteUnread(changes)
    if rebase.layer >= RecordLayer.firstOptimistic { reads.noteConfirmation() }
    settle()
    return changes
  }

  // MARK: Journal

  /// Keeps what changes for a journal.
  /// - Parameter digest: What tells operations apart in it.
  mutating func beginLog(digest: @escaping @Sendable (NormalizedKey) -> UInt128?) {
    log = RecordLog(digest)
    listenToCache()
  }

  /// Lets the cache note what it changes as far as somebody wants to know it.
  private mutating func listenToCache() {
    cache.touched = log == nil && waiting.isEmpty && rebases.isEmpty ? nil : cache.touched ?? []
    cache.altered = rebases.isEmpty ? nil : cache.altered ?? []
  }

  /// Notes that the records were changed, and what the latest writes and removals have touched at a level.
  /// - Parameters:
  ///   - isLogged: Whether a journal is to be given them: not if it has them already.
  ///   - isOrdered: Whether they are known to be older than the responses to what waits to be sent.
  mutating func noteTouched(in level: UInt64?, isLogged: Bool = true, isOrdered: Bool = true) {
    reads.noteChange()
    guard let touched = cache.touched, !touched.isEmpty else { return }
    cache.touched?.removeAll(keepingCapacity: true)
    if level ?? 0 < RecordLayer.firstOptimistic {
      // Others know what hides the rest; said once more, it would hide what they have requested since it was said first.
      if isLogged { log?.note(touched.filter { !cache.isAnswered($0, above: level) }, in: cache) }
      log?.noteTouched(touched, in: cache)
    }
    if let altered = cache.altered {
      cache.altered?.removeAll(keepingCapacity: true)
      rebases.note(altered, in: cache)
    }
    if !isOrdered, !waiting.isEmpty { meanwhile.note(touched, at: next(), in: cache) }
  }

  /// Takes what a journal has not been given.
  mutating func takeLog() -> RecordLog.Changes { log?.take() ?? RecordLog.Changes() }

  /// All that a journal is to have.
  func encoded() -> [UInt8] { log?.all(of: cache, since: emptyAt) ?? [] }

  /// Takes what journals were given; returns whether it can be read. If not, nothing is taken.
  mutating func restore(_ entries: [ArraySlice<UInt8>]) -> Bool {
    var restored = RecordCache(cache.schema, RecordDates(cache.dates.staleTimes))
    var (hasBeginning, refused) = (false, [RecordChange]())
    do throws(UnreadableRecords) {
      for entry in entries {
        let notes = try restored.decode(entry)
        // The first entry has all that there was.
        if let beginning = notes.beginning { emptyAt = beginning } else if !hasBeginning { throw UnreadableRecords() }
        hasBeginning = true
        for operation in notes.operations { log?.restore(operation) }
        refused += notes.refused
      }
    } catch {
      log?.forget()
      return false
    }
    restored.dates.earliest = emptyAt
    cache = restored
    listenToCache()
    log?.restoreRefusal(of: refused, in: cache)
    reads.noteAllUnread()
    return true
  }

  // MARK: Collecting

  /// Begins to drop what no kept value was read of, nor what closures make again.
  mutating func beginCollection() {
    cache.beginCollection(retaining: [reads.dependencies(), rebases.dependencies])
  }

  /// Goes on with it; returns whether there is more to do.
  mutating func continueCollection(entities limit: Int) -> Bool { cache.continueCollection(entities: limit) }
}

extension Locked<NormalizedRecords> {
  /// Changes the records, and releases what they have replaced when they are not locked any more.
  func change<Result>(_ body: (inout NormalizedRecords) throws -> Result) rethrows -> Result {
    var garbage: [any Sendable] = []
    defer { withExtendedLifetime(garbage) {} }
    return try change(keeping: &garbage, body)
  }

  /// Changes the records under another lock, too. What they have replaced is added to `garbage`, to be released after
  /// that.
  func change<Result>(
    keeping garbage: inout [any Sendable], _ body: (inout NormalizedRecords) throws -> Result
  ) rethrows -> Result {
    try withLockUnchecked { records in
      defer { garbage += records.takeGarbage() }
      return try body(&records)
    }
  }
}
