/// How to recognise a response that rejects the request's token.
///
/// The module Networking adds `graphQL`, which also recognises errors with the code `UNAUTHENTICATED`.
public struct AuthenticationChallenge: Sendable {
  /// Whether a response with this head may be a challenge, so that it has to be held back and examined.
  let isPossible: @Sendable (HTTPResponseHead) -> Bool

  /// Whether the response is a challenge.
  let isMet: @Sendable (HTTPResponse) -> Bool

  /// Whether part of the request may have been carried out before the challenge, so that it is sent again only if it is
  /// replayable.
  let mayFollowEffects: @Sendable (HTTPResponse) -> Bool

  /// Takes two closures: whether a response with this head may be a challenge, and whether the response is one. A
  /// response that may be one is held back until it is complete; if its body exceeds 64 KiB, the second closure sees
  /// only what has arrived by then.
  public init(
    isPossible: @escaping @Sendable (HTTPResponseHead) -> Bool, isMet: @escaping @Sendable (HTTPResponse) -> Bool
  ) {
    self.init(isPossible: isPossible, isMet: isMet, mayFollowEffects: { _ in false })
  }

  package init(
    isPossible: @escaping @Sendable (HTTPResponseHead) -> Bool, isMet: @escaping @Sendable (HTTPResponse) -> Bool,
    mayFollowEffects: @escaping @Sendable (HTTPResponse) -> Bool
  ) {
    self.isPossible = isPossible
    self.isMet = isMet
    self.mayFollowEffects = mayFollowEffects
  }

  /// Either challenge: for a server that rejects tokens in more than one way.
  ///
  ///     AuthMiddleware(tokens, challenge: .http.or(AuthenticationChallenge(isPossible: …, isMet: …)))
  public func or(_ other: AuthenticationChallenge) -> AuthenticationChallenge {
    AuthenticationChallenge(
      isPossible: { isPossible($0) || other.isPossible($0) },
      isMet: { meets($0) || other.meets($0) },
      mayFollowEffects: { meets($0) && mayFollowEffects($0) || other.meets($0) && other.mayFollowEffects($0) })
  }

  /// Each of two sees only what it has asked for.
  private func meets(_ response: HTTPResponse) -> Bool { isPossible(response.head) && isMet(response) }

  /// The status 401 (RFC 9110, section 15.5.2).
  public static let http = AuthenticationChallenge(isPossible: { $0.status == 401 }, isMet: { $0.head.status == 401 })
}
