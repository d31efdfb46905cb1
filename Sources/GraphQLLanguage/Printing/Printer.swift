extension SyntaxView {
  /// The text in the usual format, which is that of graphql-js: two spaces of indentation, a selection a line, arguments
  /// on a line of their own each if they need more than 80 UTF-16 code units together, no commas but between arguments.
  ///
  /// A text that is parsed and printed says the same as before, and is printed the same the next time.
  /// - Parameter keepingComments: Whether comments are printed, too: before what they stood before, or at the end of the
  ///   line that they ended. graphql-js drops them.
  public func printed(keepingComments: Bool = false) -> String {
    var printer = Printer(node.tree, comments: keepingComments ? Comments(of: node) : Comments())
    printer.print(node)
    return printer.text
  }
}

/// Prints nodes, one function for each production of the grammar: it puts what is to be written into `steps`, the nodes
/// in it among that. So the stack does not grow with the depth of a tree.
private struct Printer {
  private static let lineLimit = 80

  private enum Step {
    case node(SyntaxNode)
    case text(StaticString)
    /// Bytes of the source.
    case source(Range<Int>)
    /// A string in quotes, which may have several lines.
    case string(StringSyntax)
    case newLine
    /// Changes the indentation.
    case indent(Int)
    /// The comments up to an offset in the source.
    case comments(before: Int, isClosing: Bool)
    case commentAtLineEnd(after: Int)
  }

  private let tree: SyntaxTree
  private let widths: LineWidths
  private var comments: Comments
  private var bytes: [UInt8] = []
  private var indentation = 0
  /// What the node consists of that is being taken apart.
  private var steps: [Step] = []

  init(_ tree: SyntaxTree, comments: Comments) {
    self.tree = tree
    self.comments = comments
    widths = LineWidths(tree)
    bytes.reserveCapacity(tree.source.count)
  }

  var text: String { String(decoding: bytes, as: UTF8.self) }

  mutating func print(_ node: SyntaxNode) {
    perform([.node(node), .comments(before: .max, isClosing: true)])
  }

  private mutating func perform(_ first: [Step]) {
    // The next step is the last.
    var pending: [Step] = first.reversed()
    while let step = pending.popLast() {
      switch step {
      case .node(let node):
        take(node)
        pending.append(contentsOf: steps.reversed())
        steps.removeAll(keepingCapacity: true)
      case .text(let text):
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
      case .source(let range): bytes.append(contentsOf: tree.source[range])
      case .string(let string): writeLines(string.printed)
      case .newLine: newLine()
      case .indent(let levels): indentation += levels
      case .comments(let offset, let isClosing): writeComments(before: offset, isClosing: isClosing)
      case .commentAtLineEnd(let offset): writeCommentAtLineEnd(after: offset)
      }
    }
  }

  /// Takes a node apart.
  private mutating func take(_ node: SyntaxNode) {
    switch node.kind {
    case .document: separate(node.children, by: "\n\n")
    case .operation: operation(node)
    case .fragmentDefinition:
      description(node)
      write("fragment ", node.name)
      prefixed(" on ", node.child(.namedType))
      prefixed(" ", node.child(.directives))
      prefixed(" ", node.child(.selectionSet))
    case .selectionSet, .operationTypeDefinitions, .fieldDefinitions, .enumValueDefinitions: block(node)
    case .field: field(node)
    case .fragmentSpread:
      write("...", node.name)
      prefixed(" ", node.child(.directives))
    case .inlineFragment:
      write("...")
      prefixed(" on ", node.child(.namedType))
      prefixed(" ", node.child(.directives))
      prefixed(" ", node.child(.selectionSet))
    case .variableDefinition:
      description(node)
      write("$")
      inputValue(node)
    case .inputValueDefinition:
      description(node)
      inputValue(node)
    case .arguments: inline(node, "(", ")")
    case .argument, .objectField:
      write("", node.name)
      write(": ")
      steps += node.children.map { .node($0) }
    case .directives: separate(node.children, by: " ")
    case .directive:
      write("@", node.name)
      prefixed("", node.child(.arguments))
    case .variable: write("$", node.name)
    case .int, .float, .boolean, .null, .enumValue, .directiveLocation: steps.append(.source(node.range))
    case .string: if let string = StringSyntax(node) { steps.append(.string(string)) }
    case .list: wrapped(node, "[", "]", isWide: widths[node] > Self.lineLimit)
    case .object:
      let isWide = widths[node] > Self.lineLimit || comments.isInside(node)
      wrapped(node, isWide ? "{" : "{ ", isWide ? "}" : " }", isWide: isWide)
    case .namedType, .listType: type(node)
    case .interfaces: separate(node.children, by: " & ")
    case .unionMembers, .directiveLocations: separate(node.children, by: " | ")
    case .variableDefinitions, .inputValueDefinitions: definitions(node, indented: node.kind == .inputValueDefinitions)
    default: typeSystem(node)
    }
  }

  // MARK: Executable definitions

