public import GraphQLLanguage

/// A type of a schema that has a name.
public struct NamedType: Hashable, Sendable, CustomStringConvertible {
  /// The schema that it belongs to.
  public let schema: Schema
  let id: TypeID

  init(_ schema: Schema, _ id: TypeID) {
    self.schema = schema
    self.id = id
  }

  private var record: SchemaTables.TypeRecord { schema.tables[id] }

  /// The name.
  public var name: String { schema.tables.name(id) }

  /// The name.
  public var description: String { name }

  /// What the type is.
  public var kind: TypeKind { record.kind }

  /// Whether every schema has it: one of the five scalars, or a type of introspection.
  public var isBuiltIn: Bool { Int(id.rawValue) < schema.tables.preludeTypes }

  /// What the schema says about it.
  public var documentation: String? { definition?.description?.value }

  /// The definition that it was read from; extensions are definitions of their own.
  public var definition: TypeDefinitionSyntax? { TypeDefinitionSyntax(schema.tables.node(record.source)) }

  /// The extensions of the type, in order.
  public var extensions: [TypeDefinitionSyntax] {
    (schema.tables.extensions[id] ?? []).compactMap { TypeDefinitionSyntax(schema.tables.node($0)) }
  }

  /// The directives of its definition and its extensions.
  public var directives: [DirectiveSyntax] {
    ([definition].compactMap { $0 } + extensions).flatMap(\.directives)
  }

  /// The fields of an object or interface, in the order of their definitions; none for other types.
  public var fields: [Field] { record.fields.map { Field(schema, Int($0)) } }

  /// The field with a name. `__typename`, which selections may have on every composite type, is not among them.
  public func field(named name: String) -> Field? {
    schema.tables.field(schema.tables.names.find(name), of: id).map { Field(schema, $0) }
  }

  /// The field that a selection of this type with a name selects: one of the type's, or `__typename`, or on the root of
  /// queries `__schema` and `__type`.
  public func selectableField(named name: String) -> Field? {
    schema.tables.selectable(schema.tables.names.find(name), on: id).map { Field(schema, $0) }
  }

  /// The fields of an input object; none for other types.
  public var inputFields: [InputValue] { record.inputFields.map { InputValue(schema, Int($0)) } }

  /// The field of an input object with a name.
  public func inputField(named name: String) -> InputValue? {
    schema.tables.inputField(schema.tables.names.find(name), of: id).map { InputValue(schema, $0) }
  }

  /// The values of an enum; none for other types.
  public var values: [EnumValue] { record.values.map { EnumValue(schema, Int($0)) } }

  /// The value of an enum with a name.
  public func value(named name: String) -> EnumValue? {
    schema.tables.value(schema.tables.names.find(name), of: id).map { EnumValue(schema, $0) }
  }

  /// The interfaces that an object or interface implements.
  public var interfaces: [NamedType] { schema.tables.interfaces(of: id).map { NamedType(schema, $0) } }

  /// The objects that a value can be: the members of a union, the objects that implement an interface, or the object
  /// itself. None for other types.
  public var possibleTypes: [NamedType] {
    switch kind {
    case .object: [self]
    default: schema.tables.possibleTypes(of: id).map { NamedType(schema, $0) }
    }
  }

  /// Whether every value of this type is one of another: it is the same, or an interface that this type implements, or a
  /// union that it is a member of.
  public func isSubtype(of other: NamedType) -> Bool {
    schema.tables.isSubtype(TypeRef(id), of: TypeRef(other.id))
  }

  /// Whether some object is of both types, so that a fragment on one can be spread where the other is selected.
  public func overlaps(_ other: NamedType) -> Bool { schema.tables.overlap(id, other.id) }

  /// Whether an input object takes exactly one of its fields (`@oneOf`).
  public var isOneOf: Bool { record.isOneOf }

  /// Where a scalar is specified (`@specifiedBy`).
  public var specifiedByURL: String? {
    guard kind == .scalar else { return nil }
    return directives.last { $0.name == "specifiedBy" }?.stringArgument("url")
  }

  /// Whether two types are the same type of one schema.
  public static func == (a: NamedType, b: NamedType) -> Bool { a.id == b.id && a.schema.storage === b.schema.storage }

  /// Hashes the number of the type.
  public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// A field of an object or interface.
public struct Field: Hashable, Sendable {
  /// The schema that it belongs to.
  public let schema: Schema
  let index: Int

