public import Foundation

/// Takes out of a text what a request kept secret: the values of its headers that are not known to be public.
///
/// A server may send a token back in its answer; with this it does not reach an error or a log.
public struct Redactor: Sendable {
  /// What stands in the place of a secret.
  public static let placeholder = "<redacted>"

  private let secrets: [String]

  /// Takes the secrets of a request: each value of a header that is not public, and each word of it, from
  /// 8 characters on.
  public init(secretsOf request: HTTPRequest) {
    self.init(secretsOf: request.headers)
  }

  /// Takes the secrets of header fields.
  package init(secretsOf fields: some Sequence<HTTPField>) {
    let values = fields.filter { !$0.isPublic }.map(\.value)
    let words = values.flatMap { $0.split(separator: " ").map(String.init) }
    secrets = Set(values + words).filter { $0.utf8.count >= 8 }.sorted { $0.utf8.count > $1.utf8.count }
  }

  /// The text without the secrets.
  public func redact(_ text: String) -> String {
    secrets.reduce(text) { $0.replacingOccurrences(of: $1, with: Self.placeholder) }
  }

  /// The start of a body as text, redacted, harmless, and at most `limit` bytes of it.
  public func excerpt(of body: Data, upTo limit: Int = 512) -> String? {
    // A secret may reach over the limit: redact somewhat more than is shown.
    let text = String(decoding: body.prefix(4 * limit), as: UTF8.self)
    return body.isEmpty ? nil : redact(text).harmless(upTo: limit)
  }
}
