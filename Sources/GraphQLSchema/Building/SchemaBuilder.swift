import GraphQLLanguage

/// Builds the tables of a schema from its documents: what is defined several times counts as first defined, and what
/// refers to nothing is left out, each with a problem.
struct SchemaBuilder {
  private(set) var tables = SchemaTables()
  let problems = SchemaProblems()

  private var documents: [DocumentSyntax] = []
  /// The document that is being read; 0 is the prelude.
  private var document = 0

  /// The fields or values of the type that is being defined.
  private var typeScope = Scope()
  /// Its members or interfaces, which may have the names of its fields.
  private var relatedScope = Scope()
  /// The arguments of the field or directive that is being defined.
  private var argumentScope = Scope()

  static func build(_ documents: [DocumentSyntax]) -> (tables: SchemaTables, problems: SchemaProblems) {
    var builder = SchemaBuilder()
    builder.documents = [prelude] + documents
    builder.tables.documents = builder.documents
    builder.declareTypes()
    builder.defineTypes()
    builder.defineDirectives()
    builder.defineRoots()
    builder.relateTypes()
    return (builder.tables, builder.problems)
  }

  private static let prelude: DocumentSyntax = {
    do {
      return try DocumentSyntax(parsing: Prelude.sdl)
    } catch {
      preconditionFailure("the prelude is not GraphQL: \(error)")
    }
  }()

}

// MARK: - Types

extension SchemaBuilder {
  /// Gives each type a number, so that types can refer to types that are defined later.
  private mutating func declareTypes() {
    var extensions: [(document: Int, type: TypeDefinitionSyntax)] = []
    for (number, syntax) in documents.enumerated() {
      document = number
      for case .type(let type) in syntax.definitions {
        if type.isExtension {
          extensions.append((number, type))
        } else {
          declare(type)
        }
      }
      if number == 0 { tables.preludeTypes = tables.types.count }
    }
    for (number, type) in extensions {
      document = number
      extend(type)
    }
  }

  private mutating func declare(_ type: TypeDefinitionSyntax) {
    let name = intern(type.name)
    if let other = tables.type(named: name) {
      let record = tables[other]
      // A schema may spell out what every schema has; it changes nothing.
      if other.rawValue < tables.preludeTypes {
        if record.kind == .scalar && type.kind == .scalar || tables.names.isReserved(name) { return }
        report("UniqueTypeNames", "the type \"\(type.name)\" is built in, and cannot be defined", at: type.node)
      } else {
        report(
          "UniqueTypeNames", "the type \"\(type.name)\" is defined more than once", at: node(record.source), type.node)
      }
      return
    }
    tables.add(
      SchemaTables.TypeRecord(name: name, kind: TypeKind(type.kind), source: source(type.node)))
  }

  private mutating func extend(_ type: TypeDefinitionSyntax) {
    guard let id = tables.type(named: intern(type.name)) else {
      report(
        "PossibleTypeExtensions",
        "the type \"\(type.name)\" is extended, but not defined." + typesLike(type.name), at: type.node)
      return
    }
    guard tables[id].kind == TypeKind(type.kind) else {
      report(
        "PossibleTypeExtensions",
        "\"\(type.name)\" is \(tables[id].kind.phrase), and cannot be extended as \(TypeKind(type.kind).phrase)",
        at: node(tables[id].source), type.node)
      return
    }
    tables.extensions[id, default: []].append(source(type.node))
  }

  private mutating func defineTypes() {
    for number in tables.types.indices {
      let id = TypeID(rawValue: UInt32(number))
      let record = tables.types[number]
      let sources = tables.extensions.isEmpty ? [record.source] : [record.source] + (tables.extensions[id] ?? [])
      typeScope.begin()
      relatedScope.begin()
      let (fields, inputs, values) = (tables.fields.count, tables.inputs.count, tables.values.count)
      var related: [TypeID] = []
      for source in sources {
        document = Int(source.document)
        let node = node(source)
        for part in node.children {
          switch part.kind {
          case .fieldDefinitions:
            for field in part.children { defineField(field, of: id) }
          case .inputValueDefinitions:
            for input in part.children {
              if let record = inputRecord(input, in: \.typeScope, "UniqueFieldDefinitionNames", "field", of: .type(id))
              {
                tables.addInputField(record, of: id)
              }
            }
          case .enumValueDefinitions:
            for value in part.children { defineValue(value, of: id) }
          case .interfaces, .unionMembers:
            related += part.children.compactMap { relate($0, to: id) }
          case .directives where record.kind == .inputObject:
            if part.children.contains(where: { isDirective($0, .oneOf) }) { tables.types[number].isOneOf = true }
          default: break
          }
        }
      }
      tables.types[number].fields = Int32(fields)..<Int32(tables.fields.count)
      if record.kind == .inputObject { tables.types[number].inputFields = Int32(inputs)..<Int32(tables.inputs.count) }
      tables.types[number].values = Int32(values)..<Int32(tables.values.count)
      let range = Int32(tables.relatedTypes.count)..<Int32(tables.relatedTypes.count + related.count)
      if record.kind == .union {
        tables.relatedTypes += related.sorted()
        tables.types[number].possibleTypes = range
      } else {
        tables.relatedTypes += related
        tables.types[number].interfaces = range
      }
    }
  }

