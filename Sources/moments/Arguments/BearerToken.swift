/// A token for the server, whose value no description, dump or mirror shows.
struct BearerToken: Equatable, Sendable {
  /// The environment variable with the token.
  static let variable = "MOMENTS_TOKEN"

  /// The environment variable with the refresh token.
  static let refreshVariable = "MOMENTS_REFRESH_TOKEN"

  /// The token itself.
  let value: String

  /// Takes a token of visible ASCII characters, the only ones that a header can carry unchanged (RFC 9110, section
  /// 5.5).
  init(_ text: String, from variable: String = Self.variable) throws(UsageError) {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw UsageError(
        "\(variable) holds a blank or another character that a header cannot carry; set it to the token alone")
    }
    value = text
  }

  /// The value of the `Authorization` header (RFC 6750, section 2.1).
  var authorization: String { "Bearer \(value)" }
}

extension BearerToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  var description: String { "<redacted>" }
  var debugDescription: String { description }
  var customMirror: Mirror { Mirror(self, children: []) }
}
