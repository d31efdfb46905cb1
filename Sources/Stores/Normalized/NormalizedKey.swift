import GraphQLClient
import GraphQLLanguage
import Streams
import StrictJSON
import SystemBase

/// What a normalised store reads as one: an operation with its variables, or a fragment for one entity.
@usableFromInline
struct NormalizedKey: Hashable, Sendable {
  let source: any NormalizedSource
  let name: String
  private let identity: ObjectIdentifier
  private let variables: Variables
  private let entity: EntityID?
  private let hash: Int

  /// The values of variables, compared by their own `==` if a user's type has one, else by the text of what is sent.
  ///
  /// Unchecked, since a conditional cast cannot ask for `Sendable`: what is kept is a copy of variables that are.
  private struct Variables: @unchecked Sendable {
    let value: any Hashable

    func isEqual(to other: Variables) -> Bool { Self.isEqual(value, other.value) }

    /// Without a conditional cast, whose optional takes a tenth of a warm read: the type is the same one.
    private static func isEqual<Value: Hashable, Other: Hashable>(_ value: Value, _ other: Other) -> Bool {
      Value.self == Other.self && unsafeBitCast(other, to: Value.self) == value
    }

    /// - Parameter json: What they are sent as.
    init<Value: Sendable>(_ variables: Value, json: () throws -> [String: JSONValue]) rethrows {
      // The `==` of these takes canonically equivalent strings for equal.
      let isOwn = Value.self != [String: JSONValue].self && Value.self != JSONValue.self
      if isOwn, let own = variables as? any Hashable {
        value = own
      } else {
        value = ExactText(RecordVariables.text(of: .object(try json())))
      }
    }
  }

  init<Session: GraphQLSession>(_ session: Session, _ form: ReadForm = .whole, by encoder: any BodyEncoder) throws {
    let source = SessionSource(session: session, form: form)
    let variables = try Variables(session.variables) { try source.variables(by: encoder) }
    self.init(source, named: session.operationName, variables, nil)
  }

  init<Value: Decodable & Sendable>(_ fragment: FragmentSource<Value>) {
    self.init(fragment, named: fragment.document.text, Variables(NoVariables()) { [:] }, fragment.entity)
  }

  private init(_ source: any NormalizedSource, named name: String, _ variables: Variables, _ entity: EntityID?) {
    (self.source, self.name, self.variables, self.entity) = (source, name, variables, entity)
    identity = source.identity
    var hasher = Hasher()
    hasher.combine(identity)
    hasher.combine(name)
    hasher.combine(variables.value)
    hasher.combine(entity)
    hash = hasher.finalize()
  }

  /// The key of the operation itself: what is known of its responses is known of it when a part of it is read, too.
  var operation: NormalizedKey {
    if source.form != .partial { return self }
    return NormalizedKey(source.inForm(.whole), named: name, variables, entity)
  }

  /// The key of the operation in part, or, of that, as a whole; `nil` for what has no such form.
  var otherForm: NormalizedKey? {
    switch source.form {
    case .whole where entity == nil: NormalizedKey(source.inForm(.partial), named: name, variables, nil)
    case .partial: operation
    case .whole, .allPages: nil
    }
  }

  private struct NoVariables: Hashable, Sendable {}

  @usableFromInline static func == (left: NormalizedKey, right: NormalizedKey) -> Bool {
    left.hash == right.hash && left.identity == right.identity && left.hasName(of: right)
      && left.entity == right.entity && left.variables.isEqual(to: right.variables)
  }

  /// The name of an operation is ASCII; the text of a fragment may be any.
  private func hasName(of other: NormalizedKey) -> Bool {
    entity == nil ? name == other.name : name.hasBytes(of: other.name)
  }

  @usableFromInline func hash(into hasher: inout Hasher) { hasher.combine(hash) }

