import GraphQLClient
import HTTPClientCore
import StrictJSON
import SystemBase

/// What a recording leaves out, and what must be found nowhere in it.
///
/// - The value of a header field is replaced by `<redacted>` unless it is known to be public (`HTTPField.isPublic`) or
///   is one of ``shownHeaders``. Of `Location`, the address is shown without user, query, fragment and known secrets.
/// - The value of a member of a JSON body, a field of a form and a parameter of a query is replaced if its name has one
///   of ``names`` as a part, in requests and in responses. It need not be whole JSON: so in a text that was cut, in lines
///   and events, in JSON inside a string, in the literals of a document, and in URLs.
/// - What a session declares secret is replaced: texts that are one of its `secrets`, and all texts of a response with
///   `isResponseSecret`, but for dates and words of fewer than 8 bytes.
/// - Each value that was replaced, and each of ``values``, must then be found nowhere else, however it is spelt: the
///   recording is refused otherwise, with the place. Values of fewer than 8 bytes are not searched for.
/// - A body in which nothing can be looked for, such as JSON that is not UTF-8, is refused, too.
public struct CassetteSecrets: Hashable, Sendable {
  /// Names of members, fields and parameters whose values are secret, regardless of case, `_` and `-`. A name of five
  /// letters or more counts as a part of others, too: `token` stands for `resetToken` and `tokens`, but not for what is
  /// about one, such as `tokenType`. A shorter one counts as a word of others, as `otp` of `otp_value`; `code` and `key`
  /// as a whole name alone. The `code` of an error is none.
  public var names: Set<String>
  /// Names of parameters of URLs and forms that are secret beside ``names``, by the same rules.
  public var parameterNames = Self.usualParameterNames
  /// Names of header fields, regardless of case, whose values are recorded beside those that are known to be public.
  public var shownHeaders: Set<String>
  /// Further values that must not be recorded, such as a password of the account that is used.
  public var values: [String]

  /// The names that are secret by default: passwords, tokens and keys as most APIs call them.
  public static let usualNames: Set<String> = [
    "access_key", "api_key", "assertion", "auth_code", "authorization", "backup_code", "code", "code_verifier",
    "credential", "device_code", "jwt", "otp", "passcode", "passphrase", "passwd", "password", "private_key", "pwd",
    "recovery_code", "secret", "session_id", "session_key", "sid", "signing_key", "token", "user_code",
    "verification_code",
  ]

  /// The names of parameters that are secret by default: keys and signatures in URLs.
  public static let usualParameterNames: Set<String> = ["hmac", "key", "sig", "signature"]

  /// The rules, by default with ``usualNames``.
  public init(names: Set<String> = usualNames, shownHeaders: Set<String> = [], values: [String] = []) {
    self.names = names
    self.shownHeaders = shownHeaders
    self.values = values
  }

  /// Fixed values that say nothing, and validators, which are as public as the `ETag` that they repeat.
  private static let openHeaders: Set<String> = [
    "accept-ranges", "apollo-require-preflight", "content-range", "graphql-require-preflight", "if-match",
    "if-none-match", "range", "x-graphql-yoga-csrf",
  ]

  func shows(_ field: HTTPField) -> Bool {
    let name = field.name.lowercased()
    return field.isPublic || Self.openHeaders.contains(name) || shownHeaders.containsName(name)
  }
}

extension CassetteSecrets: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The names, and how many values there are: none of the values.
  public var description: String {
    "CassetteSecrets(names: \(names.sorted()), shownHeaders: \(shownHeaders.sorted()), \(values.count) values)"
  }

  /// What a debugger and `String(reflecting:)` show: no secrets either.
  public var debugDescription: String { description }

  /// What `dump` shows: the same as `description`.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Set<String> {
  fileprivate func containsName(_ name: String) -> Bool { contains { $0.lowercased() == name } }
}

/// Takes the secrets out of what is recorded, and remembers them.
struct SecretFinder: Sendable {
  /// `nil` if nothing is secret.
  private let rules: CassetteSecrets?
  private let names: SecretNames
  /// Why a body cannot be recorded: nothing can be looked for in it.
  private(set) var unreadable: String?
  /// What was found, as fields named by where it stood, since the values of fields are never printed.
  private var found: Set<HTTPField>
  /// The secrets that were declared: a string that is one of them is replaced wherever it stands.
  private var declared: Set<String>

  init(_ rules: CassetteSecrets?) {
    self.rules = rules
    names = SecretNames(rules)
    declared = Set(rules?.values ?? [])
    found = Set(rules?.values.map { HTTPField(received: "one of the given values", value: $0) } ?? [])
  }

