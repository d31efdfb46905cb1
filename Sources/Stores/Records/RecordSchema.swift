public import GraphQLLanguage

/// What a ``NormalizedStore`` knows of a server's types. All of it comes from outside; nothing is guessed.
///
///     var schema = try RecordSchema(schemaText)      // schema.graphql, whole or a part of it
///     schema.keyFields["Country"] = ["code"]         // the others' key is `id`, where they have it
///
/// `graphql generate` writes one down as a constant, as far as the operations use the schema, with `"recordSchema": "shop"`
/// in its configuration; then a program needs no text when it runs.
///
/// Without a schema, `__typename` is added to documents, but no key: what selects its key itself is an entity.
public struct RecordSchema: Hashable, Sendable {
  /// The names of the types that operations begin with.
  public struct Roots: Hashable, Sendable {
    /// The type of queries.
    public var query = "Query"
    /// The type of mutations.
    public var mutation = "Mutation"
    /// The type of subscriptions.
    public var subscription = "Subscription"

    /// Names the three types.
    public init(query: String = "Query", mutation: String = "Mutation", subscription: String = "Subscription") {
      self.query = query
      self.mutation = mutation
      self.subscription = subscription
    }

    /// Whether a type is one of them: there is one object of it, which needs no key.
    func contains(_ type: String) -> Bool { type == query || type == mutation || type == subscription }
  }

  /// The types that operations begin with.
  public var roots = Roots()

  /// The fields that tell the objects of a type apart, by the name of the type. A type with none is embedded.
  public var keyFields: [String: [String]] = [:]

  /// The key of the other types.
  public var defaultKey = ["id"]

  /// The object types of interfaces and unions, all of which must be in here. A fragment on a type that is neither in here nor the object's own is a
  /// miss.
  public var possibleTypes: [String: Set<String>] = [:] {
    didSet { objectTypes = possibleTypes.values.reduce(into: []) { $0.formUnion($1) } }
  }

  private var objectTypes: Set<String> = []

  /// The types of fields, by the name of the type that has them; lists count as their elements. It says which selection
  /// sets need the default key, and may know a part of the schema only.
  public var fieldTypes: [String: [String: String]] = [:]

  /// The fields whose lists come in pages, by their coordinates, such as `Query.issues`: the pages of a field are kept as
  /// one list. The type is an object type.
  public var paging: [String: FieldPaging] = [:]

  /// Whether the default key is added to selections on types of which `fieldTypes` says nothing. Only for a server all
  /// of whose types have it.
  public var addsKeyToUnknownTypes = false

  /// Takes what is known of a schema, as generated code has it; nothing by default.
  public init(
    roots: Roots = Roots(), keyFields: [String: [String]] = [:], possibleTypes: [String: Set<String>] = [:],
    fieldTypes: [String: [String: String]] = [:], paging: [String: FieldPaging] = [:]
  ) {
    (self.roots, self.keyFields, self.fieldTypes, self.paging) = (roots, keyFields, fieldTypes, paging)
    self.possibleTypes = possibleTypes
    objectTypes = possibleTypes.values.reduce(into: []) { $0.formUnion($1) }
  }

  /// Takes what a schema in GraphQL's language says of the types of fields, and of interfaces and unions; and what
  /// `@typePolicy` says of keys and connections, as Apollo's caches have it, also in extensions that follow the schema:
  ///
  ///     extend type Country @typePolicy(keyFields: "code", connectionFields: "cities")
  ///
  /// - Throws: Where and why the text is not GraphQL.
  public init(_ text: String) throws(GraphQLSyntaxError) {
    var possible: [String: Set<String>] = [:]
    var unions: Set<String> = []
    for definition in try DocumentSyntax(parsing: text).definitions {
      switch definition {
      case .schema(let schema): for root in schema.operationTypes { setRoot(root) }
      case .type(let type):
        let name = type.name.text
        for policy in type.directives where policy.name == "typePolicy" { take(policy, of: name) }
        for field in type.fields { fieldTypes[name, default: [:]][field.name.text] = field.type.name.text }
        switch type.kind {
        case .interface: possible[name, default: []].formUnion([])
        case .union:
          unions.insert(name)
          possible[name, default: []].formUnion(type.members.map(\.name.text))
        case .object: for interface in type.interfaces { possible[interface.name.text, default: []].insert(name) }
        default: break
        }
      case .operation, .fragment, .directive: break
      }
    }
    // What is said of an interface or a union is said of its types; of two that say something, the first by name counts.
    for (name, types) in possible.sorted(by: { $0.key < $1.key }) {
      let connections = paging.keys.filter { $0.hasPrefix(name + ".") }.map { $0.dropFirst(name.count) }
      for type in types {
        if keyFields[type] == nil { keyFields[type] = keyFields[name] }
        for field in connections { paging[type + field] = .connection }
      }
    }
    // A union has no fields itself that could be selected.
    for name in unions { keyFields[name] = nil }
    possibleTypes = possible
    objectTypes = possible.values.reduce(into: []) { $0.formUnion($1) }
  }

