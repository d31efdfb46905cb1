public import Streams

/// Keeps the current token in memory, and gets new tokens from a closure.
///
/// Without a first token, requests are sent without one until a challenge starts a refresh. To make the first request
/// wait for a refresh instead, as with client credentials (RFC 6749, section 4.4), begin with an expired token:
///
///     InMemoryTokenProvider(AccessToken("", expiresAt: .distantPast)) { _ in newToken() }
public final class InMemoryTokenProvider: TokenProvider {
  private let token: Locked<AccessToken?>
  private let refresh: @Sendable (AccessToken?) -> Observable<AccessToken>

  /// Takes the first token, and a closure that is given the old token and returns a stream of one new token.
  public init(
    _ token: AccessToken? = nil, refresh: @escaping @Sendable (_ old: AccessToken?) -> Observable<AccessToken>
  ) {
    self.token = Locked(token)
    self.refresh = refresh
  }

  /// The token that was set, or that a refresh brought, most recently.
  public var currentToken: AccessToken? { token.withLock { $0 } }

  /// Replaces the current token: at a sign-in, or with `nil` at a sign-out.
  public func setToken(_ token: AccessToken?) {
    self.token.withLock { $0 = token }
  }

  /// The closure's stream. The token that it emits becomes the current token, unless another one was set meanwhile. If
  /// it contains a control character, the stream fails with `undecodable`, and the current token stays.
  public func refresh(replacing old: AccessToken?) -> Observable<AccessToken> {
    refresh(old).map { try $0.checkedAfterRefresh() }
      .do(onNext: { [token] new in token.withLock { if $0 == old { $0 = new } } })
  }
}
