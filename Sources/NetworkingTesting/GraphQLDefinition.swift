import Networking

/// What an operation or a fragment of a document declares, and what it uses of the document.
struct GraphQLDefinition {
  /// The name; fragments and all but one operation have one.
  private(set) var name: String?
  private(set) var isFragment = false
  /// The variables that the operation declares, in order.
  private(set) var declared: [Variable] = []
  private(set) var usedVariables: Set<String> = []
  private(set) var usedFragments: Set<String> = []

  struct Variable {
    let name: String
    /// Whether a request must give it a value: its type is not nullable, and it has no default.
    var isRequired = false
  }

  /// The definitions of a document, in order; `nil` if its brackets do not match.
  static func all(in document: String) -> [GraphQLDefinition]? {
    var tokens = GraphQLTokens(document)
    var definitions: [GraphQLDefinition] = []
    while let token = tokens.next() {
      guard let definition = GraphQLDefinition(token, &tokens) else { return nil }
      definitions.append(definition)
    }
    return definitions
  }

  /// Reads the definition that begins with a token.
  private init?(_ first: Substring, _ tokens: inout GraphQLTokens) {
    if first == "{" {
      guard readBrackets("{", &tokens) else { return nil }
      return
    }
    isFragment = first == "fragment"
    name = tokens.nextName()
    var mayDeclare = !isFragment
    while let token = tokens.next() {
      switch token {
      case "(" where mayDeclare:
        guard readDeclarations(&tokens) else { return nil }
        mayDeclare = false
      case "{", "(", "[":
        guard readBrackets(token, &tokens) else { return nil }
        if token == "{" { return }
      case "}", ")", "]": return nil
      default: mayDeclare = false
      }
    }
    return nil
  }

  /// Reads to the bracket that matches one.
  private mutating func readBrackets(_ first: Substring, _ tokens: inout GraphQLTokens) -> Bool {
    var awaited = [Self.closing(first)]
    while let last = awaited.last, let token = tokens.next() {
      switch token {
      case "{", "(", "[": awaited.append(Self.closing(token))
      case last: awaited.removeLast()
      case "}", ")", "]": return false
      case "$": tokens.nextName().map { _ = usedVariables.insert($0) }
      case "...":
        // `on` begins a type condition, and is no fragment's name (section 2.8).
        if let name = tokens.nextName(), name != "on" { usedFragments.insert(name) }
      default: break
      }
    }
    return awaited.isEmpty
  }

  /// Reads `$id: ID!, $count: Int! = 20)`.
  private mutating func readDeclarations(_ tokens: inout GraphQLTokens) -> Bool {
    var isInType = false
    while let token = tokens.next() {
      switch token {
      case ")": return true
      case "$":
        guard let name = tokens.nextName() else { return false }
        declared.append(Variable(name: name))
      case ":": isInType = true
      case "=", "@":
        isInType = false
        if token == "=", !declared.isEmpty { declared[declared.count - 1].isRequired = false }
      case "{", "(": guard readBrackets(token, &tokens) else { return false }
      case "}": return false
      default:
        // The last token of a type tells: `[Int!]` is nullable.
        if isInType, !declared.isEmpty { declared[declared.count - 1].isRequired = token == "!" }
      }
    }
    return false
  }

  private static func closing(_ bracket: Substring) -> Substring {
    bracket == "{" ? "}" : bracket == "(" ? ")" : "]"
  }
}
