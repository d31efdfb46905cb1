import GraphQLLanguage
import GraphQLSchema
import StrictJSON
import TestSupport

/// Random operations on a schema, most of them valid, with fragments, aliases, variables and conditions; and random data
/// for them, with errors and nulls in wrong places.
struct RandomOperation {
  private let schema: Schema
  private var generator: SplitMix
  private var fragments: [String] = []
  private var definitions: [String] = []
  private(set) var variables: [String: JSONValue] = [:]
  private var aliases = 0

  init(_ schema: Schema, seed: UInt64) {
    self.schema = schema
    generator = SplitMix(seed: seed)
  }

  /// A document with one operation; its variables are in `variables`.
  mutating func document() -> String {
    (fragments, definitions, variables, aliases) = ([], [], [:], 0)
    let isMutation = schema.rootType(of: .mutation) != nil && chance(0.15)
    guard let root = schema.rootType(of: isMutation ? .mutation : .query) else { return "" }
    let selections = selectionSet(root, depth: 4)
    let head = definitions.isEmpty ? "" : "(\(definitions.joined(separator: ", ")))"
    return ([(isMutation ? "mutation" : "query") + head + " " + selections] + fragments).joined(separator: "\n")
  }

  private mutating func chance(_ probability: Double) -> Bool {
    Double.random(in: 0..<1, using: &generator) < probability
  }

  private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

  private mutating func selectionSet(_ type: NamedType, depth: Int) -> String {
    var parts: [String] = []
    for _ in 0..<number(1...5) { parts.append(selection(type, depth: depth)) }
    if chance(0.2) { parts.append("__typename") }
    return "{ \(parts.joined(separator: " ")) }"
  }

  private mutating func selection(_ type: NamedType, depth: Int) -> String {
    let types = [type] + type.possibleTypes + type.possibleTypes.flatMap(\.interfaces)
    if depth > 0, chance(0.25) || type.fields.isEmpty, let on = types.randomElement(using: &generator) {
      let body = selectionSet(on, depth: depth - 1)
      if chance(0.5) { return "... on \(on.name)\(condition()) \(body)" }
      let name = "F\(fragments.count)_\(number(0...999))"
      fragments.append("fragment \(name) on \(on.name) \(body)")
      return "...\(name)\(condition())"
    }
    let usable = type.fields.filter { depth > 0 || $0.type.named.kind.isLeaf }
    guard let field = usable.randomElement(using: &generator) else { return "__typename" }
    let arguments = arguments(field)
    aliases += 1
    let alias = !arguments.isEmpty || chance(0.2) ? "a\(aliases): " : ""
    let body = field.type.named.kind.isComposite ? " " + selectionSet(field.type.named, depth: depth - 1) : ""
    return alias + field.name + arguments + condition() + body
  }

  private mutating func condition() -> String {
    guard chance(0.15) else { return "" }
    let value =
      chance(0.5) ? "\(Bool.random(using: &generator))" : variable("Boolean!", .bool(Bool.random(using: &generator)))
    return " @\(chance(0.5) ? "skip" : "include")(if: \(value))"
  }

  private mutating func arguments(_ field: Field) -> String {
    var parts: [String] = []
    for argument in field.arguments where argument.isRequired || chance(0.5) {
      parts.append("\(argument.name): \(literalOrVariable(argument.type))")
    }
    return parts.isEmpty ? "" : "(\(parts.joined(separator: ", ")))"
  }

  private mutating func variable(_ type: String, _ value: JSONValue?) -> String {
    let name = "v\(definitions.count)"
    definitions.append("$\(name): \(type)")
    variables[name] = value
    return "$" + name
  }

  private mutating func literalOrVariable(_ type: TypeReference) -> String {
    guard chance(0.3) else { return literal(type, depth: 3) }
    // Some values do not fit, and some are not given.
    let value = chance(0.1) ? "a text" : value(type, depth: 3)
    return variable(type.description, chance(0.1) ? nil : value)
  }

