public import Streams

/// Keeps the present token in memory, and gets new ones by a closure.
///
/// Without a first token, requests are sent without one until a challenge starts a refresh. To make the first request
/// wait for a refresh instead, as with client credentials (RFC 6749, section 4.4), begin with an expired token:
///
///     InMemoryTokenProvider(AccessToken("", expiresAt: .distantPast)) { _ in newToken() }
public final class InMemoryTokenProvider: TokenProvider {
  private let token: Locked<AccessToken?>
  private let refresh: @Sendable (AccessToken?) -> Observable<AccessToken>

  /// Takes the first token, and the closure that gives a stream of one new token, given the old one.
  public init(
    _ token: AccessToken? = nil, refresh: @escaping @Sendable (_ old: AccessToken?) -> Observable<AccessToken>
  ) {
    self.token = Locked(token)
    self.refresh = refresh
  }

  /// The token that was set or brought last.
  public var currentToken: AccessToken? { token.withLock { $0 } }

  /// Puts a token in the place of the present one: at a sign-in, or `nil` at a sign-out.
  public func setToken(_ token: AccessToken?) {
    self.token.withLock { $0 = token }
  }

  /// The closure's stream; what it gives becomes the current token, unless another one was set meanwhile.
  public func refresh(replacing old: AccessToken?) -> Observable<AccessToken> {
    refresh(old).do(onNext: { [token] new in token.withLock { if $0 == old { $0 = new } } })
  }
}
