/// The type system definitions and extensions (GraphQL specification, section 3).
extension Parser {
  /// Whether the token begins a definition of a type system.
  var isTypeSystemKeyword: Bool {
    let keywords: [StaticString] = ["type", "interface", "input", "enum", "union", "scalar", "schema", "directive"]
    return keywords.contains { lexer.isKeyword($0) }
  }

  /// Reads a definition from its keyword on; its node and its description exist.
  mutating func typeSystemDefinition(_ node: Int, isExtension: Bool) throws(GraphQLSyntaxError) {
    let count = nodeCount
    if lexer.isKeyword("type") {
      try composite(.objectTypeDefinition, node)
    } else if lexer.isKeyword("interface") {
      try composite(.interfaceTypeDefinition, node)
    } else if lexer.isKeyword("input") {
      try typeName(.inputObjectTypeDefinition, node)
      try optionalList(.inputValueDefinitions, .leftBrace, .rightBrace, of: "an input field") {
        parser throws(GraphQLSyntaxError) in try parser.inputValueDefinition("the name of an input field")
      }
    } else if lexer.isKeyword("enum") {
      try typeName(.enumTypeDefinition, node)
      try optionalList(.enumValueDefinitions, .leftBrace, .rightBrace, of: "an enum value") {
        parser throws(GraphQLSyntaxError) in try parser.enumValueDefinition()
      }
    } else if lexer.isKeyword("union") {
      try typeName(.unionTypeDefinition, node)
      try unionMembers()
    } else if lexer.isKeyword("scalar") {
      try typeName(.scalarTypeDefinition, node)
    } else if lexer.isKeyword("schema") {
      try schemaDefinition(node, isExtension: isExtension)
    } else if lexer.isKeyword("directive"), !isExtension {
      return try directiveDefinition(node)
    } else {
      throw unexpected(
        isExtension
          ? "what is extended: schema, scalar, type, interface, union, enum or input"
          : Self.aDefinition)
    }
    if isExtension, nodeCount == count { throw unexpected("what the extension adds") }
  }

  private mutating func schemaDefinition(_ node: Int, isExtension: Bool) throws(GraphQLSyntaxError) {
    become(.schemaDefinition, node)
    try advance()
    try directives(isConstant: true)
    if isExtension, token != .leftBrace { return }
    try list(.operationTypeDefinitions, .leftBrace, .rightBrace, of: "a root operation, such as query: Query") {
      parser throws(GraphQLSyntaxError) in
      let node = parser.open(.operationTypeDefinition)
      guard
        parser.lexer.isKeyword("query") || parser.lexer.isKeyword("mutation") || parser.lexer.isKeyword("subscription")
      else { throw parser.unexpected("query, mutation or subscription") }
      try parser.readName(of: node, "")
      try parser.expect(.colon, "\":\" and the type of the root operation")
      try parser.namedType("the type of the root operation")
      parser.close(node)
    }
  }

  /// The keyword, the name and the directives of a type.
  private mutating func typeName(_ kind: SyntaxKind, _ node: Int) throws(GraphQLSyntaxError) {
    become(kind, node)
    try advance()
    try readName(of: node, "the name of a type")
    try directives(isConstant: true)
  }

  private mutating func composite(_ kind: SyntaxKind, _ node: Int) throws(GraphQLSyntaxError) {
    become(kind, node)
    try advance()
    try readName(of: node, "the name of a type")
    if lexer.isKeyword("implements") {
      let list = open(.interfaces)
      try advance()
      _ = try skip(.ampersand)
      repeat { try namedType("the name of an interface") } while try skip(.ampersand)
      close(list)
    }
    try directives(isConstant: true)
    try optionalList(.fieldDefinitions, .leftBrace, .rightBrace, of: "a field") {
      parser throws(GraphQLSyntaxError) in try parser.fieldDefinition()
    }
  }

  private mutating func fieldDefinition() throws(GraphQLSyntaxError) {
    let node = open(.fieldDefinition)
    try description()
    try readName(of: node, "the name of a field")
    try argumentDefinitions()
    try expect(.colon, "\":\" and the type of the field")
    try type()
    try directives(isConstant: true)
    close(node)
  }

