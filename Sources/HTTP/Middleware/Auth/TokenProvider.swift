public import Streams

/// Knows the current token, and how to get a new one. Where it stores them is up to the implementation.
///
/// Both members may be called from any thread. ``InMemoryTokenProvider`` is a provider that uses a closure.
public protocol TokenProvider: Sendable {
  /// The token to send, or `nil` to send none because nobody is signed in. It is read for each request, so it must be
  /// quick; it may change at any time, for instance at a sign-in.
  var currentToken: AccessToken? { get }

  /// A cold stream of one new token, which must be the current token by the time it is sent; `old` is the token to
  /// replace. One that holds a control character fails the refresh.
  ///
  /// It is subscribed to once for all waiting requests of an account, and runs to its end even if no request waits any
  /// longer, because many refresh tokens can be used only once. Its own requests must not go through the middleware
  /// that asks for the refresh.
  ///
  /// If the user has to sign in again although no server has said so, for example because there is no refresh token,
  /// fail with a `RequestError` of the kind `httpStatus` and the status 401.
  func refresh(replacing old: AccessToken?) -> Observable<AccessToken>
}
