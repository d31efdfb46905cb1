import GraphQLLanguage
import GraphQLSchema
import TestSupport

/// Random operations on a schema, all valid, and the fragments that they share.
///
/// They have aliases, fragments of both kinds on objects, interfaces and unions, fields that are selected twice, and
/// `@include` and `@skip` by the variables `a` and `b`.
struct RandomOperations {
  struct Operation {
    let name: String
    let text: String
    /// The names of its variables, in their order; all are Booleans.
    let variables: [String]
  }

  private(set) var operations: [Operation] = []

  private let schema: Schema
  private let composites: [NamedType]
  private var random: SplitMix
  private var fragments: [Fragment] = []
  private var aliases = 0

  private struct Fragment {
    let type: NamedType
    let text: String
    let depth: Int
    let uses: Uses
  }

  /// What a part of a document needs from the rest.
  private struct Uses {
    var variables: Set<String> = []
    var fragments: Set<Int> = []

    mutating func formUnion(_ other: Uses) {
      variables.formUnion(other.variables)
      fragments.formUnion(other.fragments)
    }
  }

  /// Makes as many operations as asked for; the same ones for the same seed.
  init(_ count: Int, on schema: Schema, seed: UInt64) {
    self.schema = schema
    random = SplitMix(seed: seed)
    let roots = [OperationSyntax.Kind.query, .mutation, .subscription].compactMap { schema.rootType(of: $0)?.name }
    composites = schema.types.filter { $0.kind.isComposite && !roots.contains($0.name) }
    while operations.count < count { add() }
  }

  /// The documents, one for all operations and one for all fragments.
  var documents: [String] {
    [operations.map(\.text), fragments.map(\.text)].map { $0.joined(separator: "\n") }
  }

  /// Adds an operation, unless it is one that no server takes: fields of one name that differ, for example.
  private mutating func add() {
    let before = fragments.count
    let kinds = [OperationSyntax.Kind.query, .query, .query, .mutation].filter { schema.rootType(of: $0) != nil }
    guard let kind = kinds.randomElement(using: &random), let root = schema.rootType(of: kind) else { return }
    var uses = Uses()
    let selections = selections(on: root, depth: Int.random(in: 2...4, using: &random), &uses)
    let variables = uses.variables.sorted()
    let name = "Random\(operations.count)"
    let declared = variables.isEmpty ? "" : "(\(variables.map { "$\($0): Boolean!" }.joined(separator: ", ")))"
    let text = "\(kind.rawValue) \(name)\(declared) \(selections)"
    let whole = ([text] + uses.fragments.sorted().map { fragments[$0].text }).joined(separator: "\n")
    if whole.utf8.count < 6000, let document = try? DocumentSyntax(parsing: whole), schema.validate(document).isEmpty,
      uses.fragments.isSuperset(of: before..<fragments.count)
    {
      operations.append(Operation(name: name, text: text, variables: variables))
    } else {
      fragments.removeSubrange(before...)
    }
  }

  private mutating func selections(on type: NamedType, depth: Int, _ uses: inout Uses) -> String {
    var parts: [String] = []
    for field in type.fields.shuffled(using: &random).prefix(Int.random(in: 1...4, using: &random)) {
      if let text = selection(of: field, depth: depth, &uses) { parts.append(text) }
    }
    if chance(0.15) { parts.append("__typename") }
    if depth > 0 {
      for _ in 0..<Int.random(in: type.fields.isEmpty ? 1...3 : 0...2, using: &random) {
        let text = spread(on: type, depth: depth - 1, &uses)
        parts.insert(text, at: Int.random(in: 0...parts.count, using: &random))
      }
    }
    return parts.isEmpty ? "{ __typename }" : "{ \(parts.joined(separator: " ")) }"
  }

  private mutating func selection(of field: Field, depth: Int, _ uses: inout Uses) -> String? {
    var arguments: [String] = []
    for argument in field.arguments where argument.isRequired || chance(0.2) {
      guard let value = literal(argument.type) else { return nil }
      arguments.append("\(argument.name): \(value)")
    }
    var text = field.name + (arguments.isEmpty ? "" : "(\(arguments.joined(separator: ", ")))")
    if chance(0.15) {
      aliases += 1
      text = "k\(aliases): \(text)"
    }
    text += condition(&uses)
    if field.type.named.kind.isLeaf { return text }
    return depth > 0 ? "\(text) \(selections(on: field.type.named, depth: depth - 1, &uses))" : nil
  }

  private mutating func spread(on type: NamedType, depth: Int, _ uses: inout Uses) -> String {
    let fitting = composites.filter { $0.overlaps(type) }
    let target = fitting.randomElement(using: &random) ?? type
    if chance(0.3), !fitting.isEmpty {
      let known = fragments.indices.filter { fragments[$0].depth <= depth && fragments[$0].type.overlaps(type) }
      let index = chance(0.6) ? known.randomElement(using: &random) : nil
      let fragment = index ?? addFragment(on: target, depth: depth)
      uses.formUnion(fragments[fragment].uses)
      return "...Part\(fragment)\(condition(&uses))"
    }
    let on = chance(0.15) || fitting.isEmpty ? "" : " on \(target.name)"
    return "...\(on)\(condition(&uses)) \(selections(on: on.isEmpty ? type : target, depth: depth, &uses))"
  }

  private mutating func addFragment(on type: NamedType, depth: Int) -> Int {
    var uses = Uses()
    let selections = selections(on: type, depth: depth, &uses)
    let index = fragments.count
    uses.fragments.insert(index)
    let text = "fragment Part\(index) on \(type.name) \(selections)"
    fragments.append(Fragment(type: type, text: text, depth: depth, uses: uses))
    return index
  }

  private mutating func condition(_ uses: inout Uses) -> String {
    guard chance(0.25) else { return "" }
    if chance(0.2) { return Bool.random(using: &random) ? " @include(if: true)" : " @skip(if: false)" }
    let variable = Bool.random(using: &random) ? "a" : "b"
    uses.variables.insert(variable)
    return " @\(Bool.random(using: &random) ? "include" : "skip")(if: $\(variable))"
  }

  /// A value of an input type; nil if a document cannot have one.
  private func literal(_ type: TypeReference) -> String? {
    if let item = type.item { return literal(item).map { "[\($0)]" } }
    let named = type.named
    switch named.name {
    case "Int": return "1"
    case "Float": return "1.5"
    case "Boolean": return "true"
    case "Upload": return nil
    case _ where named.kind == .enum: return named.values.first?.name
    case _ where named.kind == .inputObject:
      let fields = named.isOneOf ? Array(named.inputFields.prefix(1)) : named.inputFields.filter(\.isRequired)
      var members: [String] = []
      for field in fields {
        guard let value = literal(field.type) else { return nil }
        members.append("\(field.name): \(value)")
      }
      return "{\(members.joined(separator: ", "))}"
    default: return #""2026-11-23T11:25:42Z""#
    }
  }

  private mutating func chance(_ probability: Double) -> Bool {
    Double.random(in: 0..<1, using: &random) < probability
  }
}