  init(_ schema: Schema, _ index: Int) {
    self.schema = schema
    self.index = index
  }

  private var record: SchemaTables.FieldRecord { schema.tables.fields[index] }

  /// The name.
  public var name: String { schema.tables.names[record.name] }

  /// The type.
  public var type: TypeReference { TypeReference(schema, record.type) }

  /// The object or interface that has the field.
  public var owner: NamedType { NamedType(schema, record.owner) }

  /// `Type.field`.
  public var coordinate: String { owner.name + "." + name }

  /// The arguments, in the order of their definitions.
  public var arguments: [InputValue] { record.arguments.map { InputValue(schema, Int($0)) } }

  /// The argument with a name.
  public func argument(named name: String) -> InputValue? {
    schema.tables.argument(schema.tables.names.find(name), ofField: index).map { InputValue(schema, $0) }
  }

  /// The definition that it was read from.
  public var definition: FieldDefinitionSyntax? { FieldDefinitionSyntax(schema.tables.node(record.source)) }

  /// What the schema says about it.
  public var documentation: String? { definition?.description?.value }

  /// Whether it is no longer to be used.
  public var isDeprecated: Bool { record.isDeprecated }

  /// Why it is no longer to be used; `nil` if it is not deprecated.
  public var deprecationReason: String? { isDeprecated ? definition?.directives.deprecationReason : nil }

  /// Whether two fields are the same field of one schema.
  public static func == (a: Field, b: Field) -> Bool { a.index == b.index && a.schema.storage === b.schema.storage }

  /// Hashes the number of the field.
  public func hash(into hasher: inout Hasher) { hasher.combine(index) }
}

/// An argument of a field or directive, or a field of an input object.
public struct InputValue: Hashable, Sendable {
  /// The schema that it belongs to.
  public let schema: Schema
  let index: Int

  init(_ schema: Schema, _ index: Int) {
    self.schema = schema
    self.index = index
  }

  private var record: SchemaTables.InputRecord { schema.tables.inputs[index] }

  /// The name.
  public var name: String { schema.tables.names[record.name] }

  /// The type.
  public var type: TypeReference { TypeReference(schema, record.type) }

  /// The value that counts if none is given.
  public var defaultValue: ValueSyntax? { record.hasDefault ? definition?.defaultValue : nil }

  /// Whether a value must be given: it cannot be null, and there is no default.
  public var isRequired: Bool { record.isRequired }

  /// The definition that it was read from.
  public var definition: InputValueDefinitionSyntax? { InputValueDefinitionSyntax(schema.tables.node(record.source)) }

  /// What the schema says about it.
  public var documentation: String? { definition?.description?.value }

  /// Whether it is no longer to be used.
  public var isDeprecated: Bool { record.isDeprecated }

  /// Why it is no longer to be used; `nil` if it is not deprecated.
  public var deprecationReason: String? { isDeprecated ? definition?.directives.deprecationReason : nil }

  /// Whether two are the same of one schema.
  public static func == (a: InputValue, b: InputValue) -> Bool {
    a.index == b.index && a.schema.storage === b.schema.storage
  }

  /// Hashes the number of the argument or field.
  public func hash(into hasher: inout Hasher) { hasher.combine(index) }
}

/// A value of an enum.
public struct EnumValue: Hashable, Sendable {
  /// The schema that it belongs to.
  public let schema: Schema
  let index: Int

  init(_ schema: Schema, _ index: Int) {
    self.schema = schema
    self.index = index
  }

  private var record: SchemaTables.ValueRecord { schema.tables.values[index] }

  /// The name, which is the value.
  public var name: String { schema.tables.names[record.name] }

  /// The definition that it was read from.
  public var definition: EnumValueDefinitionSyntax? { EnumValueDefinitionSyntax(schema.tables.node(record.source)) }

  /// What the schema says about it.
  public var documentation: String? { definition?.description?.value }

  /// Whether it is no longer to be used.
  public var isDeprecated: Bool { record.isDeprecated }

  /// Why it is no longer to be used; `nil` if it is not deprecated.
  public var deprecationReason: String? { isDeprecated ? definition?.directives.deprecationReason : nil }

  /// Whether two are the same value of one schema.
  public static func == (a: EnumValue, b: EnumValue) -> Bool {
    a.index == b.index && a.schema.storage === b.schema.storage
  }

