public import Foundation
public import HTTP
import JSON

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
  func redacted(by redactor: Redactor) -> EnvelopeFailure {
    EnvelopeFailure(code: redactor.redact(code), message: redactor.redact(message))
  }
}

extension EnvelopeFailure: LocalizedError {
  /// The same as `description`: what `localizedDescription` gives.
  public var errorDescription: String? { description }
}

extension RequestError.Kind {
  /// The server refused the request, by an envelope's code; `cause` is an ``EnvelopeFailure``.
  public static let rejected = RequestError.Kind("rejected")
}
