/// A token for the server; no description, dump or mirror of it shows its value.
struct BearerToken: Equatable, Sendable {
  /// The variable of the environment that holds the token.
  static let variable = "MOMENTS_TOKEN"

  /// The variable that holds the token to get another one with.
  static let refreshVariable = "MOMENTS_REFRESH_TOKEN"

  /// The token itself.
  let value: String

  /// Takes a token of visible ASCII characters, which is all that a header can carry unchanged (RFC 9110, section 5.5).
  init(_ text: String, from variable: String = Self.variable) throws(UsageError) {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw UsageError(
        "\(variable) holds a blank or another character that a header cannot carry; set it to the token alone")
    }
    value = text
  }

  /// The value of the header `Authorization` (RFC 6750, section 2.1).
  var authorization: String { "Bearer \(value)" }
}

extension BearerToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  var description: String { "<redacted>" }
  var debugDescription: String { description }
  var customMirror: Mirror { Mirror(self, children: []) }
}