  private mutating func defineField(_ node: SyntaxNode, of type: TypeID) {
    guard let syntax = FieldDefinitionSyntax(node) else { return }
    let name = intern(syntax.name)
    guard isNew(name, node, in: \.typeScope, "UniqueFieldDefinitionNames", "field", of: .type(type)) else { return }
    var reference: TypeRef?
    var isDeprecated = false
    let firstArgument = tables.inputs.count
    var hasRequiredArguments = false
    for part in node.children {
      switch part.kind {
      case .namedType, .listType:
        reference = resolve(part)
      case .inputValueDefinitions:
        argumentScope.begin()
        for argument in part.children {
          if let record = inputRecord(
            argument, in: \.argumentScope, "UniqueArgumentDefinitionNames", "argument", of: .field(type, name))
          {
            tables.inputs.append(record)
            hasRequiredArguments = hasRequiredArguments || record.isRequired
          }
        }
      case .directives:
        isDeprecated = part.children.contains { isDirective($0, .deprecated) }
      default: break
      }
    }
    guard let reference else { return }
    tables.add(
      SchemaTables.FieldRecord(
        name: name, owner: type, type: reference, source: source(node),
        arguments: Int32(firstArgument)..<Int32(tables.inputs.count), isDeprecated: isDeprecated,
        hasRequiredArguments: hasRequiredArguments))
  }

  private mutating func inputRecord(
    _ node: SyntaxNode, in scope: WritableKeyPath<SchemaBuilder, Scope>, _ rule: String, _ noun: String,
    of owner: Owner
  ) -> SchemaTables.InputRecord? {
    guard let syntax = InputValueDefinitionSyntax(node) else { return nil }
    let name = intern(syntax.name)
    guard isNew(name, node, in: scope, rule, noun, of: owner) else { return nil }
    var reference: TypeRef?
    var hasDefault = false
    var isDeprecated = false
    for part in node.children {
      switch part.kind {
      case .namedType, .listType:
        reference = resolve(part)
      case .directives:
        isDeprecated = part.children.contains { isDirective($0, .deprecated) }
      default:
        // A value before the type is the description.
        if reference != nil { hasDefault = true }
      }
    }
    guard let reference else { return nil }
    return SchemaTables.InputRecord(
      name: name, type: reference, source: source(node), hasDefault: hasDefault, isDeprecated: isDeprecated)
  }

  private mutating func defineValue(_ node: SyntaxNode, of type: TypeID) {
    guard let syntax = EnumValueDefinitionSyntax(node) else { return }
    let name = intern(syntax.name)
    guard isNew(name, node, in: \.typeScope, "UniqueEnumValueNames", "value", of: .type(type)) else { return }
    let isDeprecated =
      node.child(.directives)?.children.contains { isDirective($0, .deprecated) } ?? false
    tables.add(SchemaTables.ValueRecord(name: name, source: source(node), isDeprecated: isDeprecated), of: type)
  }

  /// An interface that a type implements, or a member of a union.
  private mutating func relate(_ node: SyntaxNode, to type: TypeID) -> TypeID? {
    guard let other = resolve(node)?.named else { return nil }
    let isUnion = tables.kind(type) == .union
    let wanted: TypeKind = isUnion ? .object : .interface
    guard tables.kind(other) == wanted else {
      let relation = isUnion ? "has \"\(tables.name(other))\" as a member" : "implements \"\(tables.name(other))\""
      report(
        isUnion ? "UnionMembers" : "ImplementedInterfaces",
        "\"\(tables.name(type))\" \(relation), which is \(tables.kind(other).phrase) and not \(wanted.phrase)", at: node
      )
      return nil
    }
    let name = tables[other].name
    let rule = isUnion ? "UnionMembers" : "ImplementedInterfaces"
    return isNew(name, node, in: \.relatedScope, rule, isUnion ? "member" : "interface", of: .type(type)) ? other : nil
  }
}

