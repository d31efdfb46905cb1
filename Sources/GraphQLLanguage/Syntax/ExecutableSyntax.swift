/// A document: operations and fragments, or the definitions of a type system (GraphQL specification, section 2.2).
///
///     let document = try DocumentSyntax(parsing: "query user($id: ID!) { user(id: $id) { name } }")
///     for case .field(let field) in document.operations[0].selectionSet.selections {
///       print(field.location, field.name)
///     }
///
/// The nodes of a document are kept in one array, and what is read of it are views, which cost no more than two words.
/// Any view keeps the whole document in memory.
public struct DocumentSyntax: SyntaxView {
  /// The node that is seen.
  public let node: SyntaxNode

  /// The view of a document; `nil` for another node.
  public init?(_ node: SyntaxNode) {
    guard node.kind == .document else { return nil }
    self.node = node
  }

  /// Parses a document, of executable or type system definitions, or both.
  /// - Parameters:
  ///   - text: The document.
  ///   - limits: How many tokens it may have, and how deep it may be nested.
  /// - Throws: The place where the text is no document, what was expected there, and what was found.
  public init(parsing text: String, limits: SyntaxLimits = .standard) throws(GraphQLSyntaxError) {
    node = SyntaxNode(
      try Parser.parse(text.utf8, limits: limits) { parser throws(GraphQLSyntaxError) in try parser.document() }, 0)
  }

  /// Parses a document, which must be UTF-8; see `init(parsing:limits:)` for a string.
  public init(parsing bytes: [UInt8], limits: SyntaxLimits = .standard) throws(GraphQLSyntaxError) {
    try checkUTF8(bytes)
    node = SyntaxNode(
      try Parser.parse(bytes, limits: limits) { parser throws(GraphQLSyntaxError) in try parser.document() }, 0)
  }

  /// Its definitions, in order.
  public var definitions: SyntaxList<DefinitionSyntax> { SyntaxList(node.tree, 1, node.raw.next) }

  /// Its operations, in order.
  public var operations: [OperationSyntax] { definitions.compactMap { OperationSyntax($0.node) } }

  /// Its fragments, in order.
  public var fragments: [FragmentSyntax] { definitions.compactMap { FragmentSyntax($0.node) } }

  /// How many nodes it has, itself among them; their numbers begin with 0.
  public var nodeCount: Int { node.tree.nodes.count }

  /// The node of a number, which must be less than `nodeCount`.
  @inlinable public func node(_ id: UInt32) -> SyntaxNode { SyntaxNode(node.tree, id) }

  /// The whole text.
  public var source: String { node.tree.text(0..<node.tree.source.count - 1) }
}

/// Throws the place of the first byte that is not UTF-8.
func checkUTF8(_ bytes: [UInt8]) throws(GraphQLSyntaxError) {
  var decoder = UTF8()
  guard String(validating: bytes, as: UTF8.self) == nil else { return }
  var iterator = bytes.makeIterator()
  var offset = 0
  while case .scalarValue(let scalar) = decoder.decode(&iterator) { offset += UTF8.width(scalar) }
  let table = LineTable(bytes, count: bytes.count)
  throw GraphQLSyntaxError("the text is not UTF-8", at: table.location(of: offset, in: bytes))
}

/// A definition of a document.
public enum DefinitionSyntax: SyntaxView {
  /// A query, a mutation or a subscription.
  case operation(OperationSyntax)
  /// A fragment.
  case fragment(FragmentSyntax)
  /// The schema's root operations, or an extension of them.
  case schema(SchemaDefinitionSyntax)
  /// A type, or an extension of one.
  case type(TypeDefinitionSyntax)
  /// A directive.
  case directive(DirectiveDefinitionSyntax)

  /// The view of a definition; `nil` for another node.
  public init?(_ node: SyntaxNode) {
    if let operation = OperationSyntax(node) {
      self = .operation(operation)
    } else if let fragment = FragmentSyntax(node) {
      self = .fragment(fragment)
    } else if let type = TypeDefinitionSyntax(node) {
      self = .type(type)
    } else if let directive = DirectiveDefinitionSyntax(node) {
      self = .directive(directive)
    } else if let schema = SchemaDefinitionSyntax(node) {
      self = .schema(schema)
    } else {
      return nil
    }
  }

  /// The node that is seen.
  public var node: SyntaxNode {
    switch self {
    case .operation(let operation): operation.node
    case .fragment(let fragment): fragment.node
    case .schema(let schema): schema.node
    case .type(let type): type.node
    case .directive(let directive): directive.node
    }
  }