  private mutating func literal(_ type: TypeReference, depth: Int) -> String {
    if !type.isNonNull, chance(0.1) { return "null" }
    if let item = type.item {
      if chance(0.2) { return literal(item.nonNull, depth: depth) }
      var items: [String] = []
      for _ in 0..<number(0...3) { items.append(literal(item, depth: depth)) }
      return "[\(items.joined(separator: ", "))]"
    }
    let named = type.named
    switch named.kind {
    case .enum: return named.values.randomElement(using: &generator)?.name ?? "null"
    case .inputObject:
      var fields: [String] = []
      let chosen = named.isOneOf ? named.inputFields.shuffled(using: &generator).prefix(1) : named.inputFields[...]
      for field in chosen where named.isOneOf || field.isRequired || depth > 0 && chance(0.4) {
        let type = named.isOneOf ? field.type.nonNull : field.type
        fields.append("\(field.name): \(literal(type, depth: depth - 1))")
      }
      return "{ \(fields.joined(separator: ", ")) }"
    default:
      switch named.name {
      case "Int": return "\(number(-9...9))"
      case "Float": return chance(0.5) ? "\(number(-9...9))" : "\(number(-9...9)).5"
      case "Boolean": return "\(Bool.random(using: &generator))"
      case "ID": return chance(0.5) ? "\(number(0...9))" : "\"id\""
      default: return "\"text \(number(0...9))\""
      }
    }
  }

  private mutating func value(_ type: TypeReference, depth: Int) -> JSONValue {
    if !type.isNonNull, chance(0.1) { return .null }
    if let item = type.item {
      if chance(0.2) { return value(item.nonNull, depth: depth) }
      var items: [JSONValue] = []
      for _ in 0..<number(0...3) { items.append(value(item, depth: depth)) }
      return .array(items)
    }
    let named = type.named
    guard named.kind == .inputObject else { return leaf(named) }
    var fields: [String: JSONValue] = [:]
    let chosen = named.isOneOf ? named.inputFields.shuffled(using: &generator).prefix(1) : named.inputFields[...]
    for field in chosen where named.isOneOf || field.isRequired || depth > 0 && chance(0.4) {
      fields[field.name] = value(named.isOneOf ? field.type.nonNull : field.type, depth: depth - 1)
    }
    if chance(0.05) { fields["unknown"] = 1 }
    return .object(fields)
  }

  private mutating func leaf(_ type: NamedType) -> JSONValue {
    if type.kind == .enum { return type.values.randomElement(using: &generator).map { .string($0.name) } ?? .null }
    return switch type.name {
    case "Int": .integer(Int64(number(-9...9)))
    case "Float": chance(0.5) ? .integer(Int64(number(-9...9))) : .number(Double(number(-9...9)) + 0.5)
    case "Boolean": .bool(Bool.random(using: &generator))
    case "ID": chance(0.5) ? .integer(Int64(number(0...9))) : "id"
    default: .string("text \(number(0...9))")
    }
  }

  /// What the root resolves to.
  mutating func data() -> JSONValue {
    var members: [String: JSONValue] = [:]
    for kind in [OperationSyntax.Kind.query, .mutation] {
      for field in schema.rootType(of: kind)?.fields ?? [] { members[field.name] = data(field, depth: 4) }
    }
    return .object(members)
  }

  private mutating func data(_ field: Field, depth: Int) -> JSONValue {
    if chance(0.04) { return ["$error": "failed"] }
    if field.type.named.name == "String", !field.type.isList, !field.arguments.isEmpty, chance(0.7) {
      return ["$arguments": true]
    }
    return data(field.type, depth: depth)
  }

  private mutating func data(_ type: TypeReference, depth: Int) -> JSONValue {
    if chance(type.isNonNull ? 0.02 : 0.1) { return .null }
    // (graphql-core takes anything for an object, and finds no fields in it.)
    if chance(0.02) { return type.named.kind.isLeaf && chance(0.5) ? .array([["wrong"]]) : ["wrong": 1] }
    if let item = type.item {
      var items: [JSONValue] = []
      for _ in 0..<number(0...2) { items.append(data(item, depth: depth)) }
      return .array(items)
    }
    let named = type.named
    guard named.kind.isComposite else { return leaf(named) }
    guard depth > 0, let object = named.possibleTypes.randomElement(using: &generator) else { return .null }
    var members: [String: JSONValue] = [:]
    for field in object.fields { members[field.name] = data(field, depth: depth - 1) }
    if !chance(0.03) { members["__typename"] = .string(chance(0.03) ? "Nothing" : object.name) }
    return .object(members)
  }
}