  func isSecret(_ name: String, isParameter: Bool = false) -> Bool {
    names.contains(name, isParameter: isParameter)
  }

  /// Takes note that a body cannot be searched.
  mutating func refuse(_ reason: String) {
    if rules != nil, unreadable == nil { unreadable = reason }
  }

  /// Returns why a body cannot be recorded, once.
  mutating func takeUnreadable() -> String? {
    defer { unreadable = nil }
    return unreadable
  }

  mutating func add(_ value: String, from origin: String) {
    if value != Redactor.placeholder { found.insert(HTTPField(received: origin, value: value)) }
  }

  /// Notes the secrets that a session declares.
  mutating func addSecrets(of request: HTTPRequest) {
    guard rules != nil else { return }
    for secret in request.context.secrets {
      declared.insert(secret.value)
      add(secret.value, from: "a secret of the session")
    }
  }

  /// The field, with its value replaced unless it may be shown.
  mutating func redact(_ field: HTTPField) -> HTTPField {
    guard let rules, !rules.shows(field) else { return field }
    let origin = "the header '\(field.name)'"
    if field.hasName("Location") {
      return HTTPField(received: field.name, value: redact(address: field.value, from: origin))
    }
    if field.hasName("Set-Cookie") {
      // The attributes of a cookie are no secrets.
      add(String(field.value.prefix { $0 != ";" }), from: origin)
    } else {
      add(field.value, from: origin)
    }
    // The user is often a name that stands elsewhere, too.
    if let password = field.basicCredentials.last { add(password, from: origin) }
    return HTTPField(received: field.name, value: Redactor.placeholder)
  }

  /// The value without what stands under a secret name. Numbers become a placeholder, too, or 0 where a decoder is to
  /// read them.
  mutating func redact(
    _ json: RecordedJSON, under name: String? = nil, isDecoded: Bool, isError: Bool = false
  ) -> RecordedJSON {
    switch json {
    case .array(let elements):
      return .array(elements.map { redact($0, under: name, isDecoded: isDecoded, isError: isError) })
    case .object(let members):
      let isError = isError || json["message"] != nil
      return .object(
        members.map { member in
          let isCode = isError && member.key == "code"
          let name = name ?? (!isCode && isSecret(member.key) ? member.key : nil)
          let isError = isError || ["error", "errors", "extensions"].contains(member.key)
          return .init(
            key: member.key, value: redact(member.value, under: name, isDecoded: isDecoded, isError: isError))
        })
    case .string(let text): return .string(redact(text, under: name))
    case .scalar(let raw):
      guard let name, raw.isNumber else { return json }
      add(json.text, from: "'\(name)'")
      return isDecoded ? .zero : .string(Redactor.placeholder)
    }
  }

  /// The placeholder for a text under a secret name, and for a declared secret.
  mutating func redact(_ text: String, under name: String?) -> String {
    guard name != nil || declared.contains(text) else { return scan(text) }
    add(text, from: name.map { "'\($0)'" } ?? "a declared secret")
    return Redactor.placeholder
  }

  /// A response that is secret as a whole, without strings that may be a token: dates and short words are none.
  mutating func redactSecretResponse(_ json: RecordedJSON) -> RecordedJSON {
    switch json {
    case .array(let elements): return .array(elements.map { redactSecretResponse($0) })
    case .object(let members):
      return .object(members.map { .init(key: $0.key, value: redactSecretResponse($0.value)) })
    case .string(let text) where text.utf8.count >= 8 && Date(iso8601: text) == nil:
      add(text, from: "a response that its session declares secret")
      return .string(Redactor.placeholder)
    case .string, .scalar: return json
    }
  }

  /// The text without what stands under a secret name: in lines that are JSON, perhaps as data of an event, and anywhere
  /// else.
  mutating func redact(lines text: String, isDecoded: Bool) -> String {
    scan(
      text.lines.map { line in
        let start = line.firstIndex { $0 == "{" || $0 == "[" } ?? line.endIndex
        guard ["", "data:"].contains(line[..<start].filter { $0 != " " }), let json = RecordedJSON(line[start...])
        else {
          return line
        }
        let redacted = redact(json, isDecoded: isDecoded)
        guard redacted != json else { return line }
        return line[..<start] + redacted.text + (line.hasSuffix("\r") ? "\r" : "")
      }.joined(separator: "\n"))
  }

