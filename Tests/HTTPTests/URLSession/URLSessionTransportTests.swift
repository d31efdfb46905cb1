import Foundation
import HTTP
import Streams
import TestSupport
import Testing

struct URLSessionTransportTests {
  private typealias Fault = ScriptedServer.Fault

  private let transport = URLSessionTransport()

  private func request(
    _ url: URL, _ method: HTTPMethod = .post, headers: HTTPHeaders = HTTPHeaders(),
    timeouts: HTTPTimeouts = HTTPTimeouts()
  ) throws -> HTTPRequest {
    try HTTPRequest(
      method: method, url: url, headers: headers, body: method == .post ? Data("{}".utf8) : nil, timeouts: timeouts)
  }

  private func kind(of request: HTTPRequest, upTo limit: Int = 1 << 20) async -> RequestError.Kind? {
    await #expect(throws: RequestError.self) {
      try await transport.send(request).collect(upTo: limit).value
    }?.kind
  }

  @Test func `a request arrives as it was made, and the answer as it was sent`() async throws {
    let server = try ScriptedServer(
      .answering { _ in RawResponse(201, headers: [("X-Answer", "a b")], body: #"{"名":"王"}"#) })
    let headers = HTTPHeaders([try HTTPField(name: "X-Name", value: "王"), try HTTPField(name: "x-two", value: "2")])
    let url = server.url.appending(path: "a/b").appending(queryItems: [URLQueryItem(name: "q", value: "1")])
    let response = try await transport.send(request(url, headers: headers)).collect(upTo: 100).value
    #expect(response.head.status == 201)
    #expect(response.head.headers["x-answer"] == "a b")
    #expect(String(decoding: response.body, as: UTF8.self) == #"{"名":"王"}"#)
    let received = try #require(server.requests.first)
    #expect(received.method == "POST")
    #expect(received.target == "/a/b?q=1")
    #expect(received.body == [UInt8]("{}".utf8))
    #expect(received["x-name"] == "王")
    #expect(received["x-two"] == "2")
    #expect(received["accept-encoding"] == "identity")
  }

  @Test func `T1: a header that frames the message is refused before anything is sent`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse() })
    for name in ["Content-Length", "transfer-encoding", "Connection"] {
      let headers = HTTPHeaders([try HTTPField(name: name, value: "1")])
      #expect(try await kind(of: request(server.url, headers: headers)) == .invalidRequest)
    }
    #expect(server.log.value.connections.isEmpty)
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func `T2: a redirect is given as it is, and the other server sees nothing`(status: Int) async throws {
    let other = try ScriptedServer(.answering { _ in RawResponse() })
    let server = try ScriptedServer(
      .answering { [url = other.url] _ in RawResponse(status, headers: [("Location", url.absoluteString)]) })
    let response = try await transport.send(request(server.url)).collect(upTo: 100).value
    #expect(response.head.status == status)
    #expect(other.log.value.connections.isEmpty)
  }

  @Test func `T3: an endless body is cut off at the limit, and the connection closed`() async throws {
    let server = try ScriptedServer(Fault.endlessBody)
    #expect(try await kind(of: request(server.url), upTo: 1 << 20) == .tooLarge)
    try await server.waitForClientToClose()
  }

  @Test func `T5: requests that differ in their query alone both arrive, and cookies are not sent back`() async throws {
    let server = try ScriptedServer(
      .answering { _ in
        RawResponse(headers: [("Set-Cookie", "a=b"), ("Cache-Control", "max-age=1000")], body: "{}")
      })
    for query in ["A", "B", "A"] {
      let url = server.url.appending(queryItems: [URLQueryItem(name: "query", value: query)])
      _ = try await transport.send(request(url, .get)).collect(upTo: 100).value
    }
    #expect(server.requests.map(\.target) == ["/?query=A", "/?query=B", "/?query=A"])
    #expect(server.requests.allSatisfy { $0["cookie"] == nil })
  }

  @Test(arguments: [HTTPMethod.get, .post])
  func `T6: the idle and the total deadline come on time`(method: HTTPMethod) async throws {
    let server = try ScriptedServer(Fault.neverAnswering)
    for timeouts in [HTTPTimeouts(idle: .milliseconds(300)), HTTPTimeouts(total: .milliseconds(300))] {
      let start = ContinuousClock.now
      #expect(try await kind(of: request(server.url, method, timeouts: timeouts)) == .timedOut)
      #expect((.milliseconds(300)...(.milliseconds(550))).contains(.now - start))
    }
  }

  @Test func `T6: a connection that never stands ends at its deadline`() async throws {
    let port = try UnansweredPort()
    let url = try #require(URL(string: "http://127.0.0.1:\(port.port)/"))
    let start = ContinuousClock.now
    let timeouts = HTTPTimeouts(connect: .milliseconds(300), idle: nil, total: nil)
    #expect(try await kind(of: request(url, timeouts: timeouts)) == .timedOut)
    #expect((.milliseconds(300)...(.milliseconds(550))).contains(.now - start))
  }

  @Test func `T6: bytes that drip keep an exchange alive, and the total deadline ends it`() async throws {
    let server = try ScriptedServer(Fault.drippingBody)
    let timeouts = HTTPTimeouts(idle: .milliseconds(500), total: .milliseconds(900))
    let start = ContinuousClock.now
    #expect(try await kind(of: request(server.url, timeouts: timeouts)) == .timedOut)
    #expect((.milliseconds(900)...(.milliseconds(1150))).contains(.now - start))
  }

  @Test func `T6: a deadline that has passed already fails at once`() async throws {
    let server = try ScriptedServer(Fault.neverAnswering)
    #expect(try await kind(of: request(server.url, timeouts: HTTPTimeouts(total: .zero))) == .timedOut)
  }

  @Test func `T7: disposing stops the exchange within 100 ms`() async throws {
    let server = try ScriptedServer(Fault.neverAnswering)
    let subscription = try transport.send(request(server.url)).subscribe(onError: { Issue.record($0) })
    try await server.waitForRequests()
    let start = ContinuousClock.now
    subscription.dispose()
    let end = try await server.waitForClientToClose()
    #expect(end - start < .milliseconds(100))
  }

  @Test func `a transport that goes away with its last exchange leaves nothing behind`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    weak var gone: URLSessionTransport?
    do {
      let transport = URLSessionTransport()
      gone = transport
      _ = try await transport.send(request(server.url)).collect(upTo: 100).value
    }
    // The answer is given from within the exchange's queue, which may be about to let go of it.
    let start = ContinuousClock.now
    while gone != nil, .now - start < .seconds(5) { await Task.yield() }
    #expect(gone == nil)
  }
}
