package import HTTPClientCore
import StrictJSON
public import SystemBase

/// Why a response cannot be decoded: the place, and what was expected there. Both are escaped for terminals and logs,
/// and at most 512 bytes long.
public struct DecodingFailure: Error, Hashable, CustomStringConvertible {
  /// The path, such as `data.items[3].id`; empty for the whole body.
  public let path: String

  /// What was expected.
  public let reason: String

  /// Makes a failure from a path and a reason.
  public init(path: String, reason: String) {
    // Both may contain text from the response: keys in the path, or a value that does not fit.
    self.path = path.sanitized(upTo: 512)
    self.reason = reason.sanitized(upTo: 512)
  }

  /// Takes the path and the reason from a decoder's or an encoder's error.
  package init(_ error: any Error) {
    switch (error as? DecodingError)?.context.underlyingError as? JSONError ?? error {
    case let failure as DecodingFailure:
      self = failure
    case let error as JSONError:
      self.init(error.path.map(\.key), error.reason)
    case DecodingError.keyNotFound(let key, let context):
      self.init(context.codingPath + [key], "a value is missing")
    case DecodingError.valueNotFound(let type, let context):
      self.init(context.codingPath, "expected \(type), found null")
    case DecodingError.typeMismatch(let type, let context):
      self.init(context.codingPath, "expected \(type), found another type")
    case DecodingError.dataCorrupted(let context):
      // Its description may contain the value, as that of an enum does.
      self.init(context.codingPath, "the value is refused")
    case EncodingError.invalidValue(_, let context):
      self.init(context.codingPath, context.debugDescription)
    default:
      self.init([], "unreadable (\(type(of: error)))")
    }
  }

  private init(_ path: [any CodingKey], _ reason: String) {
    let text = path.reduce(into: "") { text, key in
      if let index = key.intValue {
        text += "[\(index)]"
      } else {
        text += text.isEmpty ? key.stringValue : ".\(key.stringValue)"
      }
    }
    self.init(path: text, reason: reason)
  }

  /// The failure of a value that is a member of the whole body.
  func inside(_ member: String) -> DecodingFailure {
    DecodingFailure(path: path.isEmpty ? member : member + (path.first == "[" ? "" : ".") + path, reason: reason)
  }

  /// The path and the reason.
  public var description: String { path.isEmpty ? reason : "At \(path): \(reason)" }
}

extension DecodingError {
  fileprivate var context: Context {
    switch self {
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
      .dataCorrupted(let context):
      context
    @unknown default: Context(codingPath: [], debugDescription: "")
    }
  }
}

extension JSONError.PathElement {
  fileprivate var key: any CodingKey {
    switch self {
    case .key(let name): JSONKey.name(name)
    case .index(let index): JSONKey.index(index)
    }
  }
}

extension DecodingFailure: RedactableCause {
  package func redacted(by redactor: Redactor) -> DecodingFailure {
    DecodingFailure(path: redactor.redact(path), reason: redactor.redact(reason))
  }
}

extension DecodingFailure: LocalizedError {
  /// What `localizedDescription` gives: `description`.
  public var errorDescription: String? { description }
}

extension RequestError {
  /// The given error if it is a `RequestError`; otherwise `undecodable`, with the place and the reason.
  init(reading error: any Error, status: Int? = nil) {
    if let error = error as? RequestError {
      self = error
    } else {
      let failure = DecodingFailure(error)
      self.init(.undecodable, failure.description, status: status, cause: failure)
    }
  }
}
