/// The kind and the name of an operation in a GraphQL document.
public struct GraphQLOperation: Hashable, Sendable {
  /// What an operation does (GraphQL specification, section 2.3).
  public enum Kind: String, Sendable {
    /// Reads.
    case query
    /// Writes, then reads.
    case mutation
    /// Reads on and on.
    case subscription
  }

  /// What it does.
  public let kind: Kind

  /// Its name, where it has one.
  public let name: String?
}

extension GraphQLOperation {
  /// The operations of a document: the definitions outside of all braces that are no fragments.
  static func all(in document: String) -> [GraphQLOperation] {
    var operations: [GraphQLOperation] = []
    var tokens = GraphQLTokens(document)
    var depth = 0
    var isInDefinition = false
    while let token = tokens.next() {
      switch token {
      case "{", "(", "[":
        if token == "{", depth == 0, !isInDefinition { operations.append(GraphQLOperation(kind: .query, name: nil)) }
        isInDefinition = true
        depth += 1
      case "}", ")", "]":
        depth -= 1
        if token == "}", depth == 0 { isInDefinition = false }
      default:
        guard depth == 0, !isInDefinition else { continue }
        isInDefinition = true
        if let kind = Kind(rawValue: String(token)) {
          let name = tokens.peek().flatMap { $0.first.map { $0.isLetter || $0 == "_" } == true ? String($0) : nil }
          operations.append(GraphQLOperation(kind: kind, name: name))
        }
      }
    }
    return operations
  }
}

/// The names and brackets of a document, one after the other; comments and texts are left out.
private struct GraphQLTokens {
  private var rest: Substring

  init(_ document: String) {
    rest = Substring(document)
  }

  func peek() -> Substring? {
    var copy = self
    return copy.next()
  }

  mutating func next() -> Substring? {
    while let first = rest.first {
      if first == "#" {
        rest = rest.drop { !$0.isNewline }
      } else if rest.hasPrefix("\"\"\"") {
        skip(to: "\"\"\"")
      } else if first == "\"" {
        skip(to: "\"")
      } else if first.isLetter || first == "_" {
        let name = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        rest = rest[name.endIndex...]
        return name
      } else {
        let token = rest.prefix(1)
        rest.removeFirst()
        if "{}()[]@$".contains(first) { return token }
      }
    }
    return nil
  }

  private mutating func skip(to quote: String) {
    rest.removeFirst(quote.count)
    while !rest.isEmpty, !rest.hasPrefix(quote) { rest.removeFirst(rest.first == "\\" ? min(2, rest.count) : 1) }
    rest = rest.dropFirst(quote.count)
  }
}