  private mutating func operation(_ node: SyntaxNode) {
    description(node)
    guard let operation = OperationSyntax(node) else { return }
    let isShort =
      operation.kind == .query && operation.name == nil && node.children.count == 1
    if !isShort {
      write(operation.kind.keyword)
      // graphql-js has the space also before the variables of an operation without a name.
      if operation.name != nil || !operation.variables.isEmpty { write(" ") }
      if let name = operation.name { write("", name) }
      prefixed("", node.child(.variableDefinitions))
      prefixed(" ", node.child(.directives))
      write(" ")
    }
    prefixed("", node.child(.selectionSet))
  }

  private mutating func field(_ node: SyntaxNode) {
    guard let field = FieldSyntax(node) else { return }
    var width = field.name.range.count
    if let alias = field.alias {
      write("", alias)
      write(": ")
      width += alias.range.count + 2
    }
    write("", field.name)
    if let arguments = node.child(.arguments) {
      wrapped(arguments, "(", ")", isWide: width + widths[arguments] > Self.lineLimit)
    }
    prefixed(" ", node.child(.directives))
    prefixed(" ", node.child(.selectionSet))
  }

  /// `name: Type = default @directives`.
  private mutating func inputValue(_ node: SyntaxNode) {
    write("", node.name)
    write(": ")
    type(TypeSyntax(in: node).node)
    prefixed(" = ", node.valueAfterType?.node)
    prefixed(" ", node.child(.directives))
  }

  private mutating func type(_ node: SyntaxNode) {
    var lists: [SyntaxNode] = []
    var type = node
    while type.kind == .listType {
      write("[")
      lists.append(type)
      type = TypeSyntax(in: type).node
    }
    write("", type.name)
    if type.raw.flags.contains(.nonNull) { write("!") }
    for list in lists.reversed() { write(list.raw.flags.contains(.nonNull) ? "]!" : "]") }
  }

  private mutating func description(_ node: SyntaxNode) {
    guard let description = node.description else { return }
    steps += [.string(description), .newLine]
  }

  // MARK: Type system definitions

  private mutating func typeSystem(_ node: SyntaxNode) {
    description(node)
    if node.kind.isTypeOrSchemaDefinition, node.raw.flags.contains(.extension) { write("extend ") }
    switch node.kind {
    case .schemaDefinition: write("schema")
    case .operationTypeDefinition:
      write("", node.name)
      prefixed(": ", node.child(.namedType))
    case .directiveDefinition:
      write("directive @", node.name)
      prefixed("", node.child(.inputValueDefinitions))
      if node.raw.flags.contains(.repeatable) { write(" repeatable") }
      prefixed(" on ", node.child(.directiveLocations))
    case .fieldDefinition:
      write("", node.name)
      prefixed("", node.child(.inputValueDefinitions))
      write(": ")
      type(TypeSyntax(in: node).node)
      prefixed(" ", node.child(.directives))
    case .enumValueDefinition:
      write("", node.name)
      prefixed(" ", node.child(.directives))
    default:
      guard let type = TypeDefinitionSyntax(node) else { return }
      write(type.kind.keyword)
      write(" ", node.name)
      prefixed(" implements ", node.child(.interfaces))
    }
    guard node.kind.isTypeOrSchemaDefinition else { return }
    prefixed(" ", node.child(.directives))
    prefixed(" = ", node.child(.unionMembers))
    for kind in [SyntaxKind.operationTypeDefinitions, .fieldDefinitions, .enumValueDefinitions] {
      prefixed(" ", node.child(kind))
    }
    if let fields = node.child(.inputValueDefinitions) {
      write(" ")
      block(fields)
    }
  }

  /// Variables or arguments: on one line if none of them needs more.
  private mutating func definitions(_ list: SyntaxNode, indented: Bool) {
    if !comments.isInside(list) {
      let (start, pending) = (bytes.count, comments)
      inline(list, "(", ")")
      let line = steps
      steps = []
      // No such list is within another, so that this is no recursion without a bound.
      perform(line)
      guard bytes[start...].contains(UInt8(ascii: "\n")) else { return }
      bytes.removeSubrange(start...)
      comments = pending
    }
    lines(list, "(", ")", indented: indented)
  }

  // MARK: Lists

  private mutating func inline(_ list: SyntaxNode, _ opening: StaticString, _ closing: StaticString) {
    write(opening)
    for (index, element) in list.children.enumerated() {
      if index > 0 { write(", ") }
      steps.append(.node(element))
    }
    write(closing)
  }

  private mutating func wrapped(
    _ list: SyntaxNode, _ opening: StaticString, _ closing: StaticString, isWide: Bool
  ) {
    if isWide || comments.isInside(list) {
      lines(list, opening, closing, indented: true)
    } else {
      inline(list, opening, closing)
    }
  }

  private mutating func block(_ list: SyntaxNode) {
    lines(list, "{", "}", indented: true)
  }

