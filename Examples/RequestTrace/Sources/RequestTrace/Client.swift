import Foundation
import GraphQLClient
import GraphQLClientSpanRecorder
import GraphQLClientTracing
import HTTPMiddlewares
import SocketHTTP
import Streams

/// The client whose request is traced.
struct Client {
  private struct GetUser: GraphQLSession {
    struct ResponseData: Decodable, Sendable {
      let name: String
    }
    static let query: GraphQLDocument = "query getUser { name }"
  }

  private let transport: SocketTransport
  private let client: APIClient

  init(port: Int, trusting certificate: ServerCertificate, _ recorder: SpanRecorder) throws {
    var configuration = SocketTransport.Configuration()
    configuration.tls = TLSConfiguration(trust: .only(.file(certificate.certificate)))
    transport = SocketTransport(configuration: configuration)
    guard let url = URL(string: "https://localhost:\(port)/graphql") else { throw URLError(.badURL) }
    var client = try APIClient(baseURL: url, transport: transport, middlewares: .standard())
    client.observer = RequestTracer(recorder)
    self.client = client
  }

  func name() async throws -> String { try await GetUser().data(on: client).value.name }

  func end() async { await transport.shutdown(within: .seconds(5)) }
}
