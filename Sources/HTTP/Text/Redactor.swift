public import Foundation

/// Removes from a text the secrets of requests: the values of headers that are not known to be public.
///
/// A server may send a token back in its response; the redactor keeps it out of errors and logs. Every redactor also
/// removes the credentials of all proxies that a ``ProxyConfiguration`` of the process names: transports add those
/// below the middlewares, so no request contains them.
public struct Redactor: Sendable {
  /// What replaces a secret.
  public static let placeholder = "<redacted>"

  // A shorter value does not count as a secret: redacting it would remove ordinary words from texts.
  private static let shortestSecret = 8

  private let secrets: [[UInt8]]

  /// What every redactor removes although no request contains it.
  private static let secretsForAll = Locked<Set<String>>([])

  /// Makes all redactors that are created from now on remove these.
  static func addForAll(_ secrets: [String]) {
    secretsForAll.withLock { $0.formUnion(secrets) }
  }

  /// Takes the secrets of a request: the value of each header that is not public, what its session declares secret, and
  /// each part of these between white space, commas, semicolons, quotes and equals signs. Only those of 8 bytes or more
  /// count.
  public init(secretsOf request: HTTPRequest) {
    self.init(secretsOf: Array(request.headers) + request.secrets)
  }

  /// Takes the secrets of header fields, which may come from several requests.
  package init(secretsOf fields: some Sequence<HTTPField>) {
    let values = fields.filter { !$0.isPublic }.map(\.value) + Self.secretsForAll.withLock { Array($0) }
    let parts = values.flatMap { value in
      value.split(whereSeparator: \.isWhitespace).flatMap { [$0] + $0.split { ",;=\"".contains($0) } }.map(String.init)
    }
    secrets = Set((values + parts).map { Array($0.utf8) }).filter { $0.count >= Self.shortestSecret }
  }

  /// The text without the secrets, whether they are spelt plainly, as in JSON, as in a URL, or as `harmless` writes
  /// them. Where the text was cut (at its end or before an ellipsis, perhaps within a character), the beginning of a
  /// secret is taken out, too, if it has 8 bytes or more.
  public func redact(_ text: String) -> String {
    guard !secrets.isEmpty else { return text }
    let bytes = Array(text.utf8)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var place = 0
    while place < bytes.count {
      if let end = endOfSecret(from: place, in: bytes) {
        result += Self.placeholder.utf8
        place = end
      } else {
        result.append(bytes[place])
        place += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Where the longest secret ends that begins at `place`, whether it is complete or cut off by the end of the text.
  private func endOfSecret(from place: Int, in text: [UInt8]) -> Int? {
    var longest: Int?
    for spelling in Spelling.allCases {
      // Read once instead of once per secret, as the text may consist of nothing but escapes.
      let first = spelling.escape(at: place, in: text)
      for secret in secrets where first?.mayBegin(secret) ?? (secret.first == text[place]) {
        guard let end = spelling.end(of: secret, from: place, in: text, first: first),
          end - place >= Self.shortestSecret
        else { continue }
        longest = max(longest ?? 0, end)
      }
    }
    return longest
  }

  /// The start of a body as text, redacted and made harmless, of at most `limit` bytes; `nil` if the body is empty.
  public func excerpt(of body: Data, upTo limit: Int = 512) -> String? {
    // Redacting may shorten the text, so take more than is shown.
    let text = String(decoding: body.prefix(4 * limit), as: UTF8.self)
    return body.isEmpty ? nil : redact(text).harmless(upTo: limit)
  }
}

extension Redactor: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Shows only how many secrets there are.
  public var description: String { "Redactor(\(secrets.count))" }

  /// The same as `description`.
  public var debugDescription: String { description }

  /// What `dump` shows: the same as `description`.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
