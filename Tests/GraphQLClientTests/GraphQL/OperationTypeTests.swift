import Foundation
import GraphQLClient
import GraphQLClientTesting
import HTTPClientCore
import Streams
import Synchronization
import Testing

@Suite("The type of an operation, as observers see it")
struct OperationTypeTests {
  private final class Types: RequestObserver {
    let all = Mutex<[HTTPRequest.OperationType?]>([])

    func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
      all.withLock { $0.append(request.operationType) }
      return { _ in }
    }
  }

  private struct Data: Decodable, Sendable { let name: String? }

  private struct Read: GraphQLSession {
    typealias ResponseData = OperationTypeTests.Data
    static let query: GraphQLDocument = "query read { name }"
  }

  private struct Write: GraphQLSession {
    typealias ResponseData = OperationTypeTests.Data
    static let query: GraphQLDocument = "mutation write { name }"
  }

  private struct Rest: APISession {
    typealias ResponseType = OperationTypeTests.Data
    let path = "name"
  }

  @Test func `queries, mutations and requests of REST`() async throws {
    let (types, transport) = (Types(), ScriptedTransport())
    transport.expect(.any, .json(#"{"data":{"name":null}}"#))
    transport.expect(.any, .json(#"{"data":{"name":null}}"#))
    transport.expect(.any, .json(#"{"name":null}"#))
    var client = try APIClient(baseURL: #require(URL(string: "https://api.test/")), transport: transport)
    client.observer = types
    _ = try await Read().post(on: client).value
    _ = try await Write().post(on: client).value
    _ = try await Rest().get(on: client).value
    #expect(types.all.withLock { $0 } == [.query, .mutation, nil])
  }
}
