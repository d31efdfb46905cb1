public import HTTP
import JSON

/// The code and the message of an envelope that tells of a failure.
public struct EnvelopeFailure: Error, Hashable {
  /// The code, a number as its digits; at most 256 bytes of it.
  public let code: String
  /// The message, in the server's words, at most 1 KiB of them; empty where there is none.
  public let message: String

  /// Takes a code and a message.
  public init(code: String, message: String) {
    self.code = code.prefix(bytes: 256)
    self.message = message.prefix(bytes: 1024)
  }
}

extension EnvelopeFailure: RedactableCause {
  func redacted(by redactor: Redactor) -> EnvelopeFailure {
    EnvelopeFailure(code: redactor.redact(code), message: redactor.redact(message))
  }
}

extension RequestError.Kind {
  /// The server understood and said no, by an envelope's code; `cause` is an ``EnvelopeFailure``.
  public static let rejected = RequestError.Kind("rejected")
}
