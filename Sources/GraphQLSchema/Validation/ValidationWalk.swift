import GraphQLLanguage

/// The walk through the operations and fragments, which knows the type of every place and calls the rules for it.
///
/// It does not recurse, so that it needs no more stack the deeper a document nests.
extension ValidationContext {
  /// Selections that are being walked.
  private struct Level {
    var rest: Slice<SyntaxList<SelectionSyntax>>
    /// The type that is selected on, if it is known.
    let type: TypeID?
    /// The field whose selections these are, on which directives stand that nobody knows.
    let field: Int?
    /// The entry among the selections that has these.
    let owner: Int

    init(_ set: SelectionSetSyntax, on type: TypeID?, field: Int?, owner: Int) {
      rest = set.selections[...]
      self.type = type
      self.field = field
      self.owner = owner
    }
  }

  func walk(_ index: Int) {
    let node = definitions[index].node
    let firstUse = variableUses.count
    let root = selections.count
    selections.append(Selection(kind: .definition, node: node.id, hasSelections: true))
    definitions[index].root = root
    spreads = definitions[index].spreads[...]
    if let operation = OperationSyntax(node) {
      definitions[index].type = schema.storage.tables.roots[operation.kind.index]
      checkOperation(operation)
      for variable in operation.variables { walk(variable) }
      walk(directives: operation.directives, at: operation.kind.location, field: nil, parentType: nil)
      walk(Level(operation.selectionSet, on: definitions[index].type, field: nil, owner: root))
    } else if let fragment = FragmentSyntax(node) {
      let type = checkTypeCondition(fragment.typeCondition, of: fragment.name)
      definitions[index].type = type
      walk(directives: fragment.directives, at: .fragmentDefinition, field: nil, parentType: nil)
      walk(Level(fragment.selectionSet, on: type, field: nil, owner: root))
    }
    definitions[index].variableUses = firstUse..<variableUses.count
  }

  private func walk(_ variable: VariableDefinitionSyntax) {
    let type = checkVariableType(variable)
    if let value = variable.defaultValue { checkValue(value.node, type) }
    walk(directives: variable.directives, at: .variableDefinition, field: nil, parentType: nil)
  }

  private func walk(_ outermost: Level) {
    var levels = [outermost]
    while let last = levels.indices.last {
      guard let selection = levels[last].rest.popFirst(), !isStopped else {
        selections[levels[last].owner].end = selections.count
        levels.removeLast()
        continue
      }
      steps += 1
      let (type, field) = (levels[last].type, levels[last].field)
      switch selection {
      case .field(let field): if let inner = walk(field, on: type) { levels.append(inner) }
      case .fragmentSpread(let spread): walk(spread, on: type, field: field)
      case .inlineFragment(let fragment): levels.append(walk(fragment, on: type, field: field))
      }
    }
  }

  /// Returns the field's selections, which are to be walked next.
  private func walk(_ syntax: FieldSyntax, on parentType: TypeID?) -> Level? {
    let name = names.number(syntax.name)
    let field = parentType.flatMap { schema.storage.tables.selectable(names.schemaID(name), on: $0) }
    if let parentType, field == nil { reportUnknownField(syntax, on: parentType) }
    let index = selections.count
    selections.append(
      Selection(
        kind: .field, node: syntax.node.id, name: name, responseName: syntax.alias.map { names.number($0) } ?? name,
        parentType: parentType, field: field, end: index + 1))
    let type = field.map { schema.storage.tables.fields[$0].type }
    var selectionSet: SelectionSetSyntax?
    var arguments: SyntaxNode?
    for part in syntax.node.children {
      switch part.kind {
      case .arguments:
        arguments = part
        selections[index].hasArguments = true
        walk(arguments: part, of: field.map { .field($0) })
      case .directives:
        walk(directives: syntax.directives, at: .field, field: field, parentType: parentType)
      default:
        selectionSet = SelectionSetSyntax(part)
      }
    }
    if let field { checkRequiredArguments(of: .field(field), given: arguments, at: syntax.node) }
    if let type { checkLeaf(syntax, type, selectionSet) }
    guard let selectionSet else { return nil }
    selections[index].hasSelections = true
    let subtype = type.flatMap { schema.storage.tables.kind($0.named).isComposite ? $0.named : nil }
    return Level(selectionSet, on: subtype, field: field, owner: index)
  }

  private func walk(_ spread: FragmentSpreadSyntax, on parentType: TypeID?, field: Int?) {
    let fragment = spreads.popFirst()?.fragment.map { fragmentDefinitions[$0] }
    selections.append(
      Selection(
        kind: .spread, node: spread.node.id, name: names.number(spread.name), fragment: fragment,
        parentType: parentType, end: selections.count + 1))
    checkSpread(spread, of: fragment, on: parentType)
    walk(directives: spread.directives, at: .fragmentSpread, field: field, parentType: parentType)
  }

