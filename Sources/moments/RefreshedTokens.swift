import HTTPClientCore
import HTTPMiddlewares
import Networking
import Streams
import Synchronization
import SystemBase

/// Provides the token from the environment, then those that the server issues for a refresh token, with its mutation
/// `refreshToken`.
///
/// They are kept in memory only.
final class RefreshedTokens: TokenProvider {
  private let client: APIClient
  private let tokens: Mutex<(access: AccessToken?, refresh: String)>

  /// Takes the first tokens, and a client that sends none.
  init(_ token: BearerToken?, refreshToken: BearerToken, client: APIClient) {
    self.client = client
    tokens = Mutex((token.map { AccessToken($0.value) }, refreshToken.value))
  }

  var currentToken: AccessToken? { tokens.withLock { $0.access } }

  func refresh(replacing old: AccessToken?) -> Observable<AccessToken> {
    .deferred { [self] in
      let refreshToken = tokens.withLock { $0.refresh }
      return Refresh(variables: .init(token: refreshToken)).post(on: client).map { response in
        let new = try Refresh.token(in: response)
        let token = try AccessToken(new.accessToken, expiresAt: new.expiresAt).checkedAfterRefresh()
        self.tokens.withLock { $0 = (token, new.refreshToken) }
        return token
      }
    }
  }
}

extension RefreshedTokens {
  /// The request for new tokens.
  struct Refresh: GraphQLSession {
    struct Variables: Encodable, Sendable {
      let token: String
    }

    struct ResponseData: Decodable, Sendable {
      struct AuthToken: Decodable, Sendable {
        let accessToken: String
        let refreshToken: String
        let expiresAt: Date
      }

      let refreshToken: AuthToken
    }

    static let query: GraphQLDocument =
      """
      mutation refreshToken($token: String!) {
        refreshToken(token: $token) { accessToken refreshToken expiresAt }
      }
      """

    let variables: Variables

    var secrets: [String] { [variables.token] }

    var isResponseSecret: Bool { true }

    static func token(in response: ResponseType) throws(RequestError) -> ResponseData.AuthToken {
      response.data.refreshToken
    }
  }
}
