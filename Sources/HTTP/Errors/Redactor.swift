public import Foundation

/// Takes out of a text what requests kept secret: the values of their headers that are not known to be public.
///
/// A server may send a token back in its answer; with this it does not reach an error or a log.
public struct Redactor: Sendable {
  /// What stands in the place of a secret.
  public static let placeholder = "<redacted>"

  // A shorter value is no secret: it would take words out of every text.
  private static let shortestSecret = 8

  /// The secrets in each of their spellings, longest first.
  private let secrets: [[UInt8]]

  /// Takes the secrets of a request: each value of a header that is not public, and each part of it between white
  /// space, commas, semicolons, quotes and equals signs, from 8 bytes on.
  public init(secretsOf request: HTTPRequest) {
    self.init(secretsOf: request.headers)
  }

  /// Takes the secrets of header fields, of several requests maybe.
  package init(secretsOf fields: some Sequence<HTTPField>) {
    let values = fields.filter { !$0.isPublic }.map(\.value)
    let parts = values.flatMap { value in
      value.split(separator: " ").flatMap { [$0] + $0.split { ",;=\"".contains($0) } }.map(String.init)
    }
    let spellings = Set(values + parts).flatMap { secret in
      [
        secret, secret.replacingOccurrences(of: "/", with: "\\/"),
        secret.addingPercentEncoding(withAllowedCharacters: .unreserved) ?? secret,
      ]
    }
    secrets = Set(spellings.map { Array($0.utf8) }).filter { $0.count >= Self.shortestSecret }
      .sorted { $0.count > $1.count }
  }

  /// The text without the secrets, in plain spelling and in those of JSON and URLs; where it was cut, at its end or
  /// before an ellipsis, also without the first 8 or more bytes of one.
  public func redact(_ text: String) -> String {
    guard !secrets.isEmpty else { return text }
    return text.unicodeScalars.split(separator: "…", omittingEmptySubsequences: false)
      .map { redactPiece(Array(String($0).utf8)) }
      .joined(separator: "…")
  }

  private func redactPiece(_ bytes: [UInt8]) -> String {
    var result: [UInt8] = []
    var rest = bytes[...]
    while let byte = rest.first {
      if let count = secretLength(in: rest) {
        result += Self.placeholder.utf8
        rest = rest.dropFirst(count)
      } else {
        result.append(byte)
        rest = rest.dropFirst()
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// How many bytes of a secret a text begins with, be it a whole one or as much as there is text.
  private func secretLength(in text: ArraySlice<UInt8>) -> Int? {
    guard text.count >= Self.shortestSecret else { return nil }
    return secrets.first { $0.first == text.first && text.starts(with: $0.prefix(text.count)) }
      .map { min($0.count, text.count) }
  }

  /// The start of a body as text, redacted, harmless, and at most `limit` bytes of it.
  public func excerpt(of body: Data, upTo limit: Int = 512) -> String? {
    // Redacting may shorten the text: take somewhat more than is shown.
    let text = String(decoding: body.prefix(4 * limit), as: UTF8.self)
    return body.isEmpty ? nil : redact(text).harmless(upTo: limit)
  }
}

extension CharacterSet {
  /// What RFC 3986, section 2.3 never percent-encodes.
  fileprivate static let unreserved = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
}

extension Redactor: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// How many spellings of secrets it knows.
  public var description: String { "Redactor(\(secrets.count))" }

  /// The same as `description`.
  public var debugDescription: String { description }

  /// What `dump` shows: the same as `description`.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
