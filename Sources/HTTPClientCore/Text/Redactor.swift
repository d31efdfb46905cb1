import Streams
public import SystemBase

/// Removes from a text the secrets of requests: the values of headers that are not known to be public, and others that
/// are sent.
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
  /// For each byte whether a secret begins with it, or an escape of one.
  private let beginnings: [Bool]

  /// What every redactor removes although no request contains it.
  private static let secretsForAll = Locked<[String]>([])

  /// Makes all redactors that are created from now on remove these.
  static func addForAll(_ secrets: [String]) {
    secretsForAll.withLock { all in
      for secret in secrets where !all.contains(where: { $0.hasBytes(of: secret) }) { all.append(secret) }
    }
  }

  /// Differs once ``addForAll(_:)`` has added something.
  static var version: Int { secretsForAll.withLock { $0.count } }

  /// Takes the secrets of a request: the value of each header that is not public, and each part of it between white
  /// space, commas, semicolons, quotes and equals signs; the user and the password of the scheme `Basic`; the values of
  /// its query, but for those parameters that carry a GraphQL operation; and what its session declares secret. Only
  /// those of 8 bytes or more count.
  public init(secretsOf request: HTTPRequest) {
    self.init(secrets: Self.secrets(of: request) + Self.secrets(of: request.context.secrets))
  }

  /// Takes the secrets of the upgrade to a WebSocket: those of an HTTP request, and its subprotocols.
  public init(secretsOf request: WebSocketRequest) {
    self.init(secrets: Self.secrets(of: request))
  }

  /// Takes the secrets of header fields, which may come from several requests.
  package init(secretsOf fields: some Sequence<HTTPField>) {
    self.init(secrets: Self.secrets(of: fields))
  }

  init(secrets: [String]) {
    let all = secrets + Self.secretsForAll.withLock { $0 }.flatMap(Self.parts)
    self.init(Array(Set(all.filter(Self.isSecret).map { Array($0.utf8) })))
  }

  /// Removes what any of these do.
  init(joining redactors: [Redactor]) {
    self.init(Array(Set(redactors.flatMap(\.secrets))))
  }

  private init(_ secrets: [[UInt8]]) {
    self.secrets = secrets
    var beginnings = Array(repeating: false, count: 256)
    for byte in secrets.compactMap(\.first) + [UInt8(ascii: "\\"), UInt8(ascii: "%")] { beginnings[Int(byte)] = true }
    self.beginnings = beginnings
  }

  /// The text without the secrets, whether they are spelt plainly, as in JSON, as in a URL, or as `sanitized` writes
  /// them. Where the text was cut (at its end or before an ellipsis, perhaps within a character), the beginning of a
  /// secret is taken out, too, if it has 8 bytes or more.
  public func redact(_ text: String) -> String {
    guard !secrets.isEmpty else { return text }
    let bytes = Array(text.utf8)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var place = 0
    while place < bytes.count {
      if beginnings[Int(bytes[place])], let end = endOfSecret(from: place, in: bytes) {
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
    for escaping in Escaping.allCases {
      // Read once instead of once per secret, as the text may consist of nothing but escapes.
      let first = escaping.escape(at: place, in: text)
      for secret in secrets where first?.mayBegin(secret) ?? (secret.first == text[place]) {
        guard let end = escaping.end(of: secret, from: place, in: text, first: first),
          end - place >= Self.shortestSecret
        else { continue }
        longest = max(longest ?? 0, end)
      }
    }
    return longest
  }

  /// The start of a body as text, redacted and sanitized, of at most `limit` bytes; `nil` if the body is empty.
  public func excerpt(of body: Data, upTo limit: Int = 512) -> String? {
    // Redacting may shorten the text, so take more than is shown.
    let text = String(decoding: body.prefix(4 * limit), as: UTF8.self)
    return body.isEmpty ? nil : redact(text).sanitized(upTo: limit)
  }
}

// MARK: - What is secret

extension Redactor {
  /// Whether a value is long enough to count.
  static func isSecret(_ value: String) -> Bool { value.utf8.count >= shortestSecret }

  static func secrets(of request: HTTPRequest) -> [String] {
    secrets(of: request.headers) + queryValues(of: request.target.text)
  }

  static func secrets(of request: WebSocketRequest) -> [String] {
    // A name such as `graphql-transport-ws` is no secret, but a token that stands among the names is one.
    secrets(of: request.headers) + queryValues(of: request.url.absoluteString)
      + request.subprotocols.filter { !isKnownSubprotocol($0) }
  }

  static func secrets(of fields: some Sequence<HTTPField>) -> [String] {
    fields.filter { !$0.isPublic }.flatMap { parts(of: $0.value) + $0.basicCredentials }
  }

  /// A value, and its parts.
  static func parts(of value: String) -> [String] {
    var parts = [value]
    for word in value.split(whereSeparator: \.isWhitespace) {
      parts.append(String(word))
      for part in word.split(whereSeparator: { ",;=\"".contains($0) }) { parts.append(String(part)) }
    }
    return parts
  }

  /// The values of a URL's query, as they stand there and decoded. A part without a name counts as a value.
  static func queryValues(of url: String) -> [String] {
    guard let start = url.utf8.firstIndex(of: UInt8(ascii: "?")) else { return [] }
    let query = url[url.utf8.index(after: start)...].prefix { $0 != "#" }
    return query.split(separator: "&").flatMap { pair in
      let name = pair.prefix { $0 != "=" }
      if name.count < pair.count, graphQLParameters.contains(String(name)) { return [String]() }
      let value = String(name.count < pair.count ? pair.dropFirst(name.count + 1) : pair)
      return [value, value.replacing("+", with: " ").percentDecoded].compactMap { $0 }
    }
  }

  /// The parameters of a GraphQL request by `GET` (GraphQL over HTTP, section 5.3): as secret as the body of a `POST`,
  /// which is what its session declares.
  private static let graphQLParameters: Set<String> = ["query", "operationName", "variables", "extensions"]

  /// Whether this is one of the names of subprotocols that are widely known.
  static func isKnownSubprotocol(_ name: String) -> Bool { knownSubprotocols.contains(name.lowercased()) }

  private static let knownSubprotocols: Set<String> = [
    "graphql-transport-ws", "graphql-ws", "actioncable-v1-json", "mqtt", "soap", "stomp", "v10.stomp", "v11.stomp",
    "v12.stomp", "wamp", "xmpp",
  ]
}

extension HTTPField {
  /// The user and the password of the scheme `Basic` (RFC 7617, section 2), apart and together.
  package var basicCredentials: [String] {
    guard value.prefix(6).lowercased() == "basic ",
      let bytes = Data(base64Encoded: String(String(value.dropFirst(6)).trimmed))
    else { return [] }
    let parts = bytes.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
    return ([bytes] + parts.map { Data($0) }).map { String(decoding: $0, as: UTF8.self) }
  }
}

extension Redactor: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Shows only how many secrets there are.
  public var description: String { "Redactor(\(secrets.count))" }

  /// What a debugger and `String(reflecting:)` show: no secrets either.
  public var debugDescription: String { description }

  /// What `dump` shows: the same as `description`.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// How a text may escape the bytes of a secret; bytes that are not escaped stand for themselves.
enum Escaping: CaseIterable {
  /// No escapes.
  case plain
  /// RFC 8259, section 7.
  case json
  /// RFC 3986, section 2.1.
  case url
  /// As `sanitized` escapes what is invisible.
  case sanitized

  private static let ellipsis = Array("…".utf8)
  /// What a decoder puts in place of a character that was cut.
  private static let replacement = Array("\u{FFFD}".utf8)
  /// Two `\u` with four digits each.
  private static let longestEscape = 12

  /// What an escape stands for.
  enum Escape {
    /// These bytes; the escape is `count` bytes long.
    case bytes([UInt8], count: Int)
    /// Unknown: the text was cut here, within the escape.
    case cut(at: Int)

    /// Whether a secret may begin with it.
    func mayBegin(_ secret: [UInt8]) -> Bool {
      switch self {
      case .bytes(let bytes, _): secret.starts(with: bytes)
      case .cut: true
      }
    }
  }

  /// The escape that begins at `place`; `nil` if there is none.
  func escape(at place: Int, in text: [UInt8]) -> Escape? {
    guard place < text.count, isEscape(text[place]) else { return nil }
    if let (bytes, count) = unescaped(text[place...]) { return .bytes(bytes, count: count) }
    return endOfCutEscape(from: place, in: text).map { .cut(at: $0) }
  }

  /// Where the secret that begins at `place` ends, or where the text was cut within it; `nil` if the secret is not
  /// there. `first` is the escape at `place`, if there is one.
  func end(of secret: [UInt8], from place: Int, in text: [UInt8], first: Escape?) -> Int? {
    var place = place
    var rest = secret[...]
    var escape = first
    while let next = rest.first {
      switch escape {
      case .bytes(let bytes, let count):
        guard rest.starts(with: bytes) else { return nil }
        rest = rest.dropFirst(bytes.count)
        place += count
      case .cut(let end): return end
      case nil:
        guard place < text.count, text[place] == next else {
          // A replacement character or ellipsis may begin with the same bytes as the secret's own character.
          let start = text.startOfScalar(at: place)
          return isCut(text, at: start) ? start : nil
        }
        rest = rest.dropFirst()
        place += 1
      }
      escape = self.escape(at: place, in: text)
    }
    return place
  }

  private func isCut(_ text: [UInt8], at place: Int) -> Bool {
    guard place < text.count else { return place == text.count }
    guard text[place] >= 0x80 else { return false }
    var rest = text[place...]
    if rest.starts(with: Self.replacement) { rest = rest.dropFirst(Self.replacement.count) }
    return rest.isEmpty || rest.starts(with: Self.ellipsis)
  }

  /// Where the text was cut within the escape that begins at `place`; `nil` if it was not.
  private func endOfCutEscape(from place: Int, in text: [UInt8]) -> Int? {
    let isLong = self != .url && place + 1 < text.count && text[place + 1] == UInt8(ascii: "u")
    let length = isLong ? Self.longestEscape : self == .url ? 3 : 2
    guard let end = (place + 1..<place + length).first(where: { isCut(text, at: $0) }) else { return nil }
    return mayBeginEscape(text[place..<end]) ? end : nil
  }

  /// Whether these may be the first bytes of an escape.
  private func mayBeginEscape(_ bytes: ArraySlice<UInt8>) -> Bool {
    let digit = UInt8(ascii: "0")
    let longest = self == .url ? "%00" : self == .json ? #"\u0000\u0000"# : #"\u{00000000}"#
    return zip(bytes, longest.utf8).allSatisfy { $1 == digit ? $0.hexDigitValue != nil : $0 == $1 }
  }

  private func isEscape(_ byte: UInt8) -> Bool {
    switch self {
    case .plain: false
    case .json, .sanitized: byte == UInt8(ascii: "\\")
    case .url: byte == UInt8(ascii: "%")
    }
  }

  /// The bytes that the escape at the start of `text` stands for, and its length.
  private func unescaped(_ text: ArraySlice<UInt8>) -> (bytes: [UInt8], count: Int)? {
    if self == .url { return text.dropFirst().hexadecimal(digits: 2).map { ([UInt8(truncatingIfNeeded: $0)], 3) } }
    guard let letter = text.dropFirst().first else { return nil }
    switch letter {
    case UInt8(ascii: "u"): return self == .json ? text.jsonScalar : text.sanitizedScalar
    case UInt8(ascii: "n"): return ([10], 2)
    case UInt8(ascii: "r"): return ([13], 2)
    case UInt8(ascii: "t"): return ([9], 2)
    case UInt8(ascii: "b") where self == .json: return ([8], 2)
    case UInt8(ascii: "f") where self == .json: return ([12], 2)
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return self == .json ? ([letter], 2) : nil
    default: return nil
    }
  }
}

extension [UInt8] {
  /// The start of the scalar that the byte at `place` belongs to, in well-formed UTF-8; at the end of the text, the
  /// end.
  fileprivate func startOfScalar(at place: Int) -> Int {
    place < count ? self[...place].lastIndex { $0 & 0xC0 != 0x80 } ?? place : place
  }
}

extension ArraySlice<UInt8> {
  /// The value of the first digits; `nil` if there are fewer.
  fileprivate func hexadecimal(digits: Int) -> UInt32? {
    let values = prefix(digits).compactMap(\.hexDigitValue)
    return values.count == digits ? values.reduce(0) { $0 << 4 | UInt32($1) } : nil
  }

  /// The scalar of an escape such as `\u00E9`, or of two that form a surrogate pair.
  fileprivate var jsonScalar: (bytes: [UInt8], count: Int)? {
    guard let first = dropFirst(2).hexadecimal(digits: 4) else { return nil }
    if let scalar = Unicode.Scalar(first) { return (Array(String(scalar).utf8), 6) }
    guard (0xD800...0xDBFF).contains(first), dropFirst(6).starts(with: "\\u".utf8),
      let second = dropFirst(8).hexadecimal(digits: 4), (0xDC00...0xDFFF).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    else { return nil }
    return (Array(String(scalar).utf8), 12)
  }

  /// The scalar of an escape such as `\u{E9}`.
  fileprivate var sanitizedScalar: (bytes: [UInt8], count: Int)? {
    guard starts(with: "\\u{".utf8) else { return nil }
    let digits = dropFirst(3).prefix(9).prefix { $0 != UInt8(ascii: "}") }
    guard (1...8).contains(digits.count), dropFirst(3 + digits.count).first == UInt8(ascii: "}"),
      let value = digits.hexadecimal(digits: digits.count), let scalar = Unicode.Scalar(value)
    else { return nil }
    return (Array(String(scalar).utf8), digits.count + 4)
  }
}
