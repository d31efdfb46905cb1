public import Streams

/// Knows the present token, and how to get a new one; what it keeps where is its own affair.
///
/// Both may be called from any thread. ``InMemoryTokenProvider`` is one of a closure.
public protocol TokenProvider: Sendable {
  /// The token to send, or `nil` to send none. Asked for each request, so it must be quick, and may change at any time:
  /// at a sign-in, say.
  var currentToken: AccessToken? { get }

  /// A cold stream of one new token, which by then is the current one; `old` is the one that it replaces.
  ///
  /// It is subscribed to once for all requests that wait, and runs to its end even where none waits any longer, as many
  /// refresh tokens are good for one use only. Its own requests must not go through the middleware that asks for them.
  func refresh(replacing old: AccessToken?) -> Observable<AccessToken>
}

/// Keeps the present token in memory, and gets new ones by a closure.
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