  private mutating func take(_ policy: DirectiveSyntax, of type: String) {
    for argument in policy.arguments {
      guard case .string(let text) = argument.value.kind else { continue }
      let fields = text.value.split(separator: " ").map(String.init)
      switch argument.name.text {
      case "keyFields" where !fields.isEmpty: keyFields[type] = fields
      case "connectionFields": for field in fields { paging["\(type).\(field)"] = .connection }
      default: break
      }
    }
  }

  private mutating func setRoot(_ root: OperationTypeDefinitionSyntax) {
    switch root.operation {
    case .query: roots.query = root.type.name.text
    case .mutation: roots.mutation = root.type.name.text
    case .subscription: roots.subscription = root.type.name.text
    }
  }

  /// Makes a connection of each field of an object type whose own type's name ends in `Connection` (Relay Cursor
  /// Connections, section 2.1), as far as ``fieldTypes`` knows them.
  public mutating func pageConnections() {
    for (type, fields) in fieldTypes where possibleTypes[type] == nil {
      for (field, name) in fields where name.hasSuffix("Connection") { paging["\(type).\(field)"] = .connection }
    }
  }

  /// The key of a type; empty for one that is embedded.
  func key(of type: String) -> [String] { keyFields[type] ?? defaultKey }

  /// What records depend on, however the schema grows: the names of the roots, and the keys of types.
  var keyDescription: String {
    let keys = keyFields.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value.joined(separator: "+"))" }
    return ([roots.query, roots.mutation, roots.subscription, defaultKey.joined(separator: "+")] + keys)
      .joined(separator: " ")
  }

  /// The key fields that may be selected on a type, whose name may not be known.
  func selectableKey(of type: String?) -> [String] {
    guard let type else { return addsKeyToUnknownTypes ? defaultKey : [] }
    if roots.contains(type) { return [] }
    if let key = keyFields[type] { return key }
    guard let fields = fieldTypes[type] else { return addsKeyToUnknownTypes ? defaultKey : [] }
    return defaultKey.allSatisfy { fields[$0] != nil } ? defaultKey : []
  }

  /// Whether a fragment on a type applies to objects of another; `nil` if that is not known.
  func matches(_ type: String, condition: String) -> Bool? {
    if type == condition { return true }
    if let types = possibleTypes[condition] { return types.contains(type) }
    // A type with possible types is abstract, and one that is possible is an object type: it matches nothing but
    // itself.
    return objectTypes.contains(condition) ? false : nil
  }
}

/// How the pages of a field are put together.
public enum FieldPaging: Hashable, Sendable {
  /// A connection (Relay Cursor Connections): `edges` or `nodes`, and `pageInfo`, by `first`, `after`, `last` and
  /// `before`. The connection itself is a part of the object that it is in, without a key.
  case connection

  /// A list by the number of elements before it, and the greatest number of its own, which arguments of these names
  /// say.
  case offset(String = "offset", limit: String = "limit")

  /// The arguments that only say which page is meant: they are no part of the field's key.
  var arguments: Set<String> {
    switch self {
    case .connection: ["first", "after", "last", "before"]
    case .offset(let offset, let limit): [offset, limit]
    }
  }
}
