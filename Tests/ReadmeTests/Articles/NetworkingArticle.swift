// The article's samples, word for word, so that they compile; `ReadmeTests` holds the two together.

import Foundation
import GraphQLClient
import HTTPClientCore
import HTTPMiddlewares
import Streams

extension GraphQLDocument {
  static let userFields: GraphQLDocument = "fragment userFields on User { id name }"
}

protocol ShopSession: APISession where ResponseType: Decodable {}

extension ShopSession {
  var responseParser: ResponseParser<ResponseType> { .envelope(CodeMsgData.self) }
}

extension ShopSession where ResponseType == NoContent {
  var responseParser: ResponseParser<NoContent> { .envelope(CodeMsgData.self) }
}

enum NetworkingArticle {
  struct Photo: Decodable, Sendable {}
  struct Post: Decodable, Sendable {}

  /// The name is in an envelope, and so is the removal's outcome.
  struct GetName: ShopSession {
    typealias ResponseType = String
  }

  struct RemoveName: ShopSession {
    typealias ResponseType = NoContent
  }

  struct GetUser: GraphQLSession {
    struct Variables: Encodable, Sendable { let id: String }
    struct ResponseData: Decodable, Sendable { let user: User }
    static let query: GraphQLDocument = "query getUser($id: ID!) { user(id: $id) { ...userFields } }" + .userFields
    let variables: Variables
  }

  struct RenameUser: APISession {
    typealias ResponseType = User
    struct Parameters: Encodable, Sendable { let name: String }
    let id: String
    let parameters: Parameters
    var path: String { "users/\(id.percentEncoded)" }
  }

  struct AddPhoto: APISession {
    typealias ResponseType = Photo
    let parameters: Data
    var path: String { "photos" }
    var bodyFormat: BodyFormat { .data(contentType: "image/jpeg") }
  }

  struct SignIn: GraphQLSession {
    struct Variables: Encodable, Sendable {
      let name: String
      let password: String
    }
    struct ResponseData: Decodable, Sendable { let signIn: String }
    static let query: GraphQLDocument =
      "mutation signIn($name: String!, $password: String!) { signIn(name: $name, password: $password) }"
    let variables: Variables

    var secrets: [String] { [variables.password] }  // no error shows it, even if the server repeats it
    var isResponseSecret: Bool { true }  // errors do not quote the response
  }

  struct CreatePost: APISession {
    typealias ResponseType = Post
    struct Parameters: Encodable, Sendable { let text: String }
    let parameters: Parameters
    var path: String { "posts" }
    let idempotencyKey: String? = UUID().uuidString
  }

  struct GetUserSession: Sendable {
    private let sessionHandler: @Sendable (GetUser) -> Observable<GraphQLResponse<GetUser.ResponseData>>

    init(client: APIClient) { sessionHandler = { $0.post(on: client) } }

    init(sessionHandler: @escaping @Sendable (GetUser) -> Observable<GraphQLResponse<GetUser.ResponseData>>) {
      self.sessionHandler = sessionHandler
    }

    func getUser(id: String) -> Observable<User> {
      let session = GetUser(variables: .init(id: id))
      return sessionHandler(session).map { try session.data(of: $0).user }
    }
  }

  static func user(endpoint: URL) async throws -> User {
    let client = try APIClient(baseURL: endpoint)
    let user = try await GetUser(variables: .init(id: "7")).data(on: client).value.user
    return user
  }

  static func rename(on client: APIClient) async throws -> User {
    let user = try await RenameUser(id: "7/b", parameters: .init(name: "Wei")).put(on: client).value
    return user
  }

  static func upload(_ jpeg: Data, on client: APIClient) async throws -> Photo {
    let photo = try await client.send(AddPhoto(parameters: jpeg), method: .post) { progress in
      print(progress.sent, "of", progress.totalToSend ?? 0, "bytes")
    }.value
    return photo
  }

  static func signIn(
    _ name: String, _ password: String, on plain: APIClient, endpoint: URL
  ) async throws -> APIClient {
    let credentials = SignIn.Variables(name: name, password: password)
    let tokens = InMemoryTokenProvider { _ in
      SignIn(variables: credentials).data(on: plain).map { AccessToken($0.signIn, account: name) }
    }
    _ = try await tokens.refresh(replacing: nil).value  // signs in now; else the first rejected request does
    let client = try APIClient(baseURL: endpoint, middlewares: .standard(tokens: tokens))
    return client
  }
}

struct Problem: Decodable, Error {
  let title: String
  let balance: Int
}

extension ResponseParser where Output: Decodable {
  static var jsonOrProblem: Self {
    ResponseParser(accept: "application/json, application/problem+json") { response, decoder in
      guard response.head.mediaType == "application/problem+json" else {
        return try ResponseParser.json.parse(response, by: decoder)
      }
      let problem = try decoder.decode(Problem.self, from: response.body)
      throw RequestError(.httpStatus, problem.title, status: response.head.status, cause: problem)
    }
  }
}