  /// Returns the fragment's selections, which are to be walked next.
  private func walk(_ fragment: InlineFragmentSyntax, on parentType: TypeID?, field: Int?) -> Level {
    let index = selections.count
    selections.append(
      Selection(
        kind: .inlineFragment, node: fragment.node.id, parentType: parentType, end: index + 1, hasSelections: true))
    var type = parentType
    if let condition = fragment.typeCondition {
      type = checkTypeCondition(condition, of: nil)
      if let type, let parentType { checkInlineFragment(fragment, type, on: parentType) }
    }
    walk(directives: fragment.directives, at: .inlineFragment, field: field, parentType: parentType)
    return Level(fragment.selectionSet, on: type, field: field, owner: index)
  }
}

// MARK: - Arguments, directives and values

extension ValidationContext {
  /// What has arguments.
  enum ArgumentOwner {
    case field(Int)
    case directive(Int)
  }

  /// - Parameter isKnown: Whether the arguments are the owner's own.
  private func walk(arguments: SyntaxNode, of owner: ArgumentOwner?, isKnown: Bool = true) {
    checkUniqueArguments(arguments)
    for node in arguments.children {
      guard let argument = ArgumentSyntax(node) else { continue }
      let name = names.schemaID(of: argument.name)
      let input =
        switch owner {
        case .field(let field): schema.storage.tables.argument(name, ofField: field)
        case .directive(let directive): schema.storage.tables.argument(name, ofDirective: directive)
        case nil: nil as Int?
        }
      if isKnown, let owner, input == nil { reportUnknownArgument(argument, of: owner) }
      let value = argument.value.node
      let record = input.map { schema.storage.tables.inputs[$0] }
      if let record { checkValue(value, record.type) }
      walk(Place(value: value, type: record?.type, hasDefault: record?.hasDefault ?? false))
    }
  }

  /// - Parameters:
  ///   - field: The field on which or in whose selections they stand.
  ///   - parentType: The type that is selected on.
  func walk(
    directives: SyntaxList<DirectiveSyntax>, at location: DirectiveLocation, field: Int?, parentType: TypeID?
  ) {
    guard !directives.isEmpty else { return }
    checkRepeatedDirectives(directives)
    for directive in directives {
      let known = checkDirective(directive, at: location)
      checkDeferOrStream(directive, on: field, of: parentType)
      let arguments = directive.node.child(.arguments)
      if let arguments {
        // The values in a directive that nobody knows are checked as if they were the field's, as graphql-js does it, so
        // that both find the same errors in the same places.
        walk(arguments: arguments, of: known.map { .directive($0) } ?? field.map { .field($0) }, isKnown: known != nil)
      }
      if let known { checkRequiredArguments(of: .directive(known), given: arguments, at: directive.node) }
    }
  }

  /// A value in the place of a type.
  private struct Place {
    let value: SyntaxNode
    let type: TypeRef?
    var hasDefault = false
    /// The input object of which it is a field, if that takes exactly one field.
    var oneOf: TypeID?
  }

  /// Notes the variables in a value, with the types of their places.
  private func walk(_ place: Place) {
    var pending: [Place] = []
    walk(place, &pending)
    while let next = pending.popLast() { walk(next, &pending) }
  }

  private func walk(_ place: Place, _ pending: inout [Place]) {
    let (value, type) = (place.value, place.type)
    switch value.kind {
    case .variable:
      guard case .variable(let name)? = ValueSyntax(value)?.kind else { return }
      variableUses.append(
        VariableUse(
          name: names.number(name), node: value, type: type, hasDefault: place.hasDefault, oneOf: place.oneOf))
    case .list:
      let item = type.flatMap { $0.isList ? $0.item : nil }
      pending += value.children.map { Place(value: $0, type: item) }
    case .object:
      checkUniqueInputFields(value)
      let object = type.flatMap { schema.storage.tables.kind($0.named) == .inputObject ? $0.named : nil }
      for node in value.children {
        guard let syntax = ObjectFieldSyntax(node) else { continue }
        let input = object.flatMap { schema.storage.tables.inputField(names.schemaID(of: syntax.name), of: $0) }
        let record = input.map { schema.storage.tables.inputs[$0] }
        let isOneOf = object.map { schema.storage.tables[$0].isOneOf } ?? false
        pending.append(
          Place(
            value: syntax.value.node, type: record?.type, hasDefault: record?.hasDefault ?? false,
            oneOf: record != nil && isOneOf ? object : nil))
      }
    default: break
    }
  }
}

extension OperationSyntax.Kind {
  /// The place of directives on such an operation.
  var location: DirectiveLocation {
    switch self {
    case .query: .query
    case .mutation: .mutation
    case .subscription: .subscription
    }
  }
}
