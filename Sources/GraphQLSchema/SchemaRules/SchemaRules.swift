import GraphQLLanguage

/// The rules for schemas (section 3 of the specification): those about one definition are here, those about types that
/// refer to each other in `InterfaceRules.swift` and `InputCycles.swift`.
///
/// What the builder reports already is not reported again: definitions of one name, and names of nothing.
struct SchemaRules {
  let schema: Schema
  let tables: SchemaTables
  private let problems: SchemaProblems
  /// For each interface, the last type whose interfaces were checked that implements it, and the last that does because
  /// another one of its interfaces does.
  var implementedBy: [TypeID?]
  var inheritedBy: [TypeID?]

  /// Adds the problems of a schema to those that its builder has found.
  static func check(_ schema: Schema, _ problems: SchemaProblems) {
    var rules = SchemaRules(schema, problems)
    rules.checkRoots()
    for number in rules.tables.types.indices.dropFirst(rules.tables.preludeTypes) {
      if problems.isFull { return }
      rules.checkType(TypeID(rawValue: UInt32(number)))
    }
    for directive in rules.tables.directives.dropFirst(rules.tables.preludeDirectives) {
      rules.checkDirective(directive)
    }
    rules.checkInputCycles()
    rules.checkUses()
  }

  private init(_ schema: Schema, _ problems: SchemaProblems) {
    self.schema = schema
    self.problems = problems
    tables = schema.tables
    implementedBy = Array(repeating: nil, count: tables.types.count)
    inheritedBy = implementedBy
  }

  /// Whether there are so many errors that nothing else is looked for.
  var isStopped: Bool { problems.isFull }

  func report(
    _ rule: String, _ message: @autoclosure () -> String, _ severity: SchemaProblem.Severity = .error,
    at sources: SchemaTables.Source...
  ) {
    problems.add(severity, rule, document: sources.first.map { Int($0.document) - 1 } ?? 0, message) {
      sources.map { tables.node($0).definitionLocation }
    }
  }

  private func checkRoots() {
    guard let query = tables.roots[0] else {
      // A document that only extends or shares types is not meant as a whole schema, but cannot be queried.
      report("RootTypes", "there is no type for queries: define \"Query\", or name it in \"schema { query: … }\"")
      return
    }
    let others = tables.roots.dropFirst().compactMap { $0 }
    if others.contains(query) || others.count == 2 && others[0] == others[1] {
      report("RootTypes", "queries, mutations and subscriptions cannot have the same type", at: tables[query].source)
    }
  }

  private mutating func checkType(_ id: TypeID) {
    let type = tables[id]
    let name = tables.names[type.name]
    checkName(type.name, "the type", type.source)
    switch type.kind {
    case .scalar: break
    case .object, .interface:
      if type.fields.isEmpty { report("EmptyTypes", "\"\(name)\" has no fields", at: type.source) }
      for index in type.fields where !isStopped { checkField(Int(index)) }
      if !type.interfaces.isEmpty { checkInterfaces(id) }
    case .union:
      if type.possibleTypes.isEmpty { report("EmptyTypes", "the union \"\(name)\" has no members", at: type.source) }
    case .enum:
      if type.values.isEmpty { report("EmptyTypes", "the enum \"\(name)\" has no values", at: type.source) }
      for index in type.values {
        checkName(tables.values[Int(index)].name, "the value", tables.values[Int(index)].source)
      }
    case .inputObject:
      if type.inputFields.isEmpty { report("EmptyTypes", "\"\(name)\" has no fields", at: type.source) }
      for index in type.inputFields { checkInputField(tables.inputs[Int(index)], of: type) }
    }
  }

  private func checkField(_ index: Int) {
    let field = tables.fields[index]
    checkName(field.name, "the field", field.source)
    if !tables.kind(field.type.named).isOutput {
      report(
        "OutputTypes",
        "the field \"\(coordinate(field))\" cannot be of type \(tables.text(field.type)), which is "
          + tables.kind(field.type.named).phrase, at: field.source)
    }
    for index in field.arguments where isFaulty(tables.inputs[Int(index)]) {
      let argument = tables.inputs[Int(index)]
      checkInput(argument, "the argument \"\(tables.names[argument.name])\" of \"\(coordinate(field))\"")
    }
  }

  func coordinate(_ field: SchemaTables.FieldRecord) -> String {
    tables.name(field.owner) + "." + tables.names[field.name]
  }