  /// The text without values that stand under a secret name, in whatever form.
  private mutating func scan(_ text: String) -> String {
    guard rules != nil else { return text }
    let scan = SecretScan(text, names)
    for (name, value) in scan.found { add(value, from: "'\(name)'") }
    return scan.text
  }

  /// Whether a secret stands in bytes that are no text, so that it cannot be taken out.
  func findsNames(in bytes: Data) -> Bool {
    rules != nil && !SecretScan(String(decoding: bytes, as: UTF8.self), names).found.isEmpty
  }

  /// An address to go to, without user and password, and without the values of its query and its fragment that are secret
  /// by their name, or long enough to be.
  private mutating func redact(address: String, from origin: String) -> String {
    var address = address
    if let start = address.firstRange(of: "//")?.upperBound,
      let at = address[start...].prefix(while: { !"/?#".contains($0) }).lastIndex(of: "@")
    {
      let user = String(address[start..<at])
      add(user, from: origin)
      if let password = user.split(separator: ":", maxSplits: 1).last { add(String(password), from: origin) }
      address.replaceSubrange(start...at, with: "")
    }
    guard let end = address.firstIndex(where: { "?#".contains($0) }) else { return address }
    var result = String(address[..<end])
    for piece in address[end...].pieces(before: ["?", "#", "&"]) {
      let name = piece.dropFirst().prefix { $0 != "=" }
      let isNamed = name.count + 1 < piece.count
      let value = String(isNamed ? piece.dropFirst(name.count + 2) : piece.dropFirst())
      guard value.utf8.count >= 8 || isNamed && isSecret(String(name), isParameter: true), !value.isEmpty else {
        result += piece
        continue
      }
      add(value, from: origin)
      if let decoded = value.percentDecoded, decoded != value { add(decoded, from: origin) }
      result += piece.prefix(1) + (isNamed ? name + "=" : "") + Self.placeholderInURL
    }
    return result
  }

  /// The placeholder as it stands in an address.
  static let placeholderInURL = "%3Credacted%3E"

  /// The text of a path or an address, without what was found anywhere.
  func redactKnown(inURL text: String) -> String {
    let redacted = Redactor(secretsOf: found).redact(text)
    return redacted == text ? text : redacted.replacing(Redactor.placeholder, with: Self.placeholderInURL)
  }

  /// Where in a cassette a secret stands, and which it is; `nil` if there is none.
  func secret(in json: RecordedJSON) -> (place: String, origin: String)? {
    let all = Redactor(secretsOf: found)
    var open = [(path: "", json: json)]
    while let (path, json) = open.popLast() {
      switch json {
      case .array(let elements):
        open += elements.enumerated().map { ("\(path)[\($0)]", $1) }.reversed()
      case .object(let members):
        for member in members where all.finds(in: member.key) {
          return (path.isEmpty ? "a key" : "a key of \(path)", origin(of: member.key))
        }
        open += members.map { (path.isEmpty ? $0.key : "\(path).\($0.key)", $0.value) }.reversed()
      case .string(let text) where all.finds(in: text): return (path, origin(of: text))
      case .scalar where all.finds(in: json.text): return (path, origin(of: json.text))
      case .string, .scalar: break
      }
    }
    return nil
  }

  /// Which secret stands in the bytes of a file; `nil` if there is none.
  func secret(in body: Data) -> String? {
    let text = String(decoding: body, as: UTF8.self)
    return Redactor(secretsOf: found).finds(in: text) ? origin(of: text) : nil
  }

  private func origin(of text: String) -> String {
    found.filter { Redactor(secretsOf: [$0]).finds(in: text) }.map(\.name).min() ?? "a proxy's credentials"
  }
}

extension Redactor {
  fileprivate func finds(in text: String) -> Bool {
    guard text != Self.placeholder else { return false }
    // With an end behind it, so that a text is not taken for a secret that was cut.
    let text = text + "\n"
    return redact(text) != text
  }
}

extension Substring {
  /// The text in pieces that begin with one of these.
  fileprivate func pieces(before marks: Set<Character>) -> [Substring] {
    var pieces: [Substring] = []
    var start = startIndex
    for index in indices where index > startIndex && marks.contains(self[index]) {
      pieces.append(self[start..<index])
      start = index
    }
    return pieces + [self[start...]]
  }
}

extension RawJSON {
  fileprivate var isNumber: Bool { bytes.first.map { $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) } ?? false }
}

extension RecordedJSON {
  fileprivate static let zero = RecordedJSON("0") ?? .string(Redactor.placeholder)
}
