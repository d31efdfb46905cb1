package import Foundation
package import GraphQLClient
package import HTTPClientCore
import HTTPMiddlewares
import SocketHTTP
import Streams
import Synchronization

/// A query with a secret among its variables.
package struct GetUser: GraphQLSession {
  package struct Variables: Encodable, Sendable {
    let password = Observed.secret
  }

  package struct ResponseData: Decodable, Sendable {
    let name: String
  }

  package static let query: GraphQLDocument = "query getUser($password: String) { name(password: $password) }"
  package let variables = Variables()
  package init() {}
}

/// A mutation, which is sent once.
package struct SetName: GraphQLSession {
  package typealias ResponseData = GetUser.ResponseData
  package static let query: GraphQLDocument = "mutation setName { name }"
  package init() {}
}

/// A request without an operation of GraphQL, with a secret in its path.
package struct Download: APISession {
  package typealias ResponseType = GetUser.ResponseData
  package let path = "files/\(Observed.secret)"
  package init() {}
}

/// Waits for the end of observed requests, and makes clients.
package enum Observed {
  /// What no log, label or span may contain.
  package static let secret = "canary-9f3b"

  /// A client of a server, through the standard stack with a token and fast retries, and without a proxy.
  package static func client(
    _ url: URL, _ observer: some RequestObserver, timeout: Duration? = nil, ended: Ended? = nil
  ) throws -> APIClient {
    let provider = InMemoryTokenProvider(AccessToken(secret)) { _ in .just(AccessToken(secret)) }
    var client = try APIClient(
      baseURL: url, transport: SocketTransport(), defaultHeaders: ["X-Api-Key": "canary-9f3b"],
      middlewares: .standard(tokens: provider))
    if let timeout { client.timeouts.total = timeout }
    client.observer = RequestObservers(ended.map { [observer, $0] } ?? [observer])
    return client
  }
}

/// Waits for requests to begin and to end: the last of several observers, so that the others have seen the end, too.
package final class Ended: RequestObserver {
  private let attempts = PublishSubject<Void>()
  private let ends = PublishSubject<Void>()
  private let counts = Mutex((attempts: 0, ends: 0))

  package init() {}

  package func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
    { [self] event in
      switch event {
      case .attemptStarted:
        counts.withLock { $0.attempts += 1 }
        attempts.onNext(())
      case .ended:
        counts.withLock { $0.ends += 1 }
        ends.onNext(())
      default: break
      }
    }
  }

  /// Waits until so many requests have ended.
  package func wait(_ count: Int = 1) async throws {
    for try await _ in ends.asObservable().startWith(()).values where counts.withLock({ $0.ends }) >= count { return }
  }

  /// Waits until an attempt has begun.
  package func waitForAttempt() async throws {
    for try await _ in attempts.asObservable().startWith(()).values where counts.withLock({ $0.attempts }) > 0 {
      return
    }
  }
}
