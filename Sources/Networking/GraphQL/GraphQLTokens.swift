import Foundation
import HTTP
import JSON

/// The names and punctuators of a document, in order, without comments and strings (GraphQL specification, section
/// 2.1). Works on bytes, since a combining character after a quote would make it another `Character`.
package struct GraphQLTokens {
  private static let quote = "\"".utf8
  private static let blockQuote = "\"\"\"".utf8
  private static let spread = "...".utf8
  private var rest: Substring.UTF8View

  package init(_ document: String) {
    rest = Substring(document).utf8
  }

  /// The next token if it is a name; another is left for `next()`.
  package mutating func nextName() -> String? {
    var copy = self
    guard let token = copy.next(), token.utf8.first?.isNameStart == true else { return nil }
    self = copy
    return String(token)
  }

  package mutating func next() -> Substring? {
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
      } else if rest.starts(with: Self.spread) {
        rest.removeFirst(Self.spread.count)
        return "..."
      } else {
        let token = rest.prefix(1)
        rest.removeFirst()
        if "{}()[]@$!=:".utf8.contains(first) { return Substring(token) }
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
