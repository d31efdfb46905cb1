import GraphQLLanguage
import StrictJSON

/// A value of the introspection: a part of the schema, as the types `__Schema`, `__Type` and so on see it (section 4.2).
indirect enum IntrospectionValue {
  case schema(Schema)
  case type(TypeReference)
  case field(Field)
  case input(InputValue)
  case value(EnumValue)
  case directive(DirectiveDefinition)
  case list([IntrospectionValue])
  case json(JSONValue)

  /// The value of `__schema` and `__type`.
  static func root(_ field: String, _ arguments: [String: JSONValue], _ schema: Schema) -> IntrospectionValue? {
    switch field {
    case "__schema": .schema(schema)
    case "__type":
      arguments["name"]?.stringValue.flatMap { schema.type(named: $0) }.map { .type($0.reference) } ?? .json(.null)
    default: nil
    }
  }

  /// The value of one of its fields.
  func field(_ name: String, _ arguments: [String: JSONValue]) -> IntrospectionValue {
    let withDeprecated = arguments["includeDeprecated"]?.boolValue ?? false
    return switch self {
    case .schema(let schema): Self.field(name, of: schema)
    case .type(let type) where type.isNonNull || type.isList: Self.wrapper(name, type)
    case .type(let type): Self.field(name, of: type.named, withDeprecated)
    case .field(let field):
      switch name {
      case "args": Self.inputs(field.arguments, withDeprecated)
      case "type": .type(field.type)
      default: Self.member(name, field.name, field.documentation, field.deprecationReason)
      }
    case .input(let input):
      switch name {
      case "type": .type(input.type)
      case "defaultValue": Self.text(input.defaultValue?.text)
      default: Self.member(name, input.name, input.documentation, input.deprecationReason)
      }
    case .value(let value): Self.member(name, value.name, value.documentation, value.deprecationReason)
    case .directive(let directive):
      switch name {
      case "isRepeatable": .json(.bool(directive.isRepeatable))
      case "locations": .json(.array(directive.locations.map { .string($0.rawValue) }))
      case "args": Self.inputs(directive.arguments, withDeprecated)
      default: Self.member(name, directive.name, directive.documentation, nil)
      }
    case .list, .json: .json(.null)
    }
  }

  private static func field(_ name: String, of schema: Schema) -> IntrospectionValue {
    switch name {
    case "description": text(schema.description)
    case "types": .list((schema.types + schema.builtInTypes).map { .type($0.reference) })
    case "queryType": root(schema, .query)
    case "mutationType": root(schema, .mutation)
    case "subscriptionType": root(schema, .subscription)
    case "directives": .list((schema.directives + schema.builtInDirectives).map { .directive($0) })
    default: .json(.null)
    }
  }

  private static func root(_ schema: Schema, _ kind: OperationSyntax.Kind) -> IntrospectionValue {
    schema.rootType(of: kind).map { .type($0.reference) } ?? .json(.null)
  }

  private static func wrapper(_ name: String, _ type: TypeReference) -> IntrospectionValue {
    switch name {
    case "kind": .json(.string(type.isNonNull ? "NON_NULL" : "LIST"))
    case "ofType": type.isNonNull ? .type(type.nullable) : type.item.map { .type($0) } ?? .json(.null)
    default: .json(.null)
    }
  }

  private static func field(_ name: String, of type: NamedType, _ withDeprecated: Bool) -> IntrospectionValue {
    let kind = type.kind
    return switch name {
    case "kind": .json(.string(kind.rawValue))
    case "specifiedByURL": text(type.specifiedByURL)
    case "isOneOf" where kind == .inputObject: .json(.bool(type.isOneOf))
    case "fields" where kind == .object || kind == .interface:
      .list(type.fields.filter { withDeprecated || !$0.isDeprecated }.map { .field($0) })
    case "interfaces" where kind == .object || kind == .interface: .list(type.interfaces.map { .type($0.reference) })
    case "possibleTypes" where kind.isAbstract: .list(type.possibleTypes.map { .type($0.reference) })
    case "enumValues" where kind == .enum:
      .list(type.values.filter { withDeprecated || !$0.isDeprecated }.map { .value($0) })
    case "inputFields" where kind == .inputObject: inputs(type.inputFields, withDeprecated)
    case "name", "description": member(name, type.name, type.documentation, nil)
    default: .json(.null)
    }
  }

  /// The fields that all parts have.
  private static func member(
    _ field: String, _ name: String, _ documentation: String?, _ deprecationReason: String?
  ) -> IntrospectionValue {
    switch field {
    case "name": .json(.string(name))
    case "description": text(documentation)
    case "isDeprecated": .json(.bool(deprecationReason != nil))
    case "deprecationReason": text(deprecationReason)
    default: .json(.null)
    }
  }

  private static func inputs(_ inputs: [InputValue], _ withDeprecated: Bool) -> IntrospectionValue {
    .list(inputs.filter { withDeprecated || !$0.isDeprecated }.map { .input($0) })
  }

  private static func text(_ text: String?) -> IntrospectionValue { .json(text.map { .string($0) } ?? .null) }
}

extension NamedType {
  /// The type as a field has it, neither in a list nor non-null.
  var reference: TypeReference { TypeReference(schema, TypeRef(id)) }
}
