import GraphQLLanguage
import JSON

/// Coerces literals of a document, with the values of the variables in them.
struct LiteralCoercion {
  let schema: Schema
  /// The values of the variables that have one, coerced.
  let variables: [String: JSONValue]

  init(_ schema: Schema, variables: [String: JSONValue]) {
    self.schema = schema
    self.variables = variables
  }

  private var tables: SchemaTables { schema.tables }

  /// The value of a literal, as the type has it; `nil` if it does not fit, or is a variable without a value.
  func coerce(_ node: SyntaxNode, _ type: TypeRef) -> JSONValue? {
    if node.kind == .variable {
      // It was coerced for its own type, which fits here.
      guard let value = variable(node) else { return nil }
      return type.isNonNull && value == .null ? nil : value
    }
    if node.kind == .null { return type.isNonNull ? nil : .null }
    if type.isList { return coerceList(node, type.item) }
    let record = tables[type.named]
    switch record.kind {
    case .inputObject: return coerceObject(node, type.named)
    case .enum:
      guard case .enumValue(let name)? = ValueSyntax(node)?.kind,
        tables.value(tables.names.find(name.text), of: type.named) != nil
      else { return nil }
      return .string(name.text)
    default:
      guard BuiltInScalar.accepts(node, as: record.name) else { return nil }
      return BuiltInScalar.input(untyped(node), as: record.name)
    }
  }

  /// The default of an argument or input field.
  func defaultValue(of input: SchemaTables.InputRecord) -> JSONValue? {
    InputValueDefinitionSyntax(tables.node(input.source))?.defaultValue.flatMap { coerce($0.node, input.type) }
  }

  private func coerceList(_ node: SyntaxNode, _ item: TypeRef) -> JSONValue? {
    guard node.kind == .list else { return coerce(node, item).map { .array([$0]) } }
    var elements: [JSONValue] = []
    for element in node.children {
      // A variable without a value counts as null in a list.
      let isMissing = element.kind == .variable && variable(element) == nil
      guard let value = isMissing && !item.isNonNull ? .null : coerce(element, item) else { return nil }
      elements.append(value)
    }
    return .array(elements)
  }

  private func coerceObject(_ node: SyntaxNode, _ type: TypeID) -> JSONValue? {
    guard node.kind == .object else { return nil }
    var given: [String: SyntaxNode] = [:]
    for field in node.children.compactMap({ ObjectFieldSyntax($0) }) { given[field.name.text] = field.value.node }
    var result: [String: JSONValue] = [:]
    for index in tables[type].inputFields {
      let field = tables.inputs[Int(index)]
      let name = tables.names[field.name]
      if let value = given.removeValue(forKey: name), value.kind != .variable || variable(value) != nil {
        guard let coerced = coerce(value, field.type) else { return nil }
        result[name] = coerced
      } else if field.hasDefault {
        result[name] = defaultValue(of: field)
      } else if field.type.isNonNull {
        return nil
      }
    }
    guard given.isEmpty else { return nil }
    if tables[type].isOneOf, result.count != 1 || result.values.first == .null { return nil }
    return .object(result)
  }

  private func variable(_ node: SyntaxNode) -> JSONValue? {
    guard case .variable(let name)? = ValueSyntax(node)?.kind else { return nil }
    return variables[name.text]
  }

  /// The value of a literal whose type says nothing about it, such as that of a custom scalar.
  private func untyped(_ node: SyntaxNode) -> JSONValue {
    guard let value = ValueSyntax(node) else { return .null }
    switch value.kind {
    case .variable(let name): return variables[name.text] ?? .null
    case .int(let text), .float(let text): return JSONNumber(text).map { JSONValue($0) } ?? .null
    case .string(let text): return .string(text.value)
    case .boolean(let isTrue): return .bool(isTrue)
    case .null: return .null
    case .enumValue(let name): return .string(name.text)
    case .list(let elements): return .array(elements.map { untyped($0.node) })
    case .object(let fields):
      return .object(Dictionary(fields.map { ($0.name.text, untyped($0.value.node)) }) { $1 })
    }
  }
}
