public import GraphQLClient
import GraphQLLanguage
import HTTPClientCore
public import StrictJSON
import SystemBase

/// Changes of what is cached that are shown in one step, and belong to a mutation, or to an update. They can be made until
/// the closure that was given them returns; later, they do nothing.
public final class NormalizedEdits: Sendable {
  private let store: NormalizedStore
  /// The mutation; `nil` for an update, each edit of which is a change of its own.
  private let mutation: NormalizedRecords.Change?
  private let isOptimistic: Bool
  /// Whether they make a layer again.
  private let isRebase: Bool
  /// What has waited to be sent, if they are of its response.
  private let shown: NormalizedRecords.Change?
  /// The topmost layer that they are made of: that of the mutation, or all that the server has answered.
  private let level: UInt64
  private let epoch: UInt64
  private let made = Locked(Made())

  /// What was done so far.
  private struct Made: Sendable {
    var changes: [RecordChange] = []
    var guesses: Set<NormalizedKey> = []
    var hasInvalidated = false
    var isEnded = false
  }

  init(
    _ store: NormalizedStore, _ mutation: NormalizedRecords.Change?, isOptimistic: Bool,
    insteadOf shown: NormalizedRecords.Change? = nil
  ) {
    (self.store, self.mutation, self.isOptimistic, isRebase) = (store, mutation, isOptimistic, false)
    self.shown = shown
    // What is to stay is not made of what is optimistic.
    level = mutation.map { isOptimistic ? $0.optimistic : $0.number } ?? RecordLayer.firstOptimistic - 1
    epoch = mutation?.epoch ?? store.records.withLock { $0.epoch }
  }

  /// Edits that make a layer again.
  init(_ store: NormalizedStore, again rebase: RecordRebases.Rebase) {
    (self.store, mutation, level, epoch, isRebase) = (store, nil, rebase.layer, rebase.epoch, true)
    shown = nil
    isOptimistic = rebase.layer >= RecordLayer.firstOptimistic
  }

  /// Ends the edits. Returns the fields that were changed, and the operations of which it is unknown whether what they
  /// show is what the server has. To be called under the lock of the records.
  func end() -> (changes: [RecordChange], guesses: Set<NormalizedKey>) {
    made.withLock { made in
      made.isEnded = true
      return (made.changes, made.guesses)
    }
  }

  /// What becomes of values that lack something now.
  var loss: NormalizedStore.Loss { made.withLock { $0.hasInvalidated } ? .requestedAtOnce : .requested }

  /// Changes what is cached of an operation, if all of it is; returns whether it is.
  ///
  /// An element of a list is the one that had its key before, or its place, if the type does not have the key. A new one
  /// is of the type that the others are of, or that ``RecordSchema`` knows; else give it `__typename`.
  @discardableResult
  public func update<Session: GraphQLSession>(
    _ session: Session, _ body: (inout Session.ResponseData) throws -> Void
  ) throws -> Bool where Session.ResponseData: Encodable {
    try update(NormalizedKey(session, by: store.client.encoder), body)
  }

  /// Changes what is cached of a fragment, the first of a document, for one entity, if all of it is; returns whether it
  /// is.
  @discardableResult
  public func update<Value: Codable & Sendable>(
    _ type: Value.Type, _ fragment: GraphQLDocument, of entity: EntityID, _ body: (inout Value) throws -> Void
  ) throws -> Bool {
    try update(NormalizedKey(FragmentSource<Value>(document: fragment, entity: entity)), body)
  }

  /// Writes the `data` of a response.
  public func write<Session: GraphQLSession>(_ response: JSONValue, of session: Session) throws {
    try write(response, of: session, isAnswer: false)
  }

