/// What the members of an envelope are called, and which code means success.
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
  /// Whether a code means success, a number given as its digits; `"0"` alone does unless said otherwise.
  static func isSuccess(_ code: String) -> Bool
}

extension EnvelopeKeys {
  /// Zero alone is success.
  public static func isSuccess(_ code: String) -> Bool { code == "0" }
}