  private func checkInputField(_ field: SchemaTables.InputRecord, of type: SchemaTables.TypeRecord) {
    guard type.isOneOf || isFaulty(field) else { return }
    let phrase = "the field \"\(tables.names[type.name]).\(tables.names[field.name])\""
    checkInput(field, phrase)
    guard type.isOneOf else { return }
    if field.type.isNonNull {
      report("OneOfFields", "\(phrase) cannot be non-null, as one of its type's fields is given", at: field.source)
    }
    if field.hasDefault {
      report("OneOfFields", "\(phrase) cannot have a default, as one of its type's fields is given", at: field.source)
    }
  }

  private func isFaulty(_ input: SchemaTables.InputRecord) -> Bool {
    tables.names.isReserved(input.name) || !tables.kind(input.type.named).isInput
      || input.isDeprecated && input.isRequired
  }

  private func checkInput(_ input: SchemaTables.InputRecord, _ phrase: String) {
    checkName(input.name, "the name", input.source)
    if !tables.kind(input.type.named).isInput {
      report(
        "InputTypes",
        "\(phrase) cannot be of type \(tables.text(input.type)), which is "
          + tables.kind(input.type.named).phrase, at: input.source)
    }
    if input.isDeprecated, input.isRequired {
      report("DeprecatedInputs", "\(phrase) is deprecated, but required", .warning, at: input.source)
    }
  }

  private func checkDirective(_ directive: SchemaTables.DirectiveRecord) {
    checkName(directive.name, "the directive", directive.source)
    for index in directive.arguments where isFaulty(tables.inputs[Int(index)]) {
      let argument = tables.inputs[Int(index)]
      checkInput(
        argument, "the argument \"\(tables.names[argument.name])\" of \"@\(tables.names[directive.name])\"")
    }
  }

  private func checkName(_ name: NameTable.ID, _ noun: String, _ source: SchemaTables.Source) {
    guard tables.names.isReserved(name) else { return }
    report(
      "ReservedNames", "\(noun) \"\(tables.names[name])\" begins with two underscores, as only introspection may",
      .warning, at: source)
  }
}

// MARK: - Directives and defaults

extension SchemaRules {
  /// Checks the directives on definitions, and default values, by the rules for documents that apply to them.
  private func checkUses() {
    check(
      [
        .uniqueDirectivesPerLocation, .knownArgumentNames, .uniqueArgumentNames, .valuesOfCorrectType,
        .uniqueInputFieldNames, .providedRequiredArguments,
      ], .error, limit: SchemaProblems.mostErrors)
    // A directive that is not defined means nothing to the schema, and takes nothing from it.
    check([.knownDirectives], .warning, limit: SchemaProblems.mostWarnings)
  }

  private func check(_ rules: Set<ValidationRule>, _ severity: SchemaProblem.Severity, limit: Int) {
    for (number, document) in tables.documents.enumerated().dropFirst() where !isStopped {
      let context = ValidationContext(schema, document, rules: rules, limit: limit)
      for definition in document.definitions where !definition.isExecutable && !context.isStopped {
        context.checkUses(in: definition)
      }
      for error in context.sortedErrors {
        problems.add(severity, error.rule?.rawValue ?? "Limit", document: number - 1) {
          error.message
        } at: {
          error.locations
        }
      }
    }
  }
}

extension ValidationContext {
  fileprivate func checkUses(in definition: DefinitionSyntax) {
    switch definition {
    case .operation, .fragment: break
    case .schema(let schema): check(schema.directives, at: .schema)
    case .directive(let directive): check(directive.arguments, at: .argumentDefinition)
    case .type(let type):
      let location = TypeKind(type.kind).directiveLocation
      for part in type.node.children {
        switch part.kind {
        case .directives: check(type.directives, at: location)
        case .fieldDefinitions:
          for field in type.fields {
            for part in field.node.children {
              switch part.kind {
              case .directives: check(field.directives, at: .fieldDefinition)
              case .inputValueDefinitions: check(field.arguments, at: .argumentDefinition)
              default: break
              }
            }
          }
        case .inputValueDefinitions: check(type.inputFields, at: .inputFieldDefinition)
        case .enumValueDefinitions:
          for value in type.values { check(value.directives, at: .enumValue) }
        default: break
        }
      }
    }
  }

  private func check(_ directives: SyntaxList<DirectiveSyntax>, at location: DirectiveLocation) {
    walk(directives: directives, at: location, field: nil, parentType: nil)
  }

  private func check(_ inputs: SyntaxList<InputValueDefinitionSyntax>, at location: DirectiveLocation) {
    for input in inputs {
      check(input.directives, at: location)
      if let value = input.defaultValue { checkValue(value.node, type(input.type.node)) }
    }
  }
}

extension TypeKind {
  /// The place of directives on such a type.
  var directiveLocation: DirectiveLocation {
    switch self {
    case .scalar: .scalar
    case .object: .object
    case .interface: .interface
    case .union: .union
    case .enum: .enum
    case .inputObject: .inputObject
    }
  }
}
