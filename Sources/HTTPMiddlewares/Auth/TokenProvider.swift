public import HTTPClientCore
public import Streams
public import SystemBase

/// Knows the current token, and how to get a new one. Where it stores them is up to the implementation.
///
/// Both members may be called from any thread. ``InMemoryTokenProvider`` is a provider that uses a closure.
public protocol TokenProvider: Sendable {
  /// The token to send, or `nil` to send none because no user is signed in. It is read for each request, so it must be
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

  /// A hot stream of each token that becomes the current one, `nil` at a sign-out, as soon as it does; it sends nothing
  /// unless it is implemented. By it, subscriptions end when their account signs out. Without it they end at their next
  /// value, before that is delivered, or when they need their next connection.
  var changes: Observable<AccessToken?> { get }
}

extension TokenProvider {
  /// Sends nothing.
  public var changes: Observable<AccessToken?> { .never() }
}

/// A token that identifies the caller to a server. Its description, dump and mirror do not show its value.
public struct AccessToken: Hashable, Sendable {
  /// The token itself.
  public let value: String

  /// When it expires, if known; it is then renewed ahead of time.
  public let expiresAt: Date?

  /// The account that the token belongs to: a request that was made for one account is not sent for another.
  ///
  /// A token without one belongs to the same user as the token in whose place a refresh of an ``AuthMiddleware`` has
  /// brought it, and else to a user of its own. So set it where a provider replaces tokens by itself.
  public let account: String?

  /// Takes a token, its time of expiry, and the account that it belongs to.
  public init(_ value: String, expiresAt: Date? = nil, account: String? = nil) {
    self.value = value
    self.expiresAt = expiresAt
    self.account = account
  }

  /// Tokens and accounts are compared byte by byte: those that look alike may be two.
  public static func == (one: AccessToken, other: AccessToken) -> Bool {
    one.pinned == other.pinned && one.expiresAt == other.expiresAt
  }

  /// Hashes the token's bytes.
  public func hash(into hasher: inout Hasher) { pinned.hash(into: &hasher) }

  /// The token, as a refresh returned it; throws `undecodable` if it contains a control character, which no header may:
  /// the server is at fault, and if it were kept, every request would fail.
  public func checkedAfterRefresh() throws(RequestError) -> AccessToken {
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

/// Keeps the current token in memory, and gets new tokens from a closure.
///
/// Without a first token, requests are sent without one until a challenge starts a refresh. To make the first request
/// wait for a refresh instead, as with client credentials (RFC 6749, section 4.4), begin with an expired token:
///
///     InMemoryTokenProvider(AccessToken("", expiresAt: .distantPast)) { _ in newToken() }
public final class InMemoryTokenProvider: TokenProvider {
  private let token: Locked<AccessToken?>
  private let newTokens = PublishSubject<AccessToken?>()
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
    newTokens.onNext(token)
  }

  /// Each token that is set, or that a refresh brings.
  public var changes: Observable<AccessToken?> { newTokens.asObservable() }

  /// The closure's stream. The token that it emits becomes the current token, unless another one was set meanwhile. If
  /// it contains a control character, the stream fails with `undecodable`, and the current token stays.
  public func refresh(replacing old: AccessToken?) -> Observable<AccessToken> {
    refresh(old).map { try $0.checkedAfterRefresh() }
      .do(onNext: { [token, newTokens] new in
        // Before requests can see it. A token in the place of none may be a sign-in.
        if let old { TokenLineage.record(new, replacing: old) }
        let isCurrent = token.withLock { token in
          if token == old { token = new }
          return token == new
        }
        if isCurrent { newTokens.onNext(new) }
      })
  }
}
