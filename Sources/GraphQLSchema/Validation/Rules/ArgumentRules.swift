import GraphQLLanguage

/// The rules about the arguments of a field or directive: `KnownArgumentNames`, `UniqueArgumentNames` and
/// `ProvidedRequiredArguments`.
extension ValidationContext {
  func reportUnknownArgument(_ argument: ArgumentSyntax, of owner: ArgumentOwner) {
    guard isChecked(.knownArgumentNames) else { return }
    let known = argumentRange(of: owner).map { tables.names[tables.inputs[Int($0)].name] }
    let hint = Suggestions.question(Suggestions.nearest(to: argument.name.text, among: known))
    report(
      .knownArgumentNames, "\(text(owner)) has no argument \"\(argument.name)\"." + hint, at: argument.location)
  }

  func checkUniqueArguments(_ arguments: SyntaxNode) {
    for places in names.repeated(arguments.children.lazy.compactMap { ArgumentSyntax($0)?.name }) {
      report(
        .uniqueArgumentNames, "the argument \"\(places[0])\" is given more than once", at: places.map(\.location))
    }
  }

  func checkRequiredArguments(of owner: ArgumentOwner, given arguments: SyntaxNode?, at node: SyntaxNode) {
    if case .field(let field) = owner, !schema.storage.tables.fields[field].hasRequiredArguments { return }
    for index in argumentRange(of: owner) where schema.storage.tables.inputs[Int(index)].isRequired {
      let input = schema.storage.tables.inputs[Int(index)]
      let isGiven = arguments?.children.contains { argument in
        ArgumentSyntax(argument).map { names.schemaID(of: $0.name) == input.name } ?? false
      }
      if isGiven != true {
        report(
          .providedRequiredArguments,
          "\(text(owner)) requires the argument \"\(tables.names[input.name])\" of type \(tables.text(input.type))",
          at: node.location)
      }
    }
  }

  private func argumentRange(of owner: ArgumentOwner) -> Range<Int32> {
    switch owner {
    case .field(let field): schema.storage.tables.fields[field].arguments
    case .directive(let directive): schema.storage.tables.directives[directive].arguments
    }
  }

  private func text(_ owner: ArgumentOwner) -> String {
    switch owner {
    case .field(let field): Field(schema, field).coordinate
    case .directive(let directive): "@" + DirectiveDefinition(schema, directive).name
    }
  }
}