  /// What tells it apart from others, also in other processes; `nil` if its variables cannot be encoded.
  func digest(by encoder: any BodyEncoder) -> UInt128? {
    guard let variables = try? source.variables(by: encoder) else { return nil }
    let parts = [
      source.text, name, RecordVariables.text(of: .object(variables)), entity?.description ?? "",
      source.form == .allPages ? "pages" : "",
    ]
    return RecordName(hashing: parts.joined(separator: "\0").utf8).hash
  }
}

/// What the records have for a key, decoded: the value that a normalised store's `Store` keeps. A class, since it is passed
/// on many times.
@usableFromInline
final class NormalizedValue: Sendable {
  @usableFromInline let value: any Sendable
  /// Grows with each read of the key that gave something else than the one before.
  let number: UInt64
  /// The JSON that it was decoded from.
  let json: PaddedBytes
  /// Whether an optimistic change shows in it.
  @usableFromInline let isOptimistic: Bool
  /// Whether null stands for what is missing.
  @usableFromInline let isPartial: Bool
  /// Keeps the key's dependencies for as long as somebody keeps a value.
  let lease: ReadLease?

  init(
    value: any Sendable, number: UInt64, json: PaddedBytes, isOptimistic: Bool, isPartial: Bool = false,
    lease: ReadLease?
  ) {
    (self.value, self.number, self.json) = (value, number, json)
    (self.isOptimistic, self.isPartial, self.lease) = (isOptimistic, isPartial, lease)
  }
}

/// Says that a key's value is kept somewhere: what it was read of is then not collected, and its changes are noticed.
final class ReadLease: Sendable {
  let id: UInt64
  /// When what was read becomes stale by times that its fields have; `nil` if none may have one.
  let staleDate: StaleDate?
  private let ended: Locked<[UInt64]>

  init(_ id: UInt64, endingIn ended: Locked<[UInt64]>, staleDate: StaleDate?) {
    (self.id, self.ended, self.staleDate) = (id, ended, staleDate)
  }

  deinit { ended.withLock { $0.append(id) } }
}

/// An object of the server that is kept once: its type, and its key. Texts are compared by their bytes, as the server does
/// it, not by canonical equivalence, as `String` does.
public struct EntityID: Hashable, Sendable {
  /// The name of its type: that of an object type, not of an interface.
  public let type: String

  /// The values of its key fields, in the order in which ``RecordSchema`` has them. A number is written as text.
  public let key: [String]

  /// Names an entity whose key has several fields.
  public init(_ type: String, key: [String]) { (self.type, self.key) = (type, key) }

  /// Names an entity by its id.
  public init(_ type: String, id: String) { self.init(type, key: [id]) }

  /// Whether the types and keys have the same bytes.
  public static func == (left: EntityID, right: EntityID) -> Bool {
    left.type.hasBytes(of: right.type) && left.key.count == right.key.count
      && zip(left.key, right.key).allSatisfy { $0.hasBytes(of: $1) }
  }

  /// Hashes what `==` compares.
  public func hash(into hasher: inout Hasher) {
    type.hashBytes(into: &hasher)
    hasher.combine(key.count)
    for part in key { part.hashBytes(into: &hasher) }
  }
}

extension EntityID: CustomStringConvertible {
  /// The type and the key, such as `User:7`.
  public var description: String { type + ":" + key.joined(separator: "+") }
}

/// What a read gives of an operation.
enum ReadForm: CaseIterable, Sendable {
  /// All that it selects; if something is missing, nothing.
  case whole
  /// All pages that follow the operation's without a gap, as of a pager.
  case allPages
  /// What is there, with null for what is missing.
  case partial
}

