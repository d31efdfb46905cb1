import BFFOperations
import Foundation
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Models
import Networking
import SocketHTTP
import Streams
import StrictJSON
import SystemBase
import TestSupport
import Testing

/// Runs against the real server that are replayed without it.
@Suite(.timeLimit(.minutes(2))) struct RealServerCassetteTests {
  private let folder: CassetteFolder

  init() throws { folder = try CassetteFolder() }

  private func client(_ transport: some HTTPTransport, _ url: URL) throws -> APIClient {
    try APIClient(baseURL: url, transport: transport, defaultHeaders: ["X-App-Version": "1"])
  }

  /// Records a run against a server of its own, which has ended when this returns.
  @discardableResult
  private func record<Value>(_ run: (APIClient) async throws -> Value) async throws -> Value {
    let server = try await BFFServer.start()
    let recorder = RecordingTransport(SocketTransport(), to: folder.file)
    let value = try await run(client(recorder, server.graphqlURL))
    try recorder.finish()
    try await server.stop()
    return value
  }

  /// Replays the run at the address of no server.
  private func replay<Value>(
    _ order: ReplayingTransport.Order = .strict, _ run: (APIClient) async throws -> Value
  ) async throws -> Value {
    let transport = try ReplayingTransport(contentsOf: folder.file, order: order)
    let value = try await run(client(transport, url("http://127.0.0.1:1/graphql")))
    #expect(transport.failures == [])
    return value
  }

  @Test func `a recorded run is replayed with the server stopped`() async throws {
    let run = { @Sendable (client: APIClient) async throws -> (MomentsDetails, String, [String]) in
      let details = try await GetMomentsByUserIDSession(client: client).getMoments(userID: "0").value
      let created = try await CreateMoment(title: "Tea & 茶").data(on: client).value.createMoment.id
      let titles = try await ReadTitles().data(on: client).value.getMomentsDetailsByUserID.moments
      return (details, created, titles.map { $0.title ?? "" })
    }
    let recorded = try await record(run)
    let replayed = try await replay { try await run($0) }
    #expect(recorded == replayed)
    #expect(recorded.0.moments.count == 60)
    #expect(recorded.2.contains("Tea & 茶"))
  }

  @Test func `the file of a run can be read and reviewed`() async throws {
    try await record { client in
      _ = try await Ping().data(on: client).value
    }
    let text = try folder.text()
    #expect(text == Self.golden)
    #expect(folder.names == ["run.json"])
  }

  @Test func `two recordings of one run are equal to the byte`() async throws {
    var texts: [String] = []
    for _ in 0..<2 {
      try await record { client in
        _ = try await Ping().data(on: client).value
        _ = try await CreateMoment(title: "Tea").data(on: client, method: .post).value
        _ = try await Ping().data(on: client, method: .get).value
        let missing = try HTTPRequest(method: .get, url: client.baseURL.appending(path: "none"))
        _ = try await client.transport.send(missing).collect(upTo: 1 << 20).value
      }
      texts.append(try folder.text())
    }
    #expect(texts[0] == texts[1])
    #expect(texts[0].contains(#""status": 404"#))
  }

  @Test func `a response that came compressed is recorded as what it says`() async throws {
    /// Notes how responses were coded.
    struct Codings: HTTPTransport {
      let transport = SocketTransport()
      let seen = Locked<[String?]>([])

      func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
        transport.send(request).do(onNext: { [seen] part in
          if case .head(let head) = part { seen.withLock { $0.append(head.headers["Content-Encoding"]) } }
        })
      }
    }
    let codings = Codings()
    let server = try await BFFServer.shared()
    let recorder = RecordingTransport(codings, to: folder.file)
    let session = try GetMomentsByUserIDSession(client: client(recorder, server.graphqlURL))
    let details = try await session.getMoments(userID: "0").value
    try recorder.finish()
    #expect(codings.seen.withLock { $0 } == ["gzip"])
    let text = try folder.text()
    #expect(text.contains(#""getMomentsDetailsByUserID": {"#))
    #expect(!text.lowercased().contains("content-encoding"))
    let replayed = try await replay { try await GetMomentsByUserIDSession(client: $0).getMoments(userID: "0").value }
    #expect(replayed == details)
  }

  @Test func `requests that run at the same time are recorded in the order in which they began`() async throws {
    let count = 20
    let recorded = try await record { client in
      let transport = client.transport
      let bag = DisposeBag()
      let done = Locked(0)
      for number in 0..<count {
        var request = try HTTPRequest(
          method: .get, url: url("\(client.baseURL)?query=%7Bn\(number)%3A__typename%7D"), operationName: "n\(number)")
        // The first ones take longest.
        try request.headers.set("X-Latency-Ms", to: "\((count - number) * 10)")
        transport.send(request).subscribe(onCompleted: { done.withLock { $0 += 1 } }).disposed(by: bag)
      }
      try await eventually { done.withLock({ $0 }) >= count }
      return try #require(transport as? RecordingTransport).cassette.exchanges.map(\.operationName)
    }
    #expect(recorded == (0..<count).map { "n\($0)" })
    #expect(try Cassette(contentsOf: folder.file).exchanges.allSatisfy { $0.status == 200 })
  }

  @Test func `operations are replayed in any order, and each exchange once`() async throws {
    let read = { @Sendable (user: String, client: APIClient) async throws -> String in
      try await GetMomentsByUserIDSession(client: client).getMoments(userID: user).value.userDetails.name
    }
    let names = try await record { client in
      var names: [String] = []
      for user in ["0", "1", "2"] { names.append(try await read(user, client)) }
      return names
    }
    let replayed = try await replay(.byOperation()) { client in
      async let third = read("2", client)
      async let first = read("0", client)
      async let second = read("1", client)
      return try await [first, second, third]
    }
    #expect(replayed == names)
  }

  @Test(arguments: [LiveWay.eventStream, .multipart])
  func `a subscription is replayed event by event`(way: LiveWay) async throws {
    let run = { @Sendable (client: APIClient) async throws -> [Int] in
      var client = client
      client.graphQL.live = way.transport()
      var numbers: [Int] = []
      for try await data in Countdown(3).data(on: client).values { numbers.append(data.countdown) }
      return numbers
    }
    let recorded = try await record(run)
    let exchange = try #require(try Cassette(contentsOf: folder.file).exchanges.first)
    #expect(try folder.text().contains(#""parts": ["#))
    #expect(exchange.status == 200)
    #expect(try await replay { try await run($0) } == recorded)
    #expect(recorded == [3, 2, 1, 0])
  }

  @Test func `a subscription over a WebSocket is refused, since a cassette holds none`() async throws {
    let server = try await BFFServer.shared()
    var client = try client(RecordingTransport(SocketTransport(), to: folder.file), server.graphqlURL)
    client.graphQL.live = .webSocket()
    let error = await Countdown(1).data(on: client).failure
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains("opens no WebSockets") == true)
  }

  private static let golden = """
    {
      "cassette": 1,
      "exchanges": [
        {
          "operation": "ping",
          "request": {
            "method": "POST",
            "origin": "http://127.0.0.1",
            "path": "/graphql",
            "headers": [
              "Accept: application/graphql-response+json, application/json;q=0.9",
              "Content-Type: application/json",
              "X-App-Version: 1"
            ],
            "body": {
              "graphQL": {
                "operationName": "ping",
                "query": "query ping($userID: ID!) { getMomentsDetailsByUserID(userID: $userID) { moments { id } } }",
                "variables": {
                  "userID": "1"
                }
              }
            }
          },
          "response": {
            "status": 200,
            "headers": [
              "server: uvicorn",
              "vary: Accept",
              "content-type: application/graphql-response+json; charset=utf-8"
            ],
            "body": {
              "json": {
                "data": {
                  "getMomentsDetailsByUserID": {
                    "moments": [
                      {
                        "id": "m1-0"
                      },
                      {
                        "id": "m1-1"
                      },
                      {
                        "id": "m1-2"
                      },
                      {
                        "id": "m1-3"
                      },
                      {
                        "id": "m1-4"
                      }
                    ]
                  }
                }
              }
            }
          }
        }
      ]
    }

    """
}
