public import HTTPClientCore
public import StrictJSON
public import SystemBase

/// A response that wraps its content together with a code and a message, such as `{"code": 0, "msg": "ok", "data": …}`.
public struct Envelope<Keys: EnvelopeKeys, Content: Decodable & Sendable>: Decodable, Sendable {
  /// The code: a string, the digits of a number, or `true` or `false`.
  public let code: String

  /// The message; empty if there is none.
  public let message: String

  /// The content; `nil` if the code means failure.
  public let content: Content?

  /// Reads an envelope. If the code means success, the content must be there, unless its type has a value for `null`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: JSONKey.self)
    // A decoder that converts keys presents them in camelCase.
    func key(_ name: String) -> JSONKey {
      container.contains(.name(name)) ? .name(name) : .name(name.fromSnakeCase)
    }
    let codeKey = key(Keys.code)
    code =
      try (try? container.decode(Int64.self, forKey: codeKey)).map(String.init)
      ?? (try? container.decode(Bool.self, forKey: codeKey)).map(String.init)
      ?? container.decodeName(forKey: codeKey)
    message = try container.decodeIfPresent(String.self, forKey: key(Keys.message)) ?? ""
    let contentKey = key(Keys.content)
    if !Keys.isSuccess(code) {
      content = nil
    } else if container.contains(contentKey) {
      content = try container.decode(Content.self, forKey: contentKey)
    } else {
      content = try Content(from: container.superDecoder(forKey: contentKey))  // It finds null there.
    }
  }
}

extension KeyedDecodingContainer {
  /// Reads a string that is compared.
  fileprivate func decodeName(forKey key: Key) throws -> String {
    let name = try decode(String.self, forKey: key)
    guard name.isName else {
      throw DecodingError.dataCorruptedError(
        forKey: key, in: self, debugDescription: "It has too many combining characters in a row.")
    }
    return name
  }
}

extension Envelope: JSONDecodable where Content: JSONDecodable {
  /// Reads an envelope in one pass, with its members in any order.
  public init(from json: inout JSONReader) throws(JSONError) {
    var code: String?
    var message: String?
    var content: Result<Content, JSONError>?
    try json.beginObject()
    while try json.nextKey() {
      switch json.key {
      case Keys.code:
        code =
          switch try json.nextKind() {
          case .number: String(try json.readInteger(Int64.self))
          case .boolean: String(try json.readBool())
          default: try json.readName()
          }
      case Keys.message: message = try json.read()
      case Keys.content: content = try json.readResult()
      default: try json.skipValue()
      }
    }
    guard let code else { throw json.missing(Keys.code) }
    self.code = code
    self.message = message ?? ""
    guard Keys.isSuccess(code) else {
      self.content = nil
      return
    }
    if let content {
      self.content = try content.get()
    } else {
      // As if the member were null.
      guard let content = try? Content(json: "null") else { throw json.missing(Keys.content) }
      self.content = content
    }
  }
}

extension ResponseParser where Output: Decodable {
  /// The content of an envelope. If its code means failure, fails with `rejected`, the envelope's message, and an
  /// ``EnvelopeFailure`` as the cause, whatever the status.
  public static func envelope<Keys: EnvelopeKeys>(_ keys: Keys.Type) -> Self {
    ResponseParser(accept: "application/json") { response, decoder in
      let content = Result {
        let envelope = try decoder.decode(Envelope<Keys, Output>.self, from: response.body)
        guard let content = envelope.content else {
          throw EnvelopeFailure(code: envelope.code, message: envelope.message)
        }
        return content
      }
      if case .failure(let failure as EnvelopeFailure) = content {
        throw RequestError(
          .rejected, failure.message.isEmpty ? "The server responded with code \(failure.code)." : failure.message,
          status: response.head.status, cause: failure)
      }
      try response.requireSuccess()
      try response.requireJSON()
      return try content.get()
    }
  }
}

/// The names of an envelope's members, and which codes mean success.
///
///     enum CodeMsgData: EnvelopeKeys {
///       static let code = "code"
///       static let message = "msg"
///       static let content = "data"
///     }
public protocol EnvelopeKeys: Sendable {
  /// The name of the code.
  static var code: String { get }
  /// The name of the message.
  static var message: String { get }
  /// The name of the content.
  static var content: String { get }
  /// Whether a code means success; it is a string, the digits of a number, or `true` or `false`. By default `"0"` does.
  static func isSuccess(_ code: String) -> Bool
}

extension EnvelopeKeys {
  /// Only `"0"` is success.
  public static func isSuccess(_ code: String) -> Bool { code == "0" }
}

extension Envelope: Equatable where Content: Equatable {}

extension Envelope: Hashable where Content: Hashable {}

/// The code and the message of an envelope that reports a failure.
public struct EnvelopeFailure: Error, Hashable, CustomStringConvertible {
  /// The code, at most 256 bytes of it; a number as its digits.
  public let code: String
  /// The server's message, at most 1 KiB of it; empty if there is none.
  public let message: String

  /// Takes a code and a message.
  public init(code: String, message: String) {
    self.code = code.prefix(bytes: 256)
    self.message = message.prefix(bytes: 1024)
  }

  /// The code and the message on one line, with control characters made visible.
  public var description: String { "code \(code)\(message.isEmpty ? "" : ": ")\(message)".sanitized(upTo: 1536) }
}

extension EnvelopeFailure: RedactableCause {
  package func redacted(by redactor: Redactor) -> EnvelopeFailure {
    EnvelopeFailure(code: redactor.redact(code), message: redactor.redact(message))
  }
}

extension EnvelopeFailure: LocalizedError {
  /// What `localizedDescription` gives: `description`.
  public var errorDescription: String? { description }
}

extension RequestError.Kind {
  /// The server refused the request, by an envelope's code; `cause` is an ``EnvelopeFailure``.
  public static let rejected = RequestError.Kind("rejected")
}