/// What a plan is made of, and what its JSON is decoded as.
protocol NormalizedSource: Sendable {
  /// Tells sources of different types apart.
  var identity: ObjectIdentifier { get }
  /// What the records of a fragment are read at; `nil` for an operation.
  var entity: EntityID? { get }
  var form: ReadForm { get }
  /// The same, read in another form.
  func inForm(_ form: ReadForm) -> any NormalizedSource
  /// The document as the user has it.
  var text: String { get }
  /// The document with the fields that the cache needs.
  func document(by schema: RecordSchema) throws -> DocumentSyntax
  func plan(of document: DocumentSyntax, by schema: RecordSchema) throws(RecordError) -> RecordPlan
  func variables(by encoder: any BodyEncoder) throws -> [String: JSONValue]
  /// What the JSON of a read is for the user.
  func value(of json: PaddedBytes, by decoder: any BodyDecoder) throws -> any Sendable
  /// A cold stream of one response, which was written into the records; of a fragment, a failure.
  func fetch(
    _ key: NormalizedKey, _ context: ReadContext, for store: NormalizedStore
  ) -> Observable<Fetched<NormalizedValue>>
}

/// An operation.
struct SessionSource<Session: GraphQLSession>: NormalizedSource {
  let session: Session
  var form = ReadForm.whole

  private enum AllPages {}
  private enum Partial {}

  var identity: ObjectIdentifier {
    switch form {
    case .whole: ObjectIdentifier(Session.self)
    case .allPages: ObjectIdentifier(AllPages.self)
    case .partial: ObjectIdentifier(Partial.self)
    }
  }

  func inForm(_ form: ReadForm) -> any NormalizedSource { SessionSource(session: session, form: form) }

  var entity: EntityID? { nil }
  var text: String { Session.query.text }

  func document(by schema: RecordSchema) throws -> DocumentSyntax {
    try DocumentSyntax(parsing: schema.addingKeys(to: Session.query.text))
  }

  func plan(of document: DocumentSyntax, by schema: RecordSchema) throws(RecordError) -> RecordPlan {
    let name = document.operations.count == 1 ? nil : session.operationName
    return try RecordPlan(document, operation: name, schema: schema)
  }

  func variables(by encoder: any BodyEncoder) throws -> [String: JSONValue] {
    if Session.Variables.self == NoParameters.self { return [:] }
    let json = try UndecodedSession(session).variables(by: encoder)
    guard case .object(let members) = try JSONValue(json: json.bytes.span.bytes) else { return [:] }
    return members
  }

  func value(of json: PaddedBytes, by decoder: any BodyDecoder) throws -> any Sendable {
    try data(of: json, by: decoder)
  }

  /// The data as the session has them.
  func data(of json: PaddedBytes, by decoder: any BodyDecoder) throws -> Session.ResponseData {
    let json = try UndecodedSession(session).decodable(json)
    do { return try decoder.decode(Session.ResponseData.self, from: json) } catch {
      // The error says what a response of the session would.
      return try UndecodedSession(session).response(GraphQLResponse(data: json), by: decoder).data
    }
  }

  func fetch(
    _ key: NormalizedKey, _ context: ReadContext, for store: NormalizedStore
  ) -> Observable<Fetched<NormalizedValue>> {
    store.fetch(session, key, context)
  }
}

/// A fragment of one entity.
struct FragmentSource<Value: Decodable & Sendable>: NormalizedSource {
  let document: GraphQLDocument
  let entity: EntityID?

  var identity: ObjectIdentifier { ObjectIdentifier(Value.self) }
  var form: ReadForm { .whole }
  func inForm(_ form: ReadForm) -> any NormalizedSource { self }
  var text: String { document.text }

  func document(by schema: RecordSchema) throws -> DocumentSyntax {
    try DocumentSyntax(parsing: schema.addingKeys(to: document.text))
  }

  func plan(of document: DocumentSyntax, by schema: RecordSchema) throws(RecordError) -> RecordPlan {
    guard let first = document.fragments.first else { throw .noDefinition(nil) }
    return try RecordPlan(document, fragment: first.name.text, schema: schema)
  }

  func variables(by encoder: any BodyEncoder) throws -> [String: JSONValue] { [:] }

  func value(of json: PaddedBytes, by decoder: any BodyDecoder) throws -> any Sendable {
    try decoder.decode(Value.self, from: json)
  }

  func fetch(
    _ key: NormalizedKey, _ context: ReadContext, for store: NormalizedStore
  ) -> Observable<Fetched<NormalizedValue>> {
    .error(StoreError.notCached)
  }
}
