public import HTTPClientCore

/// Why a document was not parsed, although it may be well-formed: reading it might cost too much time or memory.
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

extension HTTPResponse {
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
