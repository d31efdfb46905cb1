import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams
import StreamsTesting
import StrictJSON
import SystemBase
import Testing

@Suite struct ScriptedTransportTests {
  private let transport = ScriptedTransport()

  private func request() throws -> HTTPRequest {
    try HTTPRequest(method: .get, url: #require(URL(string: "http://h.example/")))
  }

  private func status() async throws -> Int {
    try await transport.send(request()).collect(upTo: 9).value.head.status
  }

  @Test func `a matcher may ask the transport what it has seen`() async throws {
    let second = RequestMatcher("the second request") { [transport] _ in transport.requests.count == 2 }
    transport.expect(second, .response(status: 202))
    transport.always(.any, .response(status: 200))
    let statuses = try await [status(), status()]
    #expect(statuses == [200, 202])
    #expect(transport.failures.isEmpty)
  }

  @Test(arguments: [HTTPMethod.post, .get]) func `two requests for an operation are distinguished by their variables`(
    method: HTTPMethod
  ) async throws {
    struct GetUser: GraphQLSession {
      struct ResponseData: Decodable, Sendable {
        let name: String
      }
      static let query: GraphQLDocument = "query getUser($id: ID!) { name(id: $id) }"
      let variables: [String: String]
    }
    for (id, name) in [("7", "Wei"), ("8", "Mei")] {
      transport.expect(
        .operation("getUser", variables: ["id": .string(id)]), .json(#"{"data": {"name": "\#(name)"}}"#))
    }
    let client = try APIClient(baseURL: #require(URL(string: "https://h.example/")), transport: transport)
    for (id, name) in [("8", "Mei"), ("7", "Wei")] {
      #expect(try await GetUser(variables: ["id": id]).data(on: client, method: method).value.name == name)
    }
    #expect(transport.failures.isEmpty)
  }

  @Test func `an expectation that another request takes meanwhile counts once`() async throws {
    let request = try request()
    let isFirst = Locked(true)
    let matcher = RequestMatcher("once") { [transport] _ in
      let isFirst = isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst
      }
      if isFirst { _ = transport.send(request).subscribe() }
      return true
    }
    transport.expect(matcher, .response(status: 202))
    transport.always(.any, .response(status: 200))
    #expect(try await status() == 200)
    #expect(transport.requests.count == 2)
    #expect(transport.failures.isEmpty)
  }

  @Test func `a header that frames the message is refused, as by every transport`() async throws {
    transport.always(.any, .response())
    var request = try request()
    try request.headers.set("Connection", to: "close")
    let answer = transport.send(request).collect(upTo: 9)
    let error = await #expect(throws: RequestError.self) { _ = try await answer.value }
    #expect(error?.kind == .invalidRequest)
    #expect(transport.requests.isEmpty)
  }

  @Test(arguments: [
    (ScriptedResponse.never, 3, false), (.wholeThing.after(.seconds(9)), 3, false),
    (.wholeThing.after(.seconds(2)), 2, true),
  ])
  func `the request's deadlines are kept on the transport's scheduler`(
    response: ScriptedResponse, end: Int, isInTime: Bool
  ) throws {
    let scheduler = TestScheduler()
    let transport = ScriptedTransport(scheduler: scheduler)
    transport.always(.any, response)
    var client = try client(transport)
    client.timeouts = HTTPTimeouts(total: .seconds(3))
    let observer = scheduler.observe(GetThing().data(on: client))
    scheduler.run()
    #expect(scheduler.now == .seconds(end))
    #expect(observer.elements == (isInTime ? [.whole] : []))
    #expect(observer.failure?.kind == (isInTime ? nil : .timedOut))
    #expect(scheduler.pendingCount == 0)
  }

  @Test func `a script that pauses for longer than the idle limit fails`() throws {
    let scheduler = TestScheduler()
    let transport = ScriptedTransport(scheduler: scheduler)
    transport.always(.any, .wholeThing.after(.seconds(4)))
    var client = try client(transport)
    client.timeouts = HTTPTimeouts(idle: .seconds(3), total: nil)
    let observer = scheduler.observe(GetThing().data(on: client))
    scheduler.run()
    #expect(observer.failure?.kind == .timedOut)
    #expect(scheduler.now == .seconds(3))
  }

  @Test func `a retry in async code comes in its turn before the deadline, a thousand times`() async throws {
    for _ in 0..<1000 {
      let scheduler = TestScheduler()
      let transport = ScriptedTransport(scheduler: scheduler)
      transport.expect(.any, .failure(RequestError(.connectionLost, "The connection was lost.")))
      transport.expect(.any, .wholeThing)
      let client = try client(transport, middlewares: .standard(scheduler: scheduler))
      let thing = try await scheduler.withTasks { time in
        async let thing = GetThing().data(on: client).value
        await time.advance(by: .seconds(5))
        return try await thing
      }
      #expect(thing == .whole)
      #expect(transport.failures == [])
    }
  }
}

extension TestObserver {
  /// The error with which the stream has failed.
  fileprivate var failure: RequestError? {
    guard case .error(let error)? = events.last?.event else { return nil }
    return error as? RequestError
  }
}