  private mutating func argumentDefinitions() throws(GraphQLSyntaxError) {
    try optionalList(.inputValueDefinitions, .leftParenthesis, .rightParenthesis, of: "an argument") {
      parser throws(GraphQLSyntaxError) in try parser.inputValueDefinition("the name of an argument")
    }
  }

  private mutating func inputValueDefinition(_ expected: StaticString) throws(GraphQLSyntaxError) {
    let node = open(.inputValueDefinition)
    try description()
    try readName(of: node, "\(expected)")
    try expect(.colon, "\":\" and a type")
    try type()
    if try skip(.equals) { try value(isConstant: true) }
    try directives(isConstant: true)
    close(node)
  }

  private mutating func unionMembers() throws(GraphQLSyntaxError) {
    guard token == .equals else { return }
    let list = open(.unionMembers)
    try advance()
    _ = try skip(.pipe)
    repeat { try namedType("the name of a member type") } while try skip(.pipe)
    close(list)
  }

  private mutating func enumValueDefinition() throws(GraphQLSyntaxError) {
    let node = open(.enumValueDefinition)
    try description()
    guard !lexer.isKeyword("true"), !lexer.isKeyword("false"), !lexer.isKeyword("null") else {
      throw unexpected("the name of an enum value, which must not be true, false or null")
    }
    try readName(of: node, "the name of an enum value")
    try directives(isConstant: true)
    close(node)
  }

  private mutating func directiveDefinition(_ node: Int) throws(GraphQLSyntaxError) {
    become(.directiveDefinition, node)
    try advance()
    try expect(.at, "\"@\" and the name of the directive")
    try readName(of: node, "the name of the directive")
    try argumentDefinitions()
    if try skipKeyword("repeatable") { mark(node, .repeatable) }
    guard lexer.isKeyword("on") else { throw unexpected("\"on\" and the places where the directive may stand") }
    let list = open(.directiveLocations)
    try advance()
    _ = try skip(.pipe)
    repeat {
      let location = open(.directiveLocation)
      guard token == .name, DirectiveLocation(rawValue: lexer.text) != nil else {
        throw unexpected("a directive's location, such as FIELD or OBJECT")
      }
      try readName(of: location, "")
      close(location)
    } while try skip(.pipe)
    close(list)
  }
}

/// Where a directive may stand (specification, section 3.13).
public enum DirectiveLocation: String, CaseIterable, Hashable, Sendable {
  /// On a query.
  case query = "QUERY"
  /// On a mutation.
  case mutation = "MUTATION"
  /// On a subscription.
  case subscription = "SUBSCRIPTION"
  /// On a field.
  case field = "FIELD"
  /// On a fragment.
  case fragmentDefinition = "FRAGMENT_DEFINITION"
  /// On a fragment's name in a selection set.
  case fragmentSpread = "FRAGMENT_SPREAD"
  /// On an inline fragment.
  case inlineFragment = "INLINE_FRAGMENT"
  /// On a variable's definition.
  case variableDefinition = "VARIABLE_DEFINITION"
  /// On the schema.
  case schema = "SCHEMA"
  /// On a scalar.
  case scalar = "SCALAR"
  /// On an object type.
  case object = "OBJECT"
  /// On the definition of a field.
  case fieldDefinition = "FIELD_DEFINITION"
  /// On the definition of an argument.
  case argumentDefinition = "ARGUMENT_DEFINITION"
  /// On an interface.
  case interface = "INTERFACE"
  /// On a union.
  case union = "UNION"
  /// On an enum.
  case `enum` = "ENUM"
  /// On a value of an enum.
  case enumValue = "ENUM_VALUE"
  /// On an input object.
  case inputObject = "INPUT_OBJECT"
  /// On a field of an input object.
  case inputFieldDefinition = "INPUT_FIELD_DEFINITION"

  /// Whether it is in an operation or a fragment; else it is in a schema.
  public var isExecutable: Bool {
    switch self {
    case .query, .mutation, .subscription, .field, .fragmentDefinition, .fragmentSpread, .inlineFragment,
      .variableDefinition:
      true
    default: false
    }
  }
}
