import Foundation
import GraphQLClient
import HTTPClientCore
import HTTPMiddlewares
import Streams
import SystemBase

/// The tokens of the GraphQL server, by its mutations `login` and `refreshToken`.
final class BFFTokens: TokenProvider {
  private let client: APIClient
  private let state: Locked<(token: AccessToken?, refresh: String)>

  /// Begins without a token, and with a refresh token.
  init(url: URL, token: AccessToken? = nil, refreshToken: String = "valid-refresh-token") throws {
    client = try APIClient(baseURL: url)
    state = Locked((token, refreshToken))
  }

  var currentToken: AccessToken? { state.withLock { $0.token } }

  func refresh(replacing old: AccessToken?) -> Observable<AccessToken> {
    .deferred { [client, state] in
      RefreshToken(variables: .init(token: state.withLock { $0.refresh })).post(on: client).map { response in
        let tokens = response.data.refreshToken
        let token = AccessToken(tokens.accessToken, expiresAt: tokens.expiresAt)
        state.withLock { $0 = (token, tokens.refreshToken) }
        return token
      }
    }
  }
}

struct RefreshToken: GraphQLSession {
  struct Variables: Encodable, Sendable {
    let token: String
  }
  struct ResponseData: Decodable, Sendable {
    struct Tokens: Decodable, Sendable {
      let accessToken: String
      let refreshToken: String
      let expiresAt: Date
    }
    let refreshToken: Tokens
  }
  static let query: GraphQLDocument = """
    mutation refreshToken($token: String!) { refreshToken(token: $token) { accessToken refreshToken expiresAt } }
    """
  let variables: Variables
}
