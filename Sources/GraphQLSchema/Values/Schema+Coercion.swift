public import GraphQLLanguage
public import StrictJSON

extension Schema {
  /// The values of an operation's variables, with their defaults, as the types have them (section 6.1.2).
  ///
  /// - Parameters:
  ///   - variables: The values as they came, by names without the dollar sign. Those that the operation does not define
  ///     are ignored.
  ///   - operation: An operation that is valid for the schema.
  /// - Returns: The values of the variables that have one.
  /// - Throws: What is wrong with them, up to 100 faults.
  public func coerce(
    variables: [String: JSONValue], for operation: OperationSyntax
  ) throws(CoercionErrors) -> [String: JSONValue] {
    var result: [String: JSONValue] = [:]
    var errors: [CoercionError] = []
    for definition in operation.variables where errors.count < InputCoercion.mostFaults {
      let name = definition.name.text
      func report(_ path: String, _ message: String, at location: SourceLocation) {
        guard errors.count < InputCoercion.mostFaults else { return }
        errors.append(CoercionError(message: "the variable \"$\(name)\(path)\" \(message)", locations: [location]))
      }
      guard let type = type(definition.type), tables.kind(type.named).isInput else {
        report(
          "", "is of type \(definition.type.text), which is no type for input", at: definition.type.location)
        continue
      }
      var coercion = InputCoercion(self)
      if let value = variables[name] {
        result[name] = coercion.coerce(.json(value), type)
      } else if let literal = definition.defaultValue {
        result[name] = coercion.coerce(.literal(literal.node), type)
      } else if type.isNonNull {
        report("", "of type \(tables.text(type)) is not given", at: definition.location)
      }
      for fault in coercion.faults { report(fault.path, fault.message, at: definition.location) }
    }
    guard errors.isEmpty else { throw CoercionErrors(errors: errors) }
    return result
  }

  /// The value of a literal without variables, as a type has it; `nil` if it does not fit.
  public func coerce(literal: ValueSyntax, to type: TypeReference) -> JSONValue? {
    var coercion = InputCoercion(self)
    return coercion.coerce(.literal(literal.node), type.ref)
  }

  /// A value that came as JSON, as a type has it; `nil` if it does not fit.
  public func coerce(_ value: JSONValue, to type: TypeReference) -> JSONValue? {
    var coercion = InputCoercion(self)
    return coercion.coerce(.json(value), type.ref)
  }

  /// The type that is written; `nil` if the schema has no type of that name.
  public func typeReference(_ syntax: TypeSyntax) -> TypeReference? {
    type(syntax).map { TypeReference(self, $0) }
  }

  private func type(_ syntax: TypeSyntax) -> TypeRef? {
    tables.type(syntax.node) { tables.names.find($0.text) }
  }
}

extension SchemaTables {
  /// The type that is written in a node; `nil` if there is no named type of that name, or if lists nest too deep.
  /// - Parameter id: Finds the number of a name.
  func type(_ node: SyntaxNode, _ id: (NameSyntax) -> NameTable.ID) -> TypeRef? {
    // The lists around the named type, the outermost first.
    var lists: [TypeSyntax] = []
    var next = TypeSyntax(node)
    while let list = next, case .list(let item) = list.kind {
      lists.append(list)
      next = item
      guard lists.count <= TypeRef.deepest else { return nil }
    }
    guard let named = next, let type = type(named: id(named.name)) else { return nil }
    var reference = named.isNonNull ? TypeRef(type).nonNull : TypeRef(type)
    for list in lists.reversed() {
      guard let listed = reference.listed else { return nil }
      reference = list.isNonNull ? listed.nonNull : listed
    }
    return reference
  }
}