  /// Hashes the number of the value.
  public func hash(into hasher: inout Hasher) { hasher.combine(index) }
}

/// A directive that a schema defines.
public struct DirectiveDefinition: Hashable, Sendable {
  /// The schema that it belongs to.
  public let schema: Schema
  let index: Int

  init(_ schema: Schema, _ index: Int) {
    self.schema = schema
    self.index = index
  }

  private var record: SchemaTables.DirectiveRecord { schema.tables.directives[index] }

  /// The name, without the at sign.
  public var name: String { schema.tables.names[record.name] }

  /// The arguments, in the order of their definitions.
  public var arguments: [InputValue] { record.arguments.map { InputValue(schema, Int($0)) } }

  /// The argument with a name.
  public func argument(named name: String) -> InputValue? {
    schema.tables.argument(schema.tables.names.find(name), ofDirective: index).map { InputValue(schema, $0) }
  }

  /// The places where it may stand.
  public var locations: [DirectiveLocation] { record.locations }

  /// Whether it may stand several times in one place.
  public var isRepeatable: Bool { record.isRepeatable }

  /// The definition that it was read from.
  public var definition: DirectiveDefinitionSyntax? { DirectiveDefinitionSyntax(schema.tables.node(record.source)) }

  /// What the schema says about it.
  public var documentation: String? { definition?.description?.value }

  /// Whether two are the same directive of one schema.
  public static func == (a: DirectiveDefinition, b: DirectiveDefinition) -> Bool {
    a.index == b.index && a.schema.storage === b.schema.storage
  }

  /// Hashes the number of the directive.
  public func hash(into hasher: inout Hasher) { hasher.combine(index) }
}

/// A type as a field, an argument or a variable has it: a named type, in lists and non-null as it is written.
public struct TypeReference: Hashable, Sendable, CustomStringConvertible {
  /// The schema that it belongs to.
  public let schema: Schema
  let ref: TypeRef

  init(_ schema: Schema, _ ref: TypeRef) {
    self.schema = schema
    self.ref = ref
  }

  /// The named type, whatever lists it is in.
  public var named: NamedType { NamedType(schema, ref.named) }

  /// Whether null is excluded.
  public var isNonNull: Bool { ref.isNonNull }

  /// Whether it is a list, null or not.
  public var isList: Bool { ref.isList }

  /// The type of the items, if it is a list, null or not.
  public var item: TypeReference? { ref.isList ? TypeReference(schema, ref.item) : nil }

  /// The type with null.
  public var nullable: TypeReference { TypeReference(schema, ref.nullable) }

  /// The type without null.
  public var nonNull: TypeReference { TypeReference(schema, ref.nonNull) }

  /// Whether every value of this type is one of another (section 3.6.1).
  public func isSubtype(of other: TypeReference) -> Bool { schema.tables.isSubtype(ref, of: other.ref) }

  /// The type as it is written: `[ID!]!`.
  public var description: String { schema.tables.text(ref) }

  /// Whether two are the same type of one schema.
  public static func == (a: TypeReference, b: TypeReference) -> Bool {
    a.ref == b.ref && a.schema.storage === b.schema.storage
  }

  /// Hashes the type.
  public func hash(into hasher: inout Hasher) { hasher.combine(ref) }
}

extension DirectiveSyntax {
  /// The value of an argument that is a string.
  func stringArgument(_ name: String) -> String? {
    guard case .string(let text)? = arguments.first(where: { $0.name == name })?.value.kind else { return nil }
    return text.value
  }
}

extension SyntaxList<DirectiveSyntax> {
  /// The reason of `@deprecated`, or its default.
  var deprecationReason: String? {
    guard let directive = first(where: { $0.name == "deprecated" }) else { return nil }
    return directive.stringArgument("reason") ?? "No longer supported"
  }
}

// Otherwise each would print the whole schema.

extension Field: CustomStringConvertible {
  /// The coordinate and the type, such as `User.name: String!`.
  public var description: String { "\(coordinate): \(type)" }
}

extension InputValue: CustomStringConvertible {
  /// The name and the type, such as `first: Int`.
  public var description: String { "\(name): \(type)" }
}

extension EnumValue: CustomStringConvertible {
  /// The name.
  public var description: String { name }
}

extension DirectiveDefinition: CustomStringConvertible {
  /// The name, such as `@skip`.
  public var description: String { "@\(name)" }
}
