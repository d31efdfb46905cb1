/// Builds a syntax tree from tokens, one function for each production of the grammar (GraphQL specification,
/// appendix B). This file has the tools and the executable definitions; `TypeSystemParser.swift` has the rest.
///
/// A token of lookahead decides everything. What nests (selection sets, values and types) is read by loops that keep what
/// is open in an array, so that the stack does not grow with the depth of a text.
struct Parser {
  private(set) var lexer: Lexer
  private var nodes: [SyntaxTree.Node] = []
  private let depthLimit: Int
  private var depth = 0

  /// Parses a text into a tree.
  /// - Parameter root: What the whole text is.
  static func parse(
    _ bytes: some Collection<UInt8>, limits: SyntaxLimits, as root: (inout Parser) throws(GraphQLSyntaxError) -> Void
  ) throws(GraphQLSyntaxError) -> SyntaxTree {
    guard bytes.count < UInt32.max else {
      throw GraphQLSyntaxError("the text has 4 GiB or more", at: SourceLocation(line: 1, column: 1))
    }
    var source: [UInt8] = []
    source.reserveCapacity(bytes.count + 1)
    source.append(contentsOf: bytes)
    source.append(0)
    let count = source.count - 1
    let result = source.withUnsafeBufferPointer { buffer -> Result<[SyntaxTree.Node], GraphQLSyntaxError> in
      guard let base = buffer.baseAddress else { return .success([]) }
      return Result { () throws(GraphQLSyntaxError) in
        var parser = Parser(Lexer(base, count: count, tokenLimit: limits.tokens), limits: limits)
        try parser.lexer.advance()
        try root(&parser)
        guard parser.lexer.token == .end else { throw parser.unexpected("the end of the text") }
        return parser.nodes
      }
    }
    return SyntaxTree(source: source, nodes: try result.get())
  }

  private init(_ lexer: Lexer, limits: SyntaxLimits) {
    self.lexer = lexer
    depthLimit = limits.depth
  }
}

// MARK: - Tokens and nodes

extension Parser {
  var token: Token { lexer.token }

  /// How many nodes there are.
  var nodeCount: Int { nodes.count }

  func unexpected(_ expected: String) -> GraphQLSyntaxError {
    lexer.error("expected \(expected), found \(lexer.found)", at: lexer.start)
  }

  mutating func advance() throws(GraphQLSyntaxError) {
    try lexer.advance()
  }

  /// Reads a token of a kind, or throws what it is needed for.
  mutating func expect(_ token: Token, _ expected: @autoclosure () -> String) throws(GraphQLSyntaxError) {
    guard lexer.token == token else { throw unexpected(expected()) }
    try lexer.advance()
  }

  /// Reads the token if it is of a kind.
  mutating func skip(_ token: Token) throws(GraphQLSyntaxError) -> Bool {
    guard lexer.token == token else { return false }
    try lexer.advance()
    return true
  }

  mutating func skipKeyword(_ keyword: StaticString) throws(GraphQLSyntaxError) -> Bool {
    guard lexer.isKeyword(keyword) else { return false }
    try lexer.advance()
    return true
  }

  /// Begins a node; what is added before `close` becomes its children.
  mutating func open(_ kind: SyntaxKind, at start: Int? = nil) -> Int {
    nodes.append(SyntaxTree.Node(kind, start: start ?? lexer.start))
    return nodes.count - 1
  }

  /// Ends a node with the token that was read last.
  mutating func close(_ node: Int) {
    nodes[node].end = UInt32(truncatingIfNeeded: lexer.previousEnd)
    nodes[node].next = UInt32(truncatingIfNeeded: nodes.count)
  }

  mutating func mark(_ node: Int, _ flag: SyntaxTree.Flags) {
    nodes[node].flags.insert(flag)
  }

  /// Makes the token, a name, the name of a node, and reads it.
  mutating func readName(of node: Int, _ expected: @autoclosure () -> String) throws(GraphQLSyntaxError) {
    guard token == .name else { throw unexpected(expected()) }
    nodes[node].nameStart = UInt32(truncatingIfNeeded: lexer.start)
    nodes[node].nameEnd = UInt32(truncatingIfNeeded: lexer.end)
    try lexer.advance()
  }

  /// Begins a node of what nests, with its opening token.
  mutating func openNested(_ kind: SyntaxKind) throws(GraphQLSyntaxError) -> Int {
    guard depth < depthLimit else {
      throw lexer.error("the text is nested deeper than \(depthLimit) levels, which is the limit", at: lexer.start)
    }
    depth += 1
    let node = open(kind)
    try lexer.advance()
    return node
  }

  /// Ends a node of what nests, whose closing token was read.
  mutating func closeNested(_ node: Int) {
    close(node)
    depth -= 1
  }

