import Foundation
import Streams
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct SocketTransportTests {
  let transport = SocketTransport()

  private static let json = RawResponse(body: #"{"data":{"ok":true}}"#)

  @Test func `a request and its response arrive as they were sent`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(201, headers: [("X-A", "b")], body: "hello") })
    let request = try HTTPRequest.to(server, "a/b", headers: ["X-C": "d"], body: #"{"e":1}"#)
    let response = try await transport.response(to: request)
    #expect(response.head.status == 201)
    #expect(response.head.headers["x-a"] == "b")
    #expect(response.body == Data("hello".utf8))
    let received = try #require(server.requests.first)
    #expect(received.method == "POST")
    #expect(received.target == "/a/b")
    #expect(received["X-C"] == "d")
    #expect(received["Host"] == "127.0.0.1:\(server.port)")
    #expect(received.body == Array(#"{"e":1}"#.utf8))
  }

  @Test func `a request without a User-Agent gets the configuration's, and one that has it keeps its own`() async throws
  {
    let server = try ScriptedServer(.answering { _ in Self.json })
    func sent(_ headers: HTTPHeaders, _ userAgent: String?? = nil) async throws -> [String] {
      var configuration = SocketTransport.Configuration()
      if let userAgent { configuration.userAgent = userAgent }
      _ = try await SocketTransport(configuration: configuration).response(to: .to(server, headers: headers))
      let headers = try #require(server.requests.last?.headers)
      return headers.filter { $0.name.lowercased() == "user-agent" }.map(\.value)
    }
    #expect(try await sent([:]) == ["SocketTransport/\(SDKVersion.current)"])
    #expect(try await sent(["Range": "bytes=0-1"], "app/1") == ["app/1"])
    #expect(try await sent(["user-agent": "mine"]) == ["mine"])
    #expect(try await sent([:], .some(nil)) == [])
    var configuration = SocketTransport.Configuration()
    configuration.userAgent = "a\r\nX-B: c"
    let transport = SocketTransport(configuration: configuration)
    #expect(await transport.kindOfError(for: try .to(server)) == .invalidRequest)
  }

  @Test func `a connection is kept and used again`() async throws {
    let server = try ScriptedServer(.answering { _ in Self.json })
    for _ in 0..<10 { _ = try await transport.response(to: .to(server)) }
    #expect(server.log.value.connections.count == 1)
    #expect(server.requests.count == 10)
  }

  @Test func `T7: disposing while connecting leaves no attempt behind`() async throws {
    let port = try UnansweredPort()
    let request = try HTTPRequest(method: .get, url: #require(URL(string: "http://127.0.0.1:\(port.port)/")))
    // The system tells of no change, so that there is no event to wait for.
    func waitForAttempts(_ count: Int) async throws {
      let end = ContinuousClock.now + .seconds(10)
      var attempts = port.attempts
      while .now < end, attempts != count {
        try await Task.sleep(for: .milliseconds(5))
        attempts = port.attempts
      }
      #expect(attempts == count)
    }
    let subscriptions = (0..<4).map { _ in transport.send(request).subscribe(onError: { _ in }) }
    try await waitForAttempts(4)
    for subscription in subscriptions { subscription.dispose() }
    try await waitForAttempts(0)
  }

  @Test func `a body of many megabytes arrives whole, in both directions`() async throws {
    let server = try ScriptedServer(.answering { RawResponse(body: $0.body) })
    var body = Data(count: 20 << 20)
    for index in stride(from: 0, to: body.count, by: 4096) { body[index] = UInt8(truncatingIfNeeded: index >> 12) }
    let request = try HTTPRequest(method: .post, url: server.url, body: body)
    let response = try await transport.response(to: request, upTo: 64 << 20)
    #expect(response.body == body)
  }

  @Test func `many requests at once each get their own response`() async throws {
    let server = try ScriptedServer(.answering { RawResponse(body: $0.target) })
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<500 {
        group.addTask {
          let response = try await transport.response(to: .to(server, "\(index)"))
          #expect(response.body == Data("/\(index)".utf8))
        }
      }
      try await group.waitForAll()
    }
    #expect(server.log.value.connections.count <= 64)
  }

  @Test func `a port at which no server listens is an error that says so`() async throws {
    let port = try RefusingPort()
    let url = try #require(URL(string: "http://localhost:\(port.port)/"))
    let error = await #expect(throws: RequestError.self) {
      try await transport.response(to: HTTPRequest(method: .get, url: url))
    }
    #expect(error?.kind == .cannotConnect)
    #expect(error?.message.contains("refused") == true)
  }

  @Test func `a name that does not exist is an error that says so`() async throws {
    let url = try #require(URL(string: "http://no-such-host.invalid/"))
    #expect(await transport.kindOfError(for: try HTTPRequest(method: .get, url: url)) == .cannotConnect)
  }
}
