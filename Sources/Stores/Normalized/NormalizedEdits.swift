public import GraphQLClient
import GraphQLLanguage
import HTTPClientCore
public import StrictJSON
import SystemBase

/// Changes of what is cached that are shown in one step, and belong to a mutation, or to an update.
public final class NormalizedEdits: Sendable {
  private let store: NormalizedStore
  let change: NormalizedRecords.Change
  private let isOptimistic: Bool
  private let changed = Locked<[RecordChange]>([])

  /// The fields that were changed so far.
  var changes: [RecordChange] { changed.withLock { $0 } }

  init(_ store: NormalizedStore, _ change: NormalizedRecords.Change, isOptimistic: Bool) {
    (self.store, self.change, self.isOptimistic) = (store, change, isOptimistic)
  }

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
    let key = try NormalizedKey(session, by: store.client.encoder)
    var plan = try store.plan(of: key)
    try write(ResponseCompletion(plan).bytes(response), of: &plan, at: nil)
  }

  /// Removes the fields of an entity, or one of them; see ``NormalizedStore/invalidate(_:field:)``.
  public func invalidate(_ entity: EntityID, field: String? = nil) {
    // Nothing is out of date before the server has made the change.
    if isOptimistic { return }
    let changes = store.records.withLock { $0.remove(entity, field: field) }
    changed.withLock { $0 += changes }
  }

  private func update<Value: Codable>(_ key: NormalizedKey, _ body: (inout Value) throws -> Void) throws -> Bool {
    var plan = try store.plan(of: key)
    let level = isOptimistic ? change.optimistic : change.number
    let read = try store.records.withLockUnchecked { try $0.json(&plan, at: key.source.entity, upTo: level) }
    guard let read, var value = try key.source.value(of: read, by: store.client.decoder) as? Value else { return false }
    let before = try store.json(of: value)
    try body(&value)
    let after = try store.json(of: value)
    if after == before { return true }
    let json = try ResponseCompletion(plan).bytes(after, before: before, in: JSONValue(json: read.span.bytes))
    try write(json, of: &plan, at: key.source.entity)
    return true
  }

  private func write(_ json: [UInt8], of plan: inout PreparedPlan, at entity: EntityID?) throws {
    try write { records throws(RecordError) in
      try isOptimistic
        ? records.writeOptimistic(json, of: &plan, at: entity, by: change)
        : records.write(json, of: &plan, at: entity, by: change)
    }
  }

  /// Writes into the records, and notes what has changed.
  func write(_ body: (inout NormalizedRecords) throws(RecordError) -> [RecordChange]) throws {
    do {
      let changes = try store.records.withLockUnchecked { try body(&$0) }
      changed.withLock { $0 += changes }
    } catch let error as RecordError {
      throw RequestError(.invalidRequest, "What is to be written does not fit its document: \(error).")
    }
  }
}
