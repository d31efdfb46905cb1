public import GraphQLLanguage

/// What a coordinate names in a schema (section 3.14).
public enum SchemaElement: Hashable, Sendable {
  /// A type.
  case type(NamedType)
  /// A field of an object or interface.
  case field(Field)
  /// An argument of a field or directive, or a field of an input object.
  case inputValue(InputValue)
  /// A value of an enum.
  case enumValue(EnumValue)
  /// A directive.
  case directive(DirectiveDefinition)
}

extension Schema {
  /// What a coordinate names; `nil` if the schema has nothing there.
  public func element(at coordinate: SchemaCoordinate) -> SchemaElement? {
    switch coordinate {
    case .type(let name): type(named: name).map { .type($0) }
    case .member(let type, let name):
      self.type(named: type).flatMap { type in
        type.field(named: name).map { .field($0) } ?? type.inputField(named: name).map { .inputValue($0) }
          ?? type.value(named: name).map { .enumValue($0) }
      }
    case .argument(let type, let field, let name):
      self.type(named: type)?.field(named: field)?.argument(named: name).map { .inputValue($0) }
    case .directive(let name): directive(named: name).map { .directive($0) }
    case .directiveArgument(let directive, let name):
      self.directive(named: directive)?.argument(named: name).map { .inputValue($0) }
    }
  }

  /// What a coordinate names, such as `User.name`; `nil` if the schema has nothing there.
  /// - Throws: The place where the text is no coordinate.
  public func element(at coordinate: String) throws(GraphQLSyntaxError) -> SchemaElement? {
    element(at: try SchemaCoordinate(parsing: coordinate))
  }
}

extension SchemaElement: CustomStringConvertible {
  /// What the named thing prints.
  public var description: String {
    switch self {
    case .type(let type): type.description
    case .field(let field): field.description
    case .inputValue(let value): value.description
    case .enumValue(let value): value.description
    case .directive(let directive): directive.description
    }
  }
}
