public import GraphQLLanguage
public import JSON

/// Coerces values that come as JSON, as those of variables do (section 3, "Input Coercion", and 6.1.2).
struct ValueCoercion {
  let schema: Schema
  /// What is wrong, each with the part of the value that it concerns: `.filter.tags[0]`.
  private(set) var faults: [(path: String, message: String)] = []

  init(_ schema: Schema) {
    self.schema = schema
  }

  private var tables: SchemaTables { schema.tables }

  /// The value as the type has it: items of lists in lists, defaults of input fields filled in, ids as strings. `nil` if
  /// it does not fit.
  mutating func coerce(_ value: JSONValue, _ type: TypeRef, _ path: String = "") -> JSONValue? {
    if case .null = value {
      return type.isNonNull ? fault(path, "cannot be null, as its type is \(tables.text(type))") : .null
    }
    if type.isList {
      guard case .array(let elements) = value else {
        return coerce(value, type.item, path).map { .array([$0]) }
      }
      var coerced: [JSONValue] = []
      for (index, element) in elements.enumerated() {
        if let element = coerce(element, type.item, "\(path)[\(index)]") { coerced.append(element) }
      }
      return coerced.count == elements.count ? .array(coerced) : nil
    }
    let record = tables[type.named]
    switch record.kind {
    case .inputObject: return coerceObject(value, type.named, path)
    case .enum: return coerceEnum(value, type.named, path)
    default:
      return BuiltInScalar.input(value, as: record.name)
        ?? fault(path, "does not fit its type \(tables.name(type.named))")
    }
  }

  private mutating func coerceEnum(_ value: JSONValue, _ type: TypeID, _ path: String) -> JSONValue? {
    guard case .string(let name) = value else {
      return fault(path, "must be the name of a value of \(tables.name(type))")
    }
    if tables.value(tables.names.find(name), of: type) != nil { return value }
    let near = Suggestions.nearest(to: name, among: NamedType(schema, type).values.map(\.name))
    return fault(path, "is a value that \(tables.name(type)) does not have." + Suggestions.question(near))
  }

  private mutating func coerceObject(_ value: JSONValue, _ type: TypeID, _ path: String) -> JSONValue? {
    let name = tables.name(type)
    guard case .object(let members) = value else { return fault(path, "must be an object, as \(name) is one") }
    let count = faults.count
    var result: [String: JSONValue] = [:]
    for index in tables[type].inputFields {
      let field = tables.inputs[Int(index)]
      let fieldName = tables.names[field.name]
      if let member = members[fieldName] {
        result[fieldName] = coerce(member, field.type, "\(path).\(fieldName)")
      } else if field.hasDefault {
        result[fieldName] = LiteralCoercion(schema, variables: [:]).defaultValue(of: field)
      } else if field.type.isNonNull {
        _ = fault(path, "lacks \"\(fieldName)\" of type \(tables.text(field.type))")
      }
    }
    let known = members.filter { tables.inputField(tables.names.find($0.key), of: type) != nil }
    for member in members.keys.sorted() where known[member] == nil {
      let near = Suggestions.nearest(to: member, among: NamedType(schema, type).inputFields.map(\.name))
      _ = fault(path, "has \"\(member)\", which \(name) does not have." + Suggestions.question(near))
    }
    if tables[type].isOneOf, known.count != 1 || known.values.first == .null {
      _ = fault(path, "must have exactly one field, which is not null, as its type \(name) demands")
    }
    return faults.count == count ? .object(result) : nil
  }

  private mutating func fault(_ path: String, _ message: String) -> JSONValue? {
    faults.append((path, message))
    return nil
  }
}

extension Schema {
  /// The values of an operation's variables, with their defaults, as the types have them (section 6.1.2).
  ///
  /// - Parameters:
  ///   - variables: The values as they came, by names without the dollar sign. Those that the operation does not define
  ///     are ignored.
  ///   - operation: An operation that is valid for the schema.
  /// - Returns: The values of the variables that have one.
  /// - Throws: All that is wrong with them.
  public func coerce(
    variables: [String: JSONValue], for operation: OperationSyntax
  ) throws(CoercionErrors) -> [String: JSONValue] {
    var result: [String: JSONValue] = [:]
    var errors: [CoercionError] = []
    for definition in operation.variables {
      let name = definition.name.text
      guard let type = type(definition.type), tables.kind(type.named).isInput else {
        errors.append(
          CoercionError(
            message: "the variable \"$\(name)\" is of type \(definition.type.text), which is no type for input",
            locations: [definition.type.location]))
        continue
      }
      if let value = variables[name] {
        var coercion = ValueCoercion(self)
        result[name] = coercion.coerce(value, type)
        errors += coercion.faults.map {
          CoercionError(message: "the variable \"$\(name)\($0.path)\" \($0.message)", locations: [definition.location])
        }
      } else if let literal = definition.defaultValue {
        result[name] = LiteralCoercion(self, variables: [:]).coerce(literal.node, type)
      } else if type.isNonNull {
        errors.append(
          CoercionError(
            message: "the variable \"$\(name)\" of type \(tables.text(type)) is not given",
            locations: [definition.location]))
      }
    }
    guard errors.isEmpty else { throw CoercionErrors(errors: errors) }
    return result
  }

  /// The value of a literal without variables, as a type has it; `nil` if it does not fit.
  public func coerce(literal: ValueSyntax, to type: TypeReference) -> JSONValue? {
    LiteralCoercion(self, variables: [:]).coerce(literal.node, type.ref)
  }

  /// A value that came as JSON, as a type has it; `nil` if it does not fit.
  public func coerce(_ value: JSONValue, to type: TypeReference) -> JSONValue? {
    var coercion = ValueCoercion(self)
    return coercion.coerce(value, type.ref)
  }

  /// The type that is written; `nil` if the schema has no type of that name.
  public func typeReference(_ syntax: TypeSyntax) -> TypeReference? {
    type(syntax).map { TypeReference(self, $0) }
  }

  private func type(_ syntax: TypeSyntax, depth: Int = 0) -> TypeRef? {
    var type: TypeRef?
    if syntax.node.kind == .listType {
      guard depth < TypeRef.deepest, let item = syntax.node.children.first.flatMap({ TypeSyntax($0) }) else {
        return nil
      }
      type = self.type(item, depth: depth + 1)?.listed
    } else {
      type = tables.type(named: tables.names.find(syntax.name.text)).map { TypeRef($0) }
    }
    return syntax.isNonNull ? type?.nonNull : type
  }
}
