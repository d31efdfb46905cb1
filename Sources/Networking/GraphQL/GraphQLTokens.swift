import Foundation
public import HTTP
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

extension AuthenticationChallenge {
  /// Status 401, or a GraphQL response of any status that has an error with the code `UNAUTHENTICATED`, and no data: if
  /// there is data, something was carried out, and the request must not be sent again.
  ///
  /// A mutation that is not idempotent is not sent again either if one of the errors is from inside a mutation's
  /// result: by then it was carried out, even if the error left no data. If a document has several mutations, the
  /// response cannot tell whether others were carried out before the one that was refused: send such mutations one by
  /// one.
  public static let graphQL = AuthenticationChallenge(
    isPossible: { $0.status == 401 || $0.isJSON || $0.mediaType == nil },
    isMet: { $0.head.status == 401 || $0.body.errorsWithoutData.contains(where: \.isUnauthenticated) },
    mayFollowEffects: { $0.head.status != 401 && $0.body.errorsWithoutData.contains { $0.path.count > 1 } })
}

extension Data {
  /// The errors of a GraphQL response without data, if any of them may be `UNAUTHENTICATED`.
  fileprivate var errorsWithoutData: [GraphQLError] {
    // This is enough for most responses, which are then not parsed twice.
    guard holds(GraphQLError.unauthenticatedCode),
      let envelope = try? GraphQLEnvelope<NoContent>(json: bytes),
      envelope.data == nil, envelope.failure == nil
    else { return [] }
    return envelope.errors
  }

  /// Whether the bytes of a text, which is not empty, occur. Foundation's search takes many times longer than receiving
  /// the response.
  private func holds(_ text: String) -> Bool {
    let text = Array(text.utf8)
    return withUnsafeBytes { bytes in
      var position = 0
      while let start = bytes.firstIndex(of: text[0], from: position) {
        if bytes[start...].starts(with: text) { return true }
        position = start + 1
      }
      return false
    }
  }
}