  /// A list node, of one element at least: an opening token, elements, a closing token.
  /// - Parameter element: What an element is called in a message.
  mutating func list(
    _ kind: SyntaxKind, _ opening: Token, _ closing: Token, of element: StaticString,
    _ parse: (inout Parser) throws(GraphQLSyntaxError) -> Void
  ) throws(GraphQLSyntaxError) {
    let node = open(kind)
    try expect(opening, opening.name)
    repeat {
      guard token != .end else { throw unexpected("\(element) or \(closing.name)") }
      try parse(&self)
    } while try !skip(closing)
    close(node)
  }

  mutating func optionalList(
    _ kind: SyntaxKind, _ opening: Token, _ closing: Token, of element: StaticString,
    _ parse: (inout Parser) throws(GraphQLSyntaxError) -> Void
  ) throws(GraphQLSyntaxError) {
    if token == opening { try list(kind, opening, closing, of: element, parse) }
  }
}

// MARK: - Documents and operations (section 2)

extension Parser {
  mutating func document() throws(GraphQLSyntaxError) {
    let node = open(.document, at: 0)
    repeat { try definition() } while token != .end
    close(node)
  }

  private mutating func definition() throws(GraphQLSyntaxError) {
    let hasDescription = token == .string || token == .blockString
    if token == .leftBrace { return try shorthandOperation() }
    let start = lexer.start
    // The node is opened before the description, and its kind is known after it.
    let node = nodes.count
    nodes.append(SyntaxTree.Node(.document, start: start))
    try description()
    guard token == .name else { throw unexpected(Self.aDefinition) }
    if let kind = operationFlags {
      become(.operation, node)
      mark(node, kind)
      try operation(node)
    } else if lexer.isKeyword("fragment") {
      become(.fragmentDefinition, node)
      try fragmentDefinition(node)
    } else if lexer.isKeyword("extend") {
      guard !hasDescription else {
        throw lexer.error("an extension has no description; only a definition has one", at: start)
      }
      mark(node, .extension)
      try advance()
      try typeSystemDefinition(node, isExtension: true)
    } else if hasDescription, !isTypeSystemKeyword {
      throw lexer.error("a description stands before a definition, but this one is before \(lexer.found)", at: start)
    } else {
      try typeSystemDefinition(node, isExtension: false)
    }
    close(node)
  }

  static var aDefinition: String { "a definition, such as query, fragment or type" }

  /// Makes a node that has been opened one of another kind.
  mutating func become(_ kind: SyntaxKind, _ node: Int) {
    var changed = SyntaxTree.Node(kind, start: Int(nodes[node].start))
    changed.flags = nodes[node].flags
    nodes[node] = changed
  }

  mutating func description() throws(GraphQLSyntaxError) {
    if token == .string || token == .blockString { try value(isConstant: true) }
  }

  private var operationFlags: SyntaxTree.Flags? {
    if lexer.isKeyword("query") { return [] }
    if lexer.isKeyword("mutation") { return .mutation }
    if lexer.isKeyword("subscription") { return .subscription }
    return nil
  }

  private mutating func shorthandOperation() throws(GraphQLSyntaxError) {
    let node = open(.operation)
    mark(node, .shorthand)
    try selectionSet()
    close(node)
  }

  private mutating func operation(_ node: Int) throws(GraphQLSyntaxError) {
    try advance()
    if token == .name { try readName(of: node, "") }
    try optionalList(.variableDefinitions, .leftParenthesis, .rightParenthesis, of: "a variable, such as $id: ID!") {
      parser throws(GraphQLSyntaxError) in try parser.variableDefinition()
    }
    try directives(isConstant: false)
    try selectionSet()
  }

  private mutating func variableDefinition() throws(GraphQLSyntaxError) {
    let node = open(.variableDefinition)
    try description()
    try expect(.dollar, "a variable, such as $id: ID!")
    try readName(of: node, "the name of a variable")
    try expect(.colon, "\":\" and the type of the variable")
    try type()
    if try skip(.equals) { try value(isConstant: true) }
    try directives(isConstant: true)
    close(node)
  }

  private mutating func fragmentDefinition(_ node: Int) throws(GraphQLSyntaxError) {
    try advance()
    guard !lexer.isKeyword("on") else { throw unexpected("the name of a fragment, which must not be \"on\"") }
    try readName(of: node, "the name of a fragment")
    guard try skipKeyword("on") else { throw unexpected("\"on\" and the type of the fragment") }
    try namedType("the type of the fragment")
    try directives(isConstant: false)
    try selectionSet()
  }

  private mutating func selectionSet() throws(GraphQLSyntaxError) {
    // The selection sets that the place is in, and the fields and fragments that have them.
    var outer = [try openSelectionSet()]
    while let node = outer.last {
      guard nodes[node].kind == .selectionSet else {
        close(node)
        outer.removeLast()
        continue
      }
      // A selection set has at least one selection.
      if nodes.count > node + 1, try skip(.rightBrace) {
        closeNested(node)
        outer.removeLast()
      } else {
        guard token != .end else { throw unexpected("a selection or \"}\"") }
        if let selection = try selection() { outer += [selection, try openSelectionSet()] }
      }
    }
  }

