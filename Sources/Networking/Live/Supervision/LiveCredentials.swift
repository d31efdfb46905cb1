import HTTP
import HTTPMiddlewares
import Streams

/// The tokens of a connection's attempts, from the middleware that gives a client's requests theirs: so a token is
/// refreshed once for both.
final class LiveCredentials: Sendable {
  private let middleware: AuthMiddleware?
  private let last = Locked<AuthMiddleware.Grant?>(nil)

  init(of client: APIClient) {
    middleware = client.middlewares.firstAuthentication
  }

  /// A cold stream of the header field for the next attempt, of which there is none without a middleware or a token.
  func field(for request: HTTPRequest, isRejected: Bool) -> Observable<(field: HTTPField?, token: AccessToken?)> {
    guard let middleware else { return .just((nil, nil)) }
    return middleware.grant(for: request, after: last.withLock { $0 }, isRejected: isRejected).map { grant in
      self.last.withLock { $0 = grant }
      return (grant.field, grant.token)
    }
  }
}

extension [any HTTPMiddleware] {
  var firstAuthentication: AuthMiddleware? { lazy.compactMap { $0 as? AuthMiddleware }.first }

  /// Those that a stream goes through: the connection's supervisor tries again, and a stream that lasts must not take the
  /// place of requests.
  var forStreams: [any HTTPMiddleware] {
    filter {
      !($0 is RetryMiddleware || $0 is HedgingMiddleware || $0 is ConcurrencyLimitMiddleware)
    }
  }
}
