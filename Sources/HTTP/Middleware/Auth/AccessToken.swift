public import Foundation

/// A token that a server takes as proof of who asks. No description, dump or mirror of it shows its value.
public struct AccessToken: Hashable, Sendable {
  /// The token itself.
  public let value: String

  /// When it ends, where that is known; it is then renewed ahead of that.
  public let expiresAt: Date?

  /// The account that the token belongs to: a request that was sent for one account is not sent again for another.
  /// Tokens without one count as belonging to a single account, so set it wherever users change.
  public let account: String?

  /// Takes a token, when it ends, and whose it is.
  public init(_ value: String, expiresAt: Date? = nil, account: String? = nil) {
    self.value = value
    self.expiresAt = expiresAt
    self.account = account
  }
}

extension AccessToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// A placeholder.
  public var description: String { Redactor.placeholder }
  /// A placeholder.
  public var debugDescription: String { description }
  /// Nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
