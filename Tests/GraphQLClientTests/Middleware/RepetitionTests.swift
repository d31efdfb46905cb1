import Foundation
import GraphQLClient
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import SystemBase
import TestSupport
import Testing

/// How often a query comes to a server, however many layers of the standard stack may send it again.
@Suite("R2: attempts are counted for all layers together", .timeLimit(.minutes(1)))
struct RepetitionTests {
  private static let refusal = RawResponse(429, headers: [("Retry-After", "0")])
  private static let outage = RawResponse(503, headers: [("Retry-After", "0")])

  /// A server that gives these responses in turn, over and over.
  private func server(_ responses: [RawResponse]) throws -> ScriptedServer {
    let count = Locked(0)
    return try ScriptedServer(
      .answering { _ in
        let number = count.withLock { count in
          defer { count += 1 }
          return count
        }
        return responses[number % responses.count]
      })
  }

  @Test(arguments: [
    [refusal, refusal, outage], [outage, refusal, refusal], [refusal, outage], [outage, outage, refusal], [refusal],
    [outage],
  ])
  func `R2: a query is sent three times, whatever the responses are`(responses: [RawResponse]) async throws {
    for hedging in [nil, HedgingDelay.fixed(.zero)] {
      let server = try server(responses)
      let client = try APIClient(baseURL: server.url, middlewares: .standard(hedging: hedging))
      #expect(await GetThing().post(on: client).failure != nil)
      #expect(server.requests.count == 3)
    }
  }

  @Test(arguments: 1...6)
  func `R2: with other numbers of retries, so are all attempts together`(retries: Int) async throws {
    let server = try server([Self.refusal, Self.refusal, Self.outage])
    let client = try APIClient(baseURL: server.url, middlewares: .standard(retries: retries))
    #expect(await GetThing().post(on: client).failure != nil)
    #expect(server.requests.count <= retries + 1)
  }

  @Test func `R2: the document after a hash, and a new token, cost one request more each`() async throws {
    let missing = RawResponse(body: #"{"errors":[{"message":"PersistedQueryNotFound"}]}"#)
    let challenge = RawResponse(401)
    for (responses, count) in [
      ([missing, Self.outage, Self.outage, Self.outage, Self.outage], 4),
      ([Self.outage, Self.outage, missing, Self.outage, Self.outage], 4),
      ([challenge, Self.outage, challenge, Self.outage, challenge, Self.outage, challenge], 4),
      ([challenge, missing, Self.refusal, Self.refusal, Self.refusal, Self.outage], 5),
    ] {
      let server = try server(responses)
      let number = Locked(0)
      let tokens = InMemoryTokenProvider(AccessToken("t", account: "a")) { _ in
        .just(AccessToken("t\(number.withLock { exchange(&$0, with: $0 + 1) })", account: "a"))
      }
      var client = try APIClient(baseURL: server.url, middlewares: .standard(tokens: tokens))
      client.graphQL.wire = .persistedQueries(byGET: false)
      #expect(await GetThing().post(on: client).failure != nil)
      #expect(server.requests.count == count)
    }
  }

  @Test func `R2: what a transport sends again for a kept connection is an attempt`() async throws {
    let ok = RawResponse(body: #"{"data":{"thing":null}}"#)
    let server = try ScriptedServer([.readRequest, .send(ok), .readRequest, .close], [.readRequest, .close])
    let client = try APIClient(baseURL: server.url, middlewares: .standard())
    _ = try await GetThing().post(on: client).value
    #expect(await GetThing().post(on: client).failure?.kind == .connectionLost)
    #expect(server.requests.count == 1 + 3)
  }

  @Test func `R2: a query that a batch has carried to the server goes out as often as any other`() async throws {
    let server = try ScriptedServer(
      .answering { request in
        request.body.first == UInt8(ascii: "[") ? RawResponse(413) : Self.outage
      })
    var client = try APIClient(baseURL: server.url, middlewares: .standard())
    client.graphQL.wire.batching = .within(.seconds(60), upTo: 2)
    let batching = client
    async let first = GetThing().post(on: batching).failure
    async let second = GetThing().post(on: batching).failure
    #expect(await [first?.status, second?.status] == [503, 503])
    // One batch, which the server refuses, and then three each.
    #expect(server.requests.count == 1 + 3 + 3)
  }
}
