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