  /// An element a line.
  private mutating func lines(
    _ list: SyntaxNode, _ opening: StaticString, _ closing: StaticString, indented: Bool
  ) {
    write(opening)
    if indented { steps.append(.indent(1)) }
    // In a list without elements there are only comments, each of which begins a line.
    if !list.children.isEmpty { steps.append(.newLine) }
    separate(list.children, by: "\n")
    steps.append(.comments(before: list.range.upperBound, isClosing: true))
    if indented { steps.append(.indent(-1)) }
    steps.append(.newLine)
    write(closing)
  }

  private mutating func separate(_ nodes: SyntaxList<SyntaxNode>, by separator: StaticString) {
    let isLineEach = separator.utf8Start[0] == UInt8(ascii: "\n")
    for (index, node) in nodes.enumerated() {
      if index > 0 {
        if isLineEach { steps += repeatElement(.newLine, count: separator.utf8CodeUnitCount) } else { write(separator) }
      }
      if isLineEach { steps.append(.comments(before: node.range.lowerBound, isClosing: false)) }
      steps.append(.node(node))
      if isLineEach { steps.append(.commentAtLineEnd(after: node.range.upperBound)) }
    }
  }

  private mutating func prefixed(_ prefix: StaticString, _ node: SyntaxNode?) {
    guard let node else { return }
    write(prefix)
    steps.append(.node(node))
  }

  private mutating func write(_ text: StaticString) {
    if text.utf8CodeUnitCount > 0 { steps.append(.text(text)) }
  }

  private mutating func write(_ prefix: StaticString, _ name: NameSyntax) {
    write(prefix)
    steps.append(.source(name.range))
  }

  // MARK: Comments

  /// Writes the comments up to an offset in the source, each on a line of its own.
  /// - Parameter isClosing: Whether what follows is the end of a list, and not an element of it.
  private mutating func writeComments(before offset: Int, isClosing: Bool) {
    while let comment = comments.next(before: offset) {
      if isClosing, comment.followsBlankLine { bytes.append(UInt8(ascii: "\n")) }
      if isClosing { newLine() }
      bytes.append(contentsOf: tree.source[comment.range])
      if isClosing { continue }
      if comment.precedesBlankLine { bytes.append(UInt8(ascii: "\n")) }
      newLine()
    }
  }

  private mutating func writeCommentAtLineEnd(after offset: Int) {
    guard let comment = comments.nextOnSameLine(after: offset, in: tree.source) else { return }
    bytes.append(UInt8(ascii: " "))
    bytes.append(contentsOf: tree.source[comment.range])
  }

  // MARK: Bytes

  /// Writes a block string; its lines are indented like what is around.
  private mutating func writeLines(_ text: String) {
    for byte in text.utf8 {
      if byte == UInt8(ascii: "\n") { newLine() } else { bytes.append(byte) }
    }
  }

  private mutating func newLine() {
    bytes.append(UInt8(ascii: "\n"))
    bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * indentation))
  }
}

/// How many UTF-16 code units each value, and each list of arguments, takes on one line. One pass, children first.
private struct LineWidths {
  private var widths: [Int] = []

  init(_ tree: SyntaxTree) {
    widths = Array(repeating: 0, count: tree.nodes.count)
    for index in tree.nodes.indices.reversed() {
      let node = SyntaxNode(tree, UInt32(index))
      switch node.kind {
      case .arguments, .list: widths[index] = 2 + joined(node)
      case .object: widths[index] = 4 + joined(node)
      case .argument, .objectField: widths[index] = node.name.range.count + 2 + joined(node)
      default: break
      }
    }
  }

  subscript(node: SyntaxNode) -> Int { widths[Int(node.id)] }

  private func joined(_ list: SyntaxNode) -> Int {
    var width = 0
    for (index, element) in list.children.enumerated() { width += (index > 0 ? 2 : 0) + self.width(of: element) }
    return width
  }

  private func width(of node: SyntaxNode) -> Int {
    switch node.kind {
    case .argument, .objectField, .list, .object: widths[Int(node.id)]
    case .string: StringSyntax(node)?.printed.utf16.count ?? 0
    default: node.range.count
    }
  }
}

extension StringSyntax {
  /// The string as it is printed: in the kind of quotes that it has.
  fileprivate var printed: String { isBlock ? StringLiteral.block(value) : StringLiteral.quoted(value) }
}

extension SyntaxKind {
  fileprivate var isTypeOrSchemaDefinition: Bool {
    switch self {
    case .schemaDefinition, .scalarTypeDefinition, .objectTypeDefinition, .interfaceTypeDefinition,
      .unionTypeDefinition, .enumTypeDefinition, .inputObjectTypeDefinition:
      true
    default: false
    }
  }
}

extension OperationSyntax.Kind {
  fileprivate var keyword: StaticString {
    switch self {
    case .query: "query"
    case .mutation: "mutation"
    case .subscription: "subscription"
    }
  }
}

extension TypeDefinitionSyntax.Kind {
  fileprivate var keyword: StaticString {
    switch self {
    case .scalar: "scalar"
    case .object: "type"
    case .interface: "interface"
    case .union: "union"
    case .enum: "enum"
    case .inputObject: "input"
    }
  }
}
