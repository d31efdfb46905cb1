/// The root operations of a schema, or an extension of them (GraphQL specification, section 3.3).
public struct SchemaDefinitionSyntax: SyntaxView {
  /// The node that is seen.
  public let node: SyntaxNode

  /// The view of a schema's definition; `nil` for another node.
  @inlinable public init?(_ node: SyntaxNode) {
    guard node.kind == .schemaDefinition else { return nil }
    self.node = node
  }

  /// Whether it begins with `extend`.
  public var isExtension: Bool { node.raw.flags.contains(.extension) }

  /// The description before it.
  public var description: StringSyntax? { node.description }

  /// Its directives.
  public var directives: SyntaxList<DirectiveSyntax> { node.elements(.directives) }

  /// The types of its root operations.
  public var operationTypes: SyntaxList<OperationTypeDefinitionSyntax> { node.elements(.operationTypeDefinitions) }
}

/// A root operation and its type, as in `query: Query`.
public struct OperationTypeDefinitionSyntax: SyntaxView {
  /// The node that is seen.
  public let node: SyntaxNode

  /// The view of a root operation's type; `nil` for another node.
  @inlinable public init?(_ node: SyntaxNode) {
    guard node.kind == .operationTypeDefinition else { return nil }
    self.node = node
  }

  /// The operation.
  public var operation: OperationSyntax.Kind { OperationSyntax.Kind(rawValue: node.name.text) ?? .query }

  /// Its type.
  public var type: TypeSyntax { TypeSyntax(in: node) }
}

/// A type, or an extension of one (sections 3.4 to 3.10). A part that a kind of type does not have is empty.
public struct TypeDefinitionSyntax: SyntaxView {
  /// The kinds of types that have definitions.
  public enum Kind: String, Hashable, Sendable {
    /// `scalar`.
    case scalar
    /// `type`.
    case object = "type"
    /// `interface`.
    case interface
    /// `union`.
    case union
    /// `enum`.
    case `enum`
    /// `input`.
    case inputObject = "input"
  }

  /// The node that is seen.
  public let node: SyntaxNode

  /// The kind of type.
  public let kind: Kind

  /// The view of a type's definition; `nil` for another node.
  public init?(_ node: SyntaxNode) {
    self.node = node
    switch node.kind {
    case .scalarTypeDefinition: kind = .scalar
    case .objectTypeDefinition: kind = .object
    case .interfaceTypeDefinition: kind = .interface
    case .unionTypeDefinition: kind = .union
    case .enumTypeDefinition: kind = .enum
    case .inputObjectTypeDefinition: kind = .inputObject
    default: return nil
    }
  }

  /// Whether it begins with `extend`.
  public var isExtension: Bool { node.raw.flags.contains(.extension) }

  /// The description before it.
  public var description: StringSyntax? { node.description }

  /// Its name.
  @inlinable public var name: NameSyntax { node.name }

  /// Its directives.
  public var directives: SyntaxList<DirectiveSyntax> { node.elements(.directives) }

  /// The interfaces that an object or an interface implements.
  public var interfaces: SyntaxList<TypeSyntax> { node.elements(.interfaces) }

  /// The fields of an object or an interface.
  public var fields: SyntaxList<FieldDefinitionSyntax> { node.elements(.fieldDefinitions) }

  /// The members of a union.
  public var members: SyntaxList<TypeSyntax> { node.elements(.unionMembers) }

  /// The values of an enum.
  public var values: SyntaxList<EnumValueDefinitionSyntax> { node.elements(.enumValueDefinitions) }

  /// The fields of an input object.
  public var inputFields: SyntaxList<InputValueDefinitionSyntax> { node.elements(.inputValueDefinitions) }
}

/// A field of an object or an interface (section 3.6).
public struct FieldDefinitionSyntax: SyntaxView {
  /// The node that is seen.
  public let node: SyntaxNode

  /// The view of a field's definition; `nil` for another node.
  @inlinable public init?(_ node: SyntaxNode) {
    guard node.kind == .fieldDefinition else { return nil }
    self.node = node
  }

  /// The description before it.
  public var description: StringSyntax? { node.description }

  /// Its name.
  @inlinable public var name: NameSyntax { node.name }

  /// Its arguments.
  public var arguments: SyntaxList<InputValueDefinitionSyntax> { node.elements(.inputValueDefinitions) }

  /// Its type.
  public var type: TypeSyntax { TypeSyntax(in: node) }

  /// Its directives.
  public var directives: SyntaxList<DirectiveSyntax> { node.elements(.directives) }
}

/// An argument of a field or of a directive, or a field of an input object (sections 3.6.1 and 3.10).
public struct InputValueDefinitionSyntax: SyntaxView {
  /// The node that is seen.
  public let node: SyntaxNode

  /// The view of an input value's definition; `nil` for another node.
  @inlinable public init?(_ node: SyntaxNode) {
    guard node.kind == .inputValueDefinition else { return nil }
    self.node = node
  }

  /// The description before it.
  public var description: StringSyntax? { node.description }

  /// Its name.
  @inlinable public var name: NameSyntax { node.name }

  /// Its type.
  public var type: TypeSyntax { TypeSyntax(in: node) }

  /// Its default.
  public var defaultValue: ValueSyntax? { node.valueAfterType }

  /// Its directives.
  public var directives: SyntaxList<DirectiveSyntax> { node.elements(.directives) }
}

/// A value of an enum (section 3.9).
public struct EnumValueDefinitionSyntax: SyntaxView {
  /// The node that is seen.
  public let node: SyntaxNode

  /// The view of an enum value's definition; `nil` for another node.
  @inlinable public init?(_ node: SyntaxNode) {
    guard node.kind == .enumValueDefinition else { return nil }
    self.node = node
  }

  /// The description before it.
  public var description: StringSyntax? { node.description }

  /// Its name.
  @inlinable public var name: NameSyntax { node.name }

  /// Its directives.
  public var directives: SyntaxList<DirectiveSyntax> { node.elements(.directives) }
}

/// A directive's definition (section 3.13).
public struct DirectiveDefinitionSyntax: SyntaxView {
  /// The node that is seen.
  public let node: SyntaxNode

  /// The view of a directive's definition; `nil` for another node.
  @inlinable public init?(_ node: SyntaxNode) {
    guard node.kind == .directiveDefinition else { return nil }
    self.node = node
  }

  /// The description before it.
  public var description: StringSyntax? { node.description }

  /// Its name, without the at sign.
  @inlinable public var name: NameSyntax { node.name }

  /// Its arguments.
  public var arguments: SyntaxList<InputValueDefinitionSyntax> { node.elements(.inputValueDefinitions) }

  /// Whether it may stand several times in one place.
  public var isRepeatable: Bool { node.raw.flags.contains(.repeatable) }

  /// The places where it may stand.
  public var locations: [DirectiveLocation] {
    node.elements(.directiveLocations, as: SyntaxNode.self).compactMap { DirectiveLocation(rawValue: $0.text) }
  }
}