  /// Whether it is an operation or a fragment, which a server executes; else it is of a type system.
  public var isExecutable: Bool {
    switch self {
    case .operation, .fragment: true
    default: false
    }
  }
}

/// An operation: a query, a mutation or a subscription (section 2.3).
public struct OperationSyntax: SyntaxView {
  /// What an operation does.
  public enum Kind: String, Hashable, Sendable {
    /// Reads.
    case query
    /// Writes, then reads.
    case mutation
    /// Subscribes: a response for each event.
    case subscription
  }

  /// The node that is seen.
  public let node: SyntaxNode

  /// The view of an operation; `nil` for another node.
  @inlinable public init?(_ node: SyntaxNode) {
    guard node.kind == .operation else { return nil }
    self.node = node
  }

  /// What it does.
  public var kind: Kind {
    let flags = node.raw.flags
    return flags.contains(.mutation) ? .mutation : flags.contains(.subscription) ? .subscription : .query
  }

  /// Whether it is a selection set alone, which is a query.
  public var isShorthand: Bool { node.raw.flags.contains(.shorthand) }

  /// The description before it.
  public var description: StringSyntax? { node.description }

  /// Its name, if it has one.
  public var name: NameSyntax? {
    let node = node.raw
    return node.nameEnd > node.nameStart ? self.node.name : nil
  }

  /// The variables that it declares.
  public var variables: SyntaxList<VariableDefinitionSyntax> { node.elements(.variableDefinitions) }

  /// Its directives.
  public var directives: SyntaxList<DirectiveSyntax> { node.elements(.directives) }

  /// What it selects.
  public var selectionSet: SelectionSetSyntax { SelectionSetSyntax(in: node) }
}

/// A variable that an operation declares (section 2.10).
public struct VariableDefinitionSyntax: SyntaxView {
  /// The node that is seen.
  public let node: SyntaxNode

  /// The view of a variable's definition; `nil` for another node.
  @inlinable public init?(_ node: SyntaxNode) {
    guard node.kind == .variableDefinition else { return nil }
    self.node = node
  }

  /// The description before it.
  public var description: StringSyntax? { node.description }

  /// Its name, without the dollar sign.
  @inlinable public var name: NameSyntax { node.name }

  /// Its type.
  public var type: TypeSyntax { TypeSyntax(in: node) }

  /// Its default.
  public var defaultValue: ValueSyntax? { node.valueAfterType }

  /// Its directives.
  public var directives: SyntaxList<DirectiveSyntax> { node.elements(.directives) }
}

/// A fragment (section 2.8).
public struct FragmentSyntax: SyntaxView {
  /// The node that is seen.
  public let node: SyntaxNode

  /// The view of a fragment; `nil` for another node.
  @inlinable public init?(_ node: SyntaxNode) {
    guard node.kind == .fragmentDefinition else { return nil }
    self.node = node
  }

  /// The description before it.
  public var description: StringSyntax? { node.description }

  /// Its name.
  @inlinable public var name: NameSyntax { node.name }

  /// The type that it selects on.
  public var typeCondition: TypeSyntax { TypeSyntax(in: node) }

  /// Its directives.
  public var directives: SyntaxList<DirectiveSyntax> { node.elements(.directives) }

  /// What it selects.
  public var selectionSet: SelectionSetSyntax { SelectionSetSyntax(in: node) }
}

/// What is selected of an object (section 2.4).
public struct SelectionSetSyntax: SyntaxView {
  /// The node that is seen.
  public let node: SyntaxNode

  /// The view of a selection set; `nil` for another node.
  @inlinable public init?(_ node: SyntaxNode) {
    guard node.kind == .selectionSet else { return nil }
    self.node = node
  }

  /// The selection set that the grammar demands in a node.
  init(in node: SyntaxNode) {
    guard let set = node.child(.selectionSet) else { preconditionFailure("the node has no selection set") }
    self.node = set
  }

  /// The selections, in order.
  @inlinable public var selections: SyntaxList<SelectionSyntax> { SyntaxList(node.tree, node.id + 1, node.raw.next) }
}

/// A part of a selection set.
public enum SelectionSyntax: SyntaxView {
  /// A field.
  case field(FieldSyntax)
  /// The name of a fragment: its selections.
  case fragmentSpread(FragmentSpreadSyntax)
  /// Selections on a type.
  case inlineFragment(InlineFragmentSyntax)