  private mutating func openSelectionSet() throws(GraphQLSyntaxError) -> Int {
    guard token == .leftBrace else { throw unexpected("\"{\" and a selection") }
    return try openNested(.selectionSet)
  }

  /// Reads a selection up to its own selections; returns its node, which is still open, if it has some.
  private mutating func selection() throws(GraphQLSyntaxError) -> Int? {
    guard token == .spread else { return try field() }
    let start = lexer.start
    try advance()
    if token == .name, !lexer.isKeyword("on") {
      let node = open(.fragmentSpread, at: start)
      try readName(of: node, "")
      try directives(isConstant: false)
      close(node)
      return nil
    }
    let node = open(.inlineFragment, at: start)
    if try skipKeyword("on") { try namedType("the type of the fragment") }
    try directives(isConstant: false)
    return node
  }

  private mutating func field() throws(GraphQLSyntaxError) -> Int? {
    let node = open(.field)
    try readName(of: node, "a selection: a field or \"...\"")
    if try skip(.colon) {
      mark(node, .alias)
      try readName(of: node, "the name of a field after its alias")
    }
    try arguments(isConstant: false)
    try directives(isConstant: false)
    if token == .leftBrace { return node }
    close(node)
    return nil
  }

  private mutating func arguments(isConstant: Bool) throws(GraphQLSyntaxError) {
    try optionalList(.arguments, .leftParenthesis, .rightParenthesis, of: "an argument") {
      parser throws(GraphQLSyntaxError) in
      let node = parser.open(.argument)
      try parser.readName(of: node, "the name of an argument")
      try parser.expect(.colon, "\":\" and the value of the argument")
      try parser.value(isConstant: isConstant)
      parser.close(node)
    }
  }

  mutating func directives(isConstant: Bool) throws(GraphQLSyntaxError) {
    guard token == .at else { return }
    let list = open(.directives)
    while token == .at {
      let node = open(.directive)
      try advance()
      try readName(of: node, "the name of a directive")
      try arguments(isConstant: isConstant)
      close(node)
    }
    close(list)
  }
}

// MARK: - Values and types (sections 2.9 to 2.11)

extension Parser {
  mutating func value(isConstant: Bool) throws(GraphQLSyntaxError) {
    // The lists, the objects and their fields that the place is in.
    var outer: [Int] = []
    repeat {
      switch token {
      case .leftBracket: outer.append(try openNested(.list))
      case .leftBrace: outer.append(try openNested(.object))
      default: try leafValue(isConstant: isConstant)
      }
    } while try !closeValues(&outer)
  }

  /// Ends the values that end here; returns whether all do, and else reads up to the next value.
  private mutating func closeValues(_ outer: inout [Int]) throws(GraphQLSyntaxError) -> Bool {
    while let node = outer.last {
      switch nodes[node].kind {
      case .objectField: close(node)
      case .list:
        guard try skip(.rightBracket) else {
          guard token != .end else { throw unexpected("a value or \"]\"") }
          return false
        }
        closeNested(node)
      default:
        guard try skip(.rightBrace) else {
          let field = open(.objectField)
          try readName(of: field, "the name of an input field or \"}\"")
          try expect(.colon, "\":\" and the value of the input field")
          outer.append(field)
          return false
        }
        closeNested(node)
      }
      outer.removeLast()
    }
    return true
  }

  private mutating func leafValue(isConstant: Bool) throws(GraphQLSyntaxError) {
    switch token {
    case .int: try leaf(.int)
    case .float: try leaf(.float)
    case .string: try leaf(.string)
    case .blockString: try leaf(.string, .block)
    case .name:
      if lexer.isKeyword("true") { return try leaf(.boolean, .true) }
      if lexer.isKeyword("false") { return try leaf(.boolean) }
      if lexer.isKeyword("null") { return try leaf(.null) }
      let node = open(.enumValue)
      try readName(of: node, "")
      close(node)
    case .dollar:
      guard !isConstant else { throw unexpected("a constant value, since no variable may stand here") }
      let node = open(.variable)
      try advance()
      try readName(of: node, "the name of a variable")
      close(node)
    default: throw unexpected("a value")
    }
  }

  private mutating func leaf(_ kind: SyntaxKind, _ flags: SyntaxTree.Flags = []) throws(GraphQLSyntaxError) {
    let node = open(kind)
    mark(node, flags)
    try advance()
    close(node)
  }

  mutating func type() throws(GraphQLSyntaxError) {
    var lists: [Int] = []
    while token == .leftBracket { lists.append(try openNested(.listType)) }
    var type = nodes.count
    try namedType("a type")
    while true {
      if try skip(.bang) {
        mark(type, .nonNull)
        close(type)
      }
      guard let list = lists.popLast() else { return }
      try expect(.rightBracket, "\"]\" after the type of the elements")
      closeNested(list)
      type = list
    }
  }

  mutating func namedType(_ expected: StaticString) throws(GraphQLSyntaxError) {
    let node = open(.namedType)
    try readName(of: node, "\(expected)")
    close(node)
  }
}
