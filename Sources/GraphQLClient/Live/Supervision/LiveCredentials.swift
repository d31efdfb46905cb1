import HTTPClientCore
import HTTPMiddlewares
import Streams
import SystemBase

/// The tokens of a connection's attempts, from the middleware that gives a client's requests theirs: so a token is
/// refreshed once for both. All of them are one account's.
final class LiveCredentials: Sendable {
  private struct State {
    /// The token that was sent last; before the first attempt, the one that was current.
    var token: AccessToken?
    var hasSignedOut = false
  }

  private let middleware: AuthMiddleware?
  private let state: Locked<State>

  /// The connection belongs to the holder of the token, which is the client's current one.
  init(of client: APIClient, _ token: AccessToken?) {
    middleware = client.middlewares.firstAuthentication
    state = Locked(State(token: token))
  }

  convenience init(of client: APIClient) {
    self.init(of: client, client.middlewares.firstAuthentication?.currentToken)
  }

  /// Whether the account has signed out.
  var hasSignedOut: Bool { state.withLock { $0.hasSignedOut } }

  /// Whether the account turns out to have signed out, which is then noted: for a provider that does not say so.
  func noteSignOut() -> Bool { middleware.map { noteCurrent($0.currentToken) } ?? false }

  /// Why a subscription ends when its account does.
  static var signedOut: RequestError {
    RequestError(.cancelled, "The account that the subscription belongs to has signed out: subscribe again.")
  }

  /// A cold stream of the header field for the next attempt, of which there is none without a middleware or a token. Fails
  /// with `cancelled` once the account has signed out.
  func field(for request: HTTPRequest, isRejected: Bool) -> Observable<(field: HTTPField?, token: AccessToken?)> {
    guard let middleware else { return .just((nil, nil)) }
    let token = state.withLock { $0.token }
    return middleware.grant(for: request, after: token, isRejected: isRejected).map { [state] grant in
      let isOver = state.withLock { state in
        state.hasSignedOut = state.hasSignedOut || middleware.isAnothers(grant.token, than: state.token)
        if !state.hasSignedOut { state.token = grant.token ?? state.token }
        return state.hasSignedOut
      }
      if isOver { throw Self.signedOut }
      return (grant.field, grant.token)
    }
  }

  /// Calls a closure when the account signs out, or another one takes its place.
  func signOuts(_ body: @escaping @Sendable () -> Void) -> any Disposable {
    guard let middleware else { return Disposables.create() }
    let bag = DisposeBag()
    let note: @Sendable (AccessToken?) -> Void = { [weak self] token in
      if self?.noteCurrent(token) == true { body() }
    }
    bag.insert(middleware.tokenChanges.subscribe(onNext: note))
    // It may have changed before that.
    note(middleware.currentToken)
    return bag
  }

  /// Takes note of the current token; returns true the first time that it is not the account's.
  func noteCurrent(_ token: AccessToken?) -> Bool {
    guard let middleware else { return false }
    return state.withLock { state in
      guard !state.hasSignedOut, middleware.isAnothers(token, than: state.token) else { return false }
      state.hasSignedOut = true
      return true
    }
  }

  /// Takes note of a token that the middleware has sent by itself, such as after a challenge, for a connection that had
  /// none: from then on it is the holder's, and the one that a server rejects.
  func noteSent(_ token: AccessToken, in fieldName: String) {
    guard fieldName == middleware?.fieldName else { return }
    state.withLock { $0.token = token }
  }
}

extension [any HTTPMiddleware] {
  var firstAuthentication: AuthMiddleware? { lazy.compactMap { $0 as? AuthMiddleware }.first }

  /// Those that a stream goes through: the connection's supervisor tries again, after the pause that a server's limit asks
  /// for, and a stream that lasts must not take the place of requests.
  var forStreams: [any HTTPMiddleware] {
    compactMap { middleware in
      switch middleware {
      case is RetryMiddleware, is HedgingMiddleware, is ConcurrencyLimitMiddleware: nil
      case let limits as RateLimitMiddleware: limits.withoutWaiting
      default: middleware
      }
    }
  }
}
