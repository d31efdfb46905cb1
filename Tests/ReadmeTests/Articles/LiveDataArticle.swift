// The article's samples, word for word, so that they compile; `ReadmeTests` holds the two together.

import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import Networking
import Streams

enum LiveDataArticle {
  struct Moment: Decodable, Sendable {
    struct Liker: Decodable, Sendable {
      let id: String
    }
    let id: String
    let likes: [Liker]
  }

  struct MomentLiked: GraphQLSubscription {
    struct Variables: Encodable, Sendable { let userID: String }
    struct ResponseData: Decodable, Sendable { let momentLiked: Moment }
    static let query: GraphQLDocument =
      "subscription momentLiked($userID: ID!) { momentLiked(userID: $userID) { id likes { id } } }"
    let variables: Variables
  }

  static func client(endpoint: URL, tokens: any TokenProvider) throws -> APIClient {
    var client = try APIClient(baseURL: endpoint, middlewares: .standard(tokens: tokens))
    client.graphQL.live = .webSocket()  // or .eventStream(), which is the default, .multipart(), or .legacyWebSocket()
    return client
  }

  static func watch(
    on client: APIClient, bag: DisposeBag, show: @escaping @Sendable (Moment?) -> Void,
    fetchTimeline: @escaping @Sendable () -> Void
  ) {
    MomentLiked(variables: .init(userID: "0")).subscribe(on: client).subscribe(onNext: { event in
      switch event {
      case .value(let response): show(response.data.momentLiked)
      case .connected, .reconnected, .dropped, .failed: fetchTimeline()  // what happened before may be missing
      case .disconnected(let error, let pause): print(error.message, "trying again in", pause)
      case .resumed: break  // the server has sent what came meanwhile
      }
    }).disposed(by: bag)
  }

  static func scripted(_ client: inout APIClient) -> ScriptedTransport {
    let transport = ScriptedTransport()
    transport.expectLive(
      .operation("momentLiked"),
      [.connected, .json(#"{"data": {"momentLiked": {"id": "m0-1", "likes": []}}}"#), .disconnected(), .reconnected])
    client.graphQL.live = transport
    return transport
  }
}
