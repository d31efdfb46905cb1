public import HTTPClientCore

/// Why a document was not parsed, although it may be well-formed: reading it might cost too much time or memory, or its
/// characters are in another encoding than UTF-8.
public struct DocumentRefusal: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong.
  public let description: String

  init(_ description: String) {
    self.description = description
  }
}

extension RequestError.Kind {
  /// The document is refused unread; the cause is a ``DocumentRefusal``.
  public static let refusedDocument = Self("document refused")
}

/// The encodings of which UTF-8 is one, by their names (of the Encoding Standard, and of IANA).
enum Charset {
  private static let names: Set = ["utf-8", "utf8", "unicode-1-1-utf-8", "us-ascii", "ascii"]

  /// Refuses an encoding by its name; a document that names none passes.
  static func check(_ name: String?) throws(DocumentRefusal) {
    guard let name, !names.contains(name.lowercased()) else { return }
    throw DocumentRefusal("It is in \(name.prefix(64)), not in UTF-8.")
  }

  /// The name in the parameter `charset` of a `Content-Type`; `nil` if there is none.
  static func name(inContentType type: String?) -> String? {
    type?.firstMatch(of: /(?i);\s*charset\s*=\s*["']?([^"';\s]+)/).map { String($0.1) }
  }
}

extension HTTPResponse {
  /// The encoding that the server names.
  var charset: String? { Charset.name(inContentType: head.headers["Content-Type"]) }

  /// Turns a refusal into a request's error.
  func refuse<Result>(_ parse: () throws(DocumentRefusal) -> Result) throws(RequestError) -> Result {
    do {
      return try parse()
    } catch {
      throw RequestError(
        .refusedDocument, "The document is refused: \(error)", status: head.status, cause: error)
    }
  }

  /// Throws if the response is of another media type.
  func requireMediaType(_ name: String, isRight: (String) -> Bool) throws(RequestError) {
    guard let type = head.mediaType, !isRight(type) else { return }
    throw RequestError(.undecodable, "Expected \(name), but the server sent \(type).", status: head.status)
  }
}
