public import Foundation

/// A token that identifies the caller to a server. Its description, dump and mirror do not show its value.
public struct AccessToken: Hashable, Sendable {
  /// The token itself.
  public let value: String

  /// When it expires, if known; it is then renewed ahead of time.
  public let expiresAt: Date?

  /// The account that the token belongs to: a request that was sent for one account is not sent again for another.
  /// Tokens without one count as belonging to a single account, so set it wherever users change.
  public let account: String?

  /// Takes a token, its time of expiry, and the account that it belongs to.
  public init(_ value: String, expiresAt: Date? = nil, account: String? = nil) {
    self.value = value
    self.expiresAt = expiresAt
    self.account = account
  }

  /// The token, as a refresh returned it; throws `undecodable` if it contains a control character, which no header may:
  /// the server is at fault, and if it were kept, every request would fail.
  package func checkedAfterRefresh() throws(RequestError) -> AccessToken {
    guard !value.holdsControl else {
      throw RequestError(.undecodable, "The new token contains a control character, such as a line break.")
    }
    return self
  }
}

extension AccessToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// A placeholder.
  public var description: String { Redactor.placeholder }
  /// A placeholder.
  public var debugDescription: String { description }
  /// An empty mirror.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
