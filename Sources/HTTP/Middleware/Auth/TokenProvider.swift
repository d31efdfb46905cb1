public import Streams

/// Knows the current token, and how to get a new one. Where it stores them is up to the implementation.
///
/// Both may be called from any thread. ``InMemoryTokenProvider`` is one of a closure.
public protocol TokenProvider: Sendable {
  /// The token to send, or `nil` to send none, as nobody is signed in. Asked for each request, so it must be quick, and may
  /// change at any time: at a sign-in, say.
  var currentToken: AccessToken? { get }

  /// A cold stream of one new token, which must be the current token by the time it is sent; `old` is the token to
  /// replace.
  ///
  /// It is subscribed to once for all requests of one account that wait, and runs to its end even where none waits any
  /// longer, as many refresh tokens are good for one use only. Its own requests must not go through the middleware that
  /// asks for them.
  func refresh(replacing old: AccessToken?) -> Observable<AccessToken>
}