  /// - Parameter isAnswer: Whether the server has said so, before or after changes that are in progress.
  func write<Session: GraphQLSession>(_ response: JSONValue, of session: Session, isAnswer: Bool) throws {
    let key = try NormalizedKey(session, by: store.client.encoder)
    var plan = try store.plan(of: key)
    let json = try ResponseCompletion(plan).bytes(response)
    let now = isAnswer ? store.store.clock.now : nil
    try write { records, change throws(RecordError) in
      if isAnswer { records.noteAnswer(change) }
      return try write(json, of: &plan, at: nil, by: change, saidAt: now, &records)
    }
  }

  /// Removes the fields of an entity, or one of them; see ``NormalizedStore/invalidate(_:field:)``.
  public func invalidate(_ entity: EntityID, field: String? = nil) {
    // Nothing is out of date before the server has made the change, nor because something else has changed.
    if isOptimistic || isRebase { return }
    try? write { records, change throws(RecordError) in records.remove(entity, field: field, by: change) }
    made.withLock { $0.hasInvalidated = true }
  }

  private func update<Value: Codable>(_ key: NormalizedKey, _ body: (inout Value) throws -> Void) throws -> Bool {
    var plan = try store.plan(of: key)
    plan.replacesPages = true
    let entity = key.source.entity
    // A closure that changes what it is given, by another call, would be called without end.
    for rest in (0..<100).reversed() {
      let read = try store.records.withLockUnchecked { try $0.json(&plan, at: entity, upTo: level) }
      guard let read, var value = try key.source.value(of: read, by: store.client.decoder) as? Value else {
        return false
      }
      let before = try store.json(of: value)
      try body(&value)
      let after = try store.json(of: value)
      if after.isExactly(before) { return true }
      let json = try ResponseCompletion(plan).bytes(after, before: before, in: read.read { try JSONValue(json: $0) })
      var isCurrent = true
      try write { records, change throws(RecordError) in
        if rest > 0 { isCurrent = try records.json(&plan, at: entity, upTo: level) == read }
        return isCurrent ? try write(json, of: &plan, at: entity, by: change, &records) : []
      }
      if isCurrent { break }
    }
    return true
  }

  /// Writes the data of the mutation's response.
  func writeResponse(_ json: PaddedBytes, of plan: PreparedPlan, errors: [RecordErrorPath] = []) throws {
    var plan = plan
    let now = store.store.clock.now
    try write(isResponse: true) { records, change throws(RecordError) in
      try write(json, of: &plan, at: nil, errors: errors, by: change, saidAt: now, &records)
    }
  }

  private func write(
    _ json: PaddedBytes, of plan: inout PreparedPlan, at entity: EntityID?, errors: [RecordErrorPath] = [],
    by change: NormalizedRecords.Change, saidAt date: StoreTime? = nil, _ records: inout NormalizedRecords
  ) throws(RecordError) -> [RecordChange] {
    if isRebase {
      try records.rewrite(json, of: &plan, at: entity, errors: errors, in: level)
      return []
    }
    return try isOptimistic
      ? records.writeOptimistic(json, of: &plan, at: entity, by: change)
      : records.write(
        json, of: &plan, at: entity, errors: errors, by: change, saidAt: date, isOrdered: shown != nil,
        insteadOf: shown)
  }

  /// Writes into the records, and notes what has changed.
  func write(
    isResponse: Bool = false,
    _ body: (inout NormalizedRecords, NormalizedRecords.Change) throws(RecordError) -> [RecordChange]
  ) throws {
    do {
      try store.records.change { records in
        guard epoch == records.epoch, !made.withLock({ $0.isEnded }) else { return }
        let change = mutation ?? records.begin()
        defer { if mutation == nil { _ = records.end(change) } }
        let changes = try body(&records, change)
        records.noteUnread(changes)
        let isGuess = mutation != nil && !isOptimistic
        let guesses = isGuess ? records.overruledKeys(by: change, isResponse: isResponse) : []
        made.withLock { made in
          made.changes += changes
          made.guesses.formUnion(guesses)
        }
      }
    } catch let error as RecordError {
      throw RequestError(.invalidRequest, "What is to be written does not fit its document: \(error).")
    }
  }
}
