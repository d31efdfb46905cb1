/// The kind and the name of an operation in a GraphQL document.
public struct GraphQLOperation: Hashable, Sendable {
  /// What an operation does (GraphQL specification, section 2.3).
  public enum Kind: String, Sendable {
    /// Reads.
    case query
    /// Writes, then reads.
    case mutation
    /// Subscribes: a response for each event.
    case subscription
  }

  /// The kind of operation.
  public let kind: Kind

  /// Its name, if it has one.
  public let name: String?
}

extension GraphQLOperation {
  /// The operations of a document: its top-level definitions that are not fragments.
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
          let name = tokens.peek().flatMap { $0.utf8.first?.isNameStart == true ? String($0) : nil }
          operations.append(GraphQLOperation(kind: kind, name: name))
        }
      }
    }
    return operations
  }
}

/// The names and punctuators of a document, in order, without comments and strings (GraphQL specification, section
/// 2.1). Works on bytes, since a combining character after a quote would make it another `Character`.
private struct GraphQLTokens {
  private static let quote = "\"".utf8
  private static let blockQuote = "\"\"\"".utf8
  private var rest: Substring.UTF8View

  init(_ document: String) {
    rest = Substring(document).utf8
  }

  func peek() -> Substring? {
    var copy = self
    return copy.next()
  }

  mutating func next() -> Substring? {
    while let first = rest.first {
      if first == UInt8(ascii: "#") {
        rest = rest.drop { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
      } else if rest.starts(with: Self.blockQuote) {
        skip(Self.blockQuote, escape: "\\\"\"\"".utf8)
      } else if first == UInt8(ascii: "\"") {
        skip(Self.quote, escape: "\\\"".utf8, "\\\\".utf8)
      } else if first.isNameStart {
        let name = rest.prefix { $0.isNameStart || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        rest = rest[name.endIndex...]
        return Substring(name)
      } else {
        let token = rest.prefix(1)
        rest.removeFirst()
        if "{}()[]@$".utf8.contains(first) { return Substring(token) }
      }
    }
    return nil
  }

  private mutating func skip(_ quote: String.UTF8View, escape escapes: String.UTF8View...) {
    rest.removeFirst(quote.count)
    while !rest.isEmpty, !rest.starts(with: quote) {
      rest.removeFirst(escapes.first { rest.starts(with: $0) }?.count ?? 1)
    }
    rest = rest.dropFirst(quote.count)
  }
}

extension UInt8 {
  fileprivate var isNameStart: Bool {
    self == UInt8(ascii: "_") || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
  }
}
