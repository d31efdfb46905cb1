import GraphQLLanguage
import GraphQLSchema

/// What a normalised cache has to know of the schema: of `RecordSchema`, in the module Stores, the part that the operations
/// use. It says what a `RecordSchema` that reads the schema's text, and makes pages of its connections, says of them.
///
/// Keys are those of all types, since a store on disk begins empty where they are others than before: an operation more must
/// not change them.
struct RecordSchemaModel {
  /// The types that operations begin with, if they have not the usual names; by the usual names in small letters.
  private(set) var roots: [(name: String, type: String)] = []
  /// The key fields of the types that have a policy.
  private(set) var keyFields: [String: [String]] = [:]
  /// The objects of the abstract types on which something is selected.
  private(set) var possibleTypes: [String: [String]] = [:]
  /// The types of the fields that are selected, and select something themselves; and `id`, where that is the key.
  private(set) var fieldTypes: [String: [String: String]] = [:]
  /// The coordinates of the fields that are selected, and have pages.
  private(set) var connections: Set<String> = []

  /// The fields that policies make connections, by type.
  private var connectionFields: [String: Set<String>] = [:]
  /// The types that operations begin with, by their own names: there is one object of each, without a key.
  private var rootTypes: Set<String> = []
  private static let defaultKey = "id"

  /// Takes what the documents use of the schema. A policy that names fields that there are not is a problem.
  init(_ source: SchemaSource, _ documents: DocumentSet, _ problems: inout [GenerationProblem]) {
    let schema = source.schema
    let types = schema.types.filter(\.kind.isComposite).sorted { $0.name < $1.name }
    for type in types {
      for policy in type.directives where source.directives.name(of: policy) == "typePolicy" {
        take(policy, of: type, &problems)
      }
    }
    for type in types where type.kind.isAbstract { inherit(from: type) }
    // A union has no fields itself that could be selected.
    for type in types where type.kind == .union { keyFields[type.name] = nil }
    let operations = documents.syntax.operations
    for kind in [OperationSyntax.Kind.query, .mutation, .subscription] {
      guard let type = schema.rootType(of: kind) else { continue }
      let usual = kind.rawValue.prefix(1).uppercased() + kind.rawValue.dropFirst()
      if type.name != usual { roots.append((kind.rawValue, type.name)) }
      rootTypes.insert(type.name)
    }
    for operation in operations {
      if let type = schema.rootType(of: operation.kind) { take(operation.selectionSet, on: type) }
    }
    for number in Set(operations.flatMap { documents.fragments.reached(from: $0.node) }) {
      let fragment = documents.fragments.all[number].syntax
      guard let type = schema.type(named: fragment.typeCondition.name.text) else { continue }
      take(fragment.selectionSet, on: type)
    }
  }

  // MARK: - Policies

  private mutating func take(_ policy: DirectiveSyntax, of type: NamedType, _ problems: inout [GenerationProblem]) {
    func fields(_ argument: String) -> [String] {
      let names = policy.string(argument)?.split(separator: " ").map(String.init) ?? []
      let owners = type.kind == .union ? type.possibleTypes : [type]
      for name in names {
        guard let owner = owners.first(where: { $0.field(named: name) == nil }) else { continue }
        let near = Suggestions.question(Suggestions.nearest(to: name, among: owner.fields.map(\.name)))
        problems.append(
          GenerationProblem(
            "\"\(owner.name)\" has no field \"\(name)\", which @\(policy.name) of \"\(type.name)\" names in \(argument).\(near)",
            in: "schema"))
      }
      return names
    }
    let key = fields("keyFields")
    if !key.isEmpty { keyFields[type.name] = key }
    connectionFields[type.name, default: []].formUnion(fields("connectionFields"))
  }

  /// What is said of an interface or a union is said of its types.
  private mutating func inherit(from type: NamedType) {
    for object in type.possibleTypes {
      if keyFields[object.name] == nil { keyFields[object.name] = keyFields[type.name] }
      connectionFields[object.name, default: []].formUnion(connectionFields[type.name] ?? [])
    }
  }

  // MARK: - Selections

  private mutating func take(_ set: SelectionSetSyntax, on type: NamedType) {
    use(type)
    for selection in set.selections {
      switch selection {
      case .field(let field):
        guard let inner = field.selectionSet, let declared = type.field(named: field.name.text) else { continue }
        // An object is asked for its field by its own type, or, if that is not known yet, by the one of the selection.
        for owner in [type] + type.possibleTypes { use(field.name.text, of: owner) }
        take(inner, on: declared.type.named)
      case .inlineFragment(let fragment):
        let condition = fragment.typeCondition.flatMap { type.schema.type(named: $0.name.text) }
        take(fragment.selectionSet, on: condition ?? type)
      case .fragmentSpread: break
      }
    }
  }

  private mutating func use(_ type: NamedType) {
    if type.kind.isAbstract { possibleTypes[type.name] = type.possibleTypes.map(\.name).sorted() }
    if keyFields[type.name] == nil, !rootTypes.contains(type.name), let key = type.field(named: Self.defaultKey) {
      fieldTypes[type.name, default: [:]][Self.defaultKey] = key.type.named.name
    }
  }

  private mutating func use(_ field: String, of type: NamedType) {
    guard let named = type.field(named: field)?.type.named else { return }
    fieldTypes[type.name, default: [:]][field] = named.name
    let isConnection = named.name.hasSuffix("Connection") || connectionFields[type.name]?.contains(field) == true
    if type.kind == .object, isConnection { connections.insert("\(type.name).\(field)") }
  }
}
