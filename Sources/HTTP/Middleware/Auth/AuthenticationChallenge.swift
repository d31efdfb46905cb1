/// How to recognise an answer that rejects the request's token.
///
/// Networking adds `graphQL`, which also knows errors with the code `UNAUTHENTICATED`.
public struct AuthenticationChallenge: Sendable {
  /// Whether an answer with this head may be one, so that it has to be held back and looked at.
  let isPossible: @Sendable (HTTPResponseHead) -> Bool

  /// Whether the answer is one.
  let isMet: @Sendable (HTTPResponse) -> Bool

  /// Takes by which heads an answer is to be looked at, and what makes it a challenge. An answer that is looked at is
  /// held back until it is whole; of a body over 64 KiB the second closure sees that much.
  public init(
    isPossible: @escaping @Sendable (HTTPResponseHead) -> Bool, isMet: @escaping @Sendable (HTTPResponse) -> Bool
  ) {
    self.isPossible = isPossible
    self.isMet = isMet
  }

  /// The status 401 (RFC 9110, section 15.5.2).
  public static let http = AuthenticationChallenge(isPossible: { $0.status == 401 }, isMet: { $0.head.status == 401 })
}