// MARK: - Directives and roots

extension SchemaBuilder {
  private mutating func defineDirectives() {
    for (number, syntax) in documents.enumerated() {
      document = number
      for case .directive(let directive) in syntax.definitions { define(directive) }
      if number == 0 { tables.preludeDirectives = tables.directives.count }
    }
  }

  private mutating func define(_ directive: DirectiveDefinitionSyntax) {
    let name = intern(directive.name)
    if let other = tables.directive(named: name) {
      // A schema may spell out the directives that every schema has.
      if other < tables.preludeDirectives { return }
      report(
        "UniqueDirectiveNames", "the directive \"@\(directive.name)\" is defined more than once",
        at: node(tables.directives[other].source), directive.node)
      return
    }
    argumentScope.begin()
    let first = tables.inputs.count
    for argument in directive.arguments {
      if let record = inputRecord(
        argument.node, in: \.argumentScope, "UniqueArgumentDefinitionNames", "argument", of: .directive(name))
      {
        tables.inputs.append(record)
      }
    }
    tables.add(
      SchemaTables.DirectiveRecord(
        name: name, source: source(directive.node), arguments: Int32(first)..<Int32(tables.inputs.count),
        locations: directive.locations, isRepeatable: directive.isRepeatable))
  }

  private mutating func defineRoots() {
    var definition: SyntaxNode?
    var places: [SyntaxNode?] = [nil, nil, nil]
    for (number, syntax) in documents.enumerated() {
      document = number
      for case .schema(let schema) in syntax.definitions {
        if !schema.isExtension {
          if let definition {
            report("LoneSchemaDefinition", "the schema is defined more than once", at: definition, schema.node)
            continue
          }
          definition = schema.node
        }
        tables.schemaSources.append(source(schema.node))
        for root in schema.operationTypes {
          let index = root.operation.index
          if let place = places[index] {
            report(
              "UniqueOperationTypes",
              "the type of the operation \"\(root.operation.rawValue)\" is defined more than once",
              at: place, root.node)
            continue
          }
          places[index] = root.node
          guard let type = resolve(root.type.node)?.named else { continue }
          setRoot(index, type, at: root.type.node)
        }
      }
    }
    // Section 3.3.1: without a definition, the roots are the types of these names.
    guard definition == nil else { return }
    for (index, name) in ["Query", "Mutation", "Subscription"].enumerated() where places[index] == nil {
      guard let type = tables.type(named: tables.names.find(name)) else { continue }
      document = Int(tables[type].source.document)
      setRoot(index, type, at: node(tables[type].source))
    }
  }

  private mutating func setRoot(_ index: Int, _ type: TypeID, at node: SyntaxNode) {
    if tables.kind(type) == .object {
      tables.roots[index] = type
    } else {
      report(
        "RootTypes", "\"\(tables.name(type))\" is \(tables.kind(type).phrase), and cannot be the root of an operation",
        at: node)
    }
  }

  /// Lists the objects of each interface, once the interfaces of each object are known.
  private mutating func relateTypes() {
    var objects: [[TypeID]] = Array(repeating: [], count: tables.types.count)
    for number in tables.types.indices where tables.types[number].kind == .object {
      let id = TypeID(rawValue: UInt32(number))
      for interface in tables.interfaces(of: id) { objects[Int(interface.rawValue)].append(id) }
    }
    for (number, possible) in objects.enumerated() where tables.types[number].kind == .interface {
      let start = Int32(tables.relatedTypes.count)
      tables.relatedTypes += possible
      tables.types[number].possibleTypes = start..<Int32(tables.relatedTypes.count)
    }
  }
}

// MARK: - Help

extension SchemaBuilder {
  private mutating func intern(_ name: NameSyntax) -> NameTable.ID { name.withBytes { tables.names.insert($0) } }

  private func isDirective(_ node: SyntaxNode, _ name: NameTable.ID) -> Bool {
    guard let directive = DirectiveSyntax(node) else { return false }
    return directive.name.withBytes { tables.names.find($0) } == name
  }

  private func source(_ node: SyntaxNode) -> SchemaTables.Source {
    SchemaTables.Source(document: Int32(document), node: node.id)
  }

