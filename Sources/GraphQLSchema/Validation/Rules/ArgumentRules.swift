import GraphQLLanguage

/// The rules about the arguments of a field or directive: `KnownArgumentNames`, `UniqueArgumentNames` and
/// `ProvidedRequiredArguments`.
extension ValidationContext {
  func reportUnknownArgument(_ argument: ArgumentSyntax, of owner: ArgumentOwner) {
    guard isChecked(.knownArgumentNames) else { return }
    report(
      .knownArgumentNames,
      "\(text(owner)) has no argument \"\(argument.name)\"."
        + question(
          argument.name.text, among: argumentRange(of: owner).map { tables.names[tables.inputs[Int($0)].name] }),
      at: argument.location)
  }

  func checkUniqueArguments(_ arguments: SyntaxNode) {
    for places in names.repeated(arguments.children.lazy.compactMap { ArgumentSyntax($0)?.name }) {
      report(
        .uniqueArgumentNames, "the argument \"\(places[0])\" is given more than once", at: places.map(\.location))
    }
  }

  func checkRequiredArguments(of owner: ArgumentOwner, given arguments: SyntaxNode?, at node: SyntaxNode) {
    if case .field(let field) = owner, !schema.storage.tables.fields[field].hasRequiredArguments { return }
    var given: Set<NameTable.ID>?
    for index in argumentRange(of: owner) where schema.storage.tables.inputs[Int(index)].isRequired {
      let input = schema.storage.tables.inputs[Int(index)]
      if given == nil {
        let arguments = arguments?.children.lazy.compactMap { ArgumentSyntax($0) }
        given = Set(arguments?.map { names.schemaID(of: $0.name) } ?? [])
      }
      if given?.contains(input.name) != true {
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