  /// The view of a selection; `nil` for another node.
  @inlinable public init?(_ node: SyntaxNode) {
    if let field = FieldSyntax(node) {
      self = .field(field)
    } else if let spread = FragmentSpreadSyntax(node) {
      self = .fragmentSpread(spread)
    } else if let fragment = InlineFragmentSyntax(node) {
      self = .inlineFragment(fragment)
    } else {
      return nil
    }
  }

  /// The node that is seen.
  @inlinable public var node: SyntaxNode {
    switch self {
    case .field(let field): field.node
    case .fragmentSpread(let spread): spread.node
    case .inlineFragment(let fragment): fragment.node
    }
  }

  /// Its directives.
  public var directives: SyntaxList<DirectiveSyntax> { node.elements(.directives) }
}

/// A field of a selection set (section 2.5).
public struct FieldSyntax: SyntaxView {
  /// The node that is seen.
  public let node: SyntaxNode

  /// The view of a field; `nil` for another node.
  @inlinable public init?(_ node: SyntaxNode) {
    guard node.kind == .field else { return nil }
    self.node = node
  }

  /// Its name in the response, if that is not the field's own.
  public var alias: NameSyntax? {
    let raw = node.raw
    guard raw.flags.contains(.alias) else { return nil }
    var end = raw.start
    while node.tree.source[Int(end)].isNameByte { end += 1 }
    return NameSyntax(node.tree, raw.start, end)
  }

  /// Its name in the schema.
  @inlinable public var name: NameSyntax { node.name }

  /// Its name in the response.
  public var responseName: NameSyntax { alias ?? name }

  /// Its arguments.
  public var arguments: SyntaxList<ArgumentSyntax> { node.elements(.arguments) }

  /// Its directives.
  public var directives: SyntaxList<DirectiveSyntax> { node.elements(.directives) }

  /// What it selects of the field's object; a field without subfields has none.
  public var selectionSet: SelectionSetSyntax? { node.child(.selectionSet).flatMap(SelectionSetSyntax.init) }
}

/// The name of a fragment in a selection set.
public struct FragmentSpreadSyntax: SyntaxView {
  /// The node that is seen.
  public let node: SyntaxNode

  /// The view of a fragment spread; `nil` for another node.
  @inlinable public init?(_ node: SyntaxNode) {
    guard node.kind == .fragmentSpread else { return nil }
    self.node = node
  }

  /// The name of the fragment.
  @inlinable public var name: NameSyntax { node.name }

  /// Its directives.
  public var directives: SyntaxList<DirectiveSyntax> { node.elements(.directives) }
}

/// Selections on a type, or with directives of their own (section 2.8.2).
public struct InlineFragmentSyntax: SyntaxView {
  /// The node that is seen.
  public let node: SyntaxNode

  /// The view of an inline fragment; `nil` for another node.
  @inlinable public init?(_ node: SyntaxNode) {
    guard node.kind == .inlineFragment else { return nil }
    self.node = node
  }

  /// The type that it selects on; if it is left out, that of the selections around.
  public var typeCondition: TypeSyntax? { node.child(.namedType).flatMap(TypeSyntax.init) }

  /// Its directives.
  public var directives: SyntaxList<DirectiveSyntax> { node.elements(.directives) }

  /// What it selects.
  public var selectionSet: SelectionSetSyntax { SelectionSetSyntax(in: node) }
}

/// An argument of a field or a directive (section 2.6).
public struct ArgumentSyntax: SyntaxView {
  /// The node that is seen.
  public let node: SyntaxNode

  /// The view of an argument; `nil` for another node.
  @inlinable public init?(_ node: SyntaxNode) {
    guard node.kind == .argument else { return nil }
    self.node = node
  }

  /// Its name.
  @inlinable public var name: NameSyntax { node.name }

  /// Its value.
  public var value: ValueSyntax { ValueSyntax(in: node) }
}

/// A directive, as in `@include(if: $isLong)` (section 2.12).
public struct DirectiveSyntax: SyntaxView {
  /// The node that is seen.
  public let node: SyntaxNode

  /// The view of a directive; `nil` for another node.
  @inlinable public init?(_ node: SyntaxNode) {
    guard node.kind == .directive else { return nil }
    self.node = node
  }

  /// Its name, without the at sign.
  @inlinable public var name: NameSyntax { node.name }

  /// Its arguments.
  public var arguments: SyntaxList<ArgumentSyntax> { node.elements(.arguments) }
}
