// The article's samples, word for word, so that they compile; `ReadmeTests` holds the two together.

import Foundation
import GraphQLClient
import HTTPMiddlewares
import Testing

enum WireEconomyArticle {
  static func persisting(_ endpoint: URL) throws -> APIClient {
    var client = try APIClient(baseURL: endpoint, middlewares: .standard(cache: MemoryCacheStorage()))
    client.graphQL.wire = .persistedQueries()
    return client
  }

  static func listing(_ file: URL) throws {
    let manifest = try GraphQLManifest([GetUser.query]).json(.apollo)
    #expect(try manifest == Data(contentsOf: file))
  }

  static func trusting(_ client: APIClient, _ manifest: URL) throws -> APIClient {
    var client = client
    client.graphQL.wire = .trustedDocuments(.apollo, ids: try GraphQLManifest(json: Data(contentsOf: manifest)))
    return client
  }

  static func batching(_ client: APIClient) -> APIClient {
    var client = client
    client.graphQL.wire.batching = .within(.milliseconds(10), upTo: 10)
    return client
  }
}
