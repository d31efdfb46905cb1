/// A value in a document (GraphQL specification, section 2.9).
public struct ValueSyntax: SyntaxView {
  /// What a value is.
  public enum Kind: Sendable {
    /// A variable, by its name without the dollar sign.
    case variable(NameSyntax)
    /// An integer of any size, as it was written.
    case int(String)
    /// A number with a fraction or an exponent, as it was written.
    case float(String)
    /// A string.
    case string(StringSyntax)
    /// `true` or `false`.
    case boolean(Bool)
    /// `null`.
    case null
    /// A name that is none of the above.
    case enumValue(NameSyntax)
    /// A list.
    case list(SyntaxList<ValueSyntax>)
    /// An input object.
    case object(SyntaxList<ObjectFieldSyntax>)
  }

  /// The node that is seen.
  public let node: SyntaxNode

  /// The view of a value; `nil` for another node.
  @inlinable public init?(_ node: SyntaxNode) {
    guard node.kind.isValue else { return nil }
    self.node = node
  }

  /// Parses a value that stands alone, such as a default in an introspection's response.
  /// - Parameters:
  ///   - text: The value.
  ///   - isConstant: Whether variables are refused.
  ///   - limits: How many tokens it may have, and how deep it may be nested.
  public init(
    parsing text: String, isConstant: Bool = true, limits: SyntaxLimits = .standard
  ) throws(GraphQLSyntaxError) {
    let tree = try Parser.parse(text.utf8, limits: limits) { parser throws(GraphQLSyntaxError) in
      try parser.value(isConstant: isConstant)
    }
    node = SyntaxNode(tree, 0)
  }

  /// The value that the grammar demands in a node.
  init(in node: SyntaxNode) {
    guard let value = node.children.first(where: { $0.kind.isValue }) else {
      preconditionFailure("the node has no value")
    }
    self.node = value
  }

  fileprivate init(known node: SyntaxNode) { self.node = node }

  /// What the value is.
  public var kind: Kind {
    switch node.kind {
    case .variable: .variable(node.name)
    case .int: .int(node.text)
    case .float: .float(node.text)
    case .boolean: .boolean(node.raw.flags.contains(.true))
    case .enumValue: .enumValue(node.name)
    case .list: .list(SyntaxList(node.tree, node.id + 1, node.raw.next))
    case .object: .object(SyntaxList(node.tree, node.id + 1, node.raw.next))
    default: StringSyntax(node).map { .string($0) } ?? .null
    }
  }
}

/// A field of an input object in a document.
public struct ObjectFieldSyntax: SyntaxView {
  /// The node that is seen.
  public let node: SyntaxNode

  /// The view of an object's field; `nil` for another node.
  @inlinable public init?(_ node: SyntaxNode) {
    guard node.kind == .objectField else { return nil }
    self.node = node
  }

  /// Its name.
  @inlinable public var name: NameSyntax { node.name }

  /// Its value.
  public var value: ValueSyntax { ValueSyntax(in: node) }
}

/// A reference to a type, as in `[ID!]!` (section 2.11).
public struct TypeSyntax: SyntaxView {
  /// What is referred to, without regard to null.
  public enum Kind: Sendable {
    /// A type, by its name.
    case named(NameSyntax)
    /// A list of a type.
    indirect case list(TypeSyntax)
  }

  /// The node that is seen.
  public let node: SyntaxNode

  /// The view of a type; `nil` for another node.
  @inlinable public init?(_ node: SyntaxNode) {
    guard node.kind == .namedType || node.kind == .listType else { return nil }
    self.node = node
  }

  /// Parses a type that stands alone.
  public init(parsing text: String, limits: SyntaxLimits = .standard) throws(GraphQLSyntaxError) {
    let tree = try Parser.parse(text.utf8, limits: limits) { parser throws(GraphQLSyntaxError) in try parser.type() }
    node = SyntaxNode(tree, 0)
  }

  /// The type that the grammar demands in a node.
  init(in node: SyntaxNode) {
    guard let type = node.child(.namedType) ?? node.child(.listType) else {
      preconditionFailure("the node has no type")
    }
    self.node = type
  }

  /// Whether null is excluded: the type ends with `!`.
  public var isNonNull: Bool { node.raw.flags.contains(.nonNull) }

  /// What is referred to.
  public var kind: Kind { node.kind == .listType ? .list(TypeSyntax(in: node)) : .named(node.name) }

  /// The name of the type, also if it is that of a list's elements.
  public var name: NameSyntax {
    var type = self
    while case .list(let element) = type.kind { type = element }
    return type.node.name
  }
}

extension SyntaxKind {
  /// Whether a node of the kind is a value.
  @inlinable public var isValue: Bool {
    SyntaxKind.variable.rawValue <= rawValue && rawValue <= SyntaxKind.object.rawValue
  }
}

extension SyntaxNode {
  /// The description that a definition begins with.
  var description: StringSyntax? {
    guard raw.next > id + 1 else { return nil }
    return StringSyntax(SyntaxNode(tree, id + 1))
  }

  /// A default value: it stands after the type, so that it is not taken for the description.
  var valueAfterType: ValueSyntax? {
    let children = children
    guard let type = children.firstIndex(where: { $0.kind == .namedType || $0.kind == .listType }) else { return nil }
    let next = children.index(after: type)
    return next < children.endIndex ? ValueSyntax(children[next]) : nil
  }
}