  private func node(_ source: SchemaTables.Source) -> SyntaxNode {
    documents[Int(source.document)].node(source.node)
  }

  /// The type that is written in a node; a problem if there is none of that name.
  private mutating func resolve(_ node: SyntaxNode, depth: Int = 0) -> TypeRef? {
    guard let syntax = TypeSyntax(node) else { return nil }
    var reference: TypeRef?
    if node.kind == .listType {
      guard depth < TypeRef.deepest, let item = node.children.first else {
        report("KnownTypeNames", "lists are nested deeper than \(TypeRef.deepest) levels", at: node)
        return nil
      }
      reference = resolve(item, depth: depth + 1)?.listed
    } else if let type = tables.type(named: intern(syntax.name)) {
      reference = TypeRef(type)
    } else {
      report("KnownTypeNames", "the type \"\(syntax.name)\" is not defined." + typesLike(syntax.name), at: node)
    }
    return syntax.isNonNull ? reference?.nonNull : reference
  }

  /// Whether a name is not yet defined in a scope; if it is, the first definition counts.
  private mutating func isNew(
    _ name: NameTable.ID, _ node: SyntaxNode, in scope: WritableKeyPath<SchemaBuilder, Scope>, _ rule: String,
    _ noun: String, of owner: Owner
  ) -> Bool {
    guard let first = self[keyPath: scope].insert(name, node) else { return true }
    report(
      rule, "the \(noun) \"\(tables.names[name])\" of \"\(text(owner))\" is defined more than once; the first counts",
      .warning, at: first, node)
    return false
  }

  /// What has arguments, fields or values, for messages.
  private enum Owner {
    case type(TypeID)
    case field(TypeID, NameTable.ID)
    case directive(NameTable.ID)
  }

  private func text(_ owner: Owner) -> String {
    switch owner {
    case .type(let type): tables.name(type)
    case .field(let type, let name): tables.name(type) + "." + tables.names[name]
    case .directive(let name): "@" + tables.names[name]
    }
  }

  /// ` Did you mean …?` with the types whose names are most like one that is unknown.
  private func typesLike(_ name: NameSyntax) -> String {
    Suggestions.question(Suggestions.nearest(to: name.text, among: tables.types.lazy.map { tables.names[$0.name] }))
  }

  private func report(
    _ rule: String, _ message: @autoclosure () -> String, _ severity: SchemaProblem.Severity = .error,
    at nodes: SyntaxNode...
  ) {
    problems.add(severity, rule, document: document - 1, message) { nodes.map(\.definitionLocation) }
  }
}

/// The names that are defined in one place: whether one is defined twice there takes no search.
private struct Scope {
  private var last: [(scope: Int, node: SyntaxNode?)] = []
  private var number = 0

  mutating func begin() { number += 1 }

  /// Defines a name, or returns where it is already defined.
  mutating func insert(_ name: NameTable.ID, _ node: SyntaxNode) -> SyntaxNode? {
    let index = Int(name.rawValue)
    if index >= last.count {
      last += repeatElement((scope: 0, node: nil), count: max(index + 1 - last.count, last.count))
    }
    if last[index].scope == number { return last[index].node }
    last[index] = (number, node)
    return nil
  }
}

extension SyntaxNode {
  /// Where a definition's name is, after its description; for other nodes, where they begin.
  var definitionLocation: SourceLocation {
    let name =
      FieldDefinitionSyntax(self)?.name ?? InputValueDefinitionSyntax(self)?.name ?? EnumValueDefinitionSyntax(self)?
      .name
      ?? TypeDefinitionSyntax(self)?.name ?? DirectiveDefinitionSyntax(self)?.name
    return name?.location ?? location
  }
}

extension TypeKind {
  init(_ kind: TypeDefinitionSyntax.Kind) {
    self =
      switch kind {
      case .scalar: .scalar
      case .object: .object
      case .interface: .interface
      case .union: .union
      case .enum: .enum
      case .inputObject: .inputObject
      }
  }

  /// The kind with its article, for messages.
  var phrase: String {
    switch self {
    case .scalar: "a scalar"
    case .object: "an object type"
    case .interface: "an interface"
    case .union: "a union"
    case .enum: "an enum"
    case .inputObject: "an input object"
    }
  }
}

extension OperationSyntax.Kind {
  /// The place of the operation's root type among the roots.
  var index: Int {
    switch self {
    case .query: 0
    case .mutation: 1
    case .subscription: 2
    }
  }
}
