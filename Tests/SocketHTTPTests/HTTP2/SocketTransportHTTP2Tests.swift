import Foundation
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// The transport in HTTP/2, with a real server.
@Suite(.serialized) struct SocketTransportHTTP2Tests {
  @Test(arguments: [false, true]) func `requests share one connection`(isSecure: Bool) async throws {
    let server = try await PythonHTTP2Server(isSecure: isSecure)
    let transport = server.transport()
    let bodies = try await withThrowingTaskGroup(of: Data.self) { group in
      for number in 0..<50 {
        group.addTask {
          let body = Data(repeating: UInt8(number), count: number * 1000)
          let response = try await transport.response(to: server.request("/echo", method: .post, body: body))
          #expect(response.body == body)
          return response.body
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(Set(bodies).count == 50)
    let counts = try await server.counts(by: transport)
    #expect(counts.connections == 1)
    #expect(counts.errors == nil)
  }

  @Test(arguments: [0, 1, 16_384, 3_000_000])
  func `bodies of all sizes come and go, beyond the windows`(size: Int) async throws {
    let server = try await PythonHTTP2Server()
    let transport = server.transport()
    let response = try await transport.response(to: server.request("/size?count=\(size)"))
    #expect(response.body.count == size)
    let body = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let echo = try await transport.response(to: server.request("/echo", method: .post, body: body))
    #expect(echo.body == body)
  }

  @Test func `more requests than the server takes at a time wait for their turn`() async throws {
    let server = try await PythonHTTP2Server(isSecure: false, "--streams", "3")
    let transport = server.transport { $0.maximumConnectionsPerOrigin = 1 }
    // The limit is known once the settings have come.
    _ = try await transport.response(to: server.request("/size?count=1"))
    try await withThrowingTaskGroup { group in
      for _ in 0..<20 {
        group.addTask {
          let response = try await transport.response(to: server.request("/steps?count=3&size=10"))
          #expect(response.body.count == 30)
        }
      }
      try await group.waitForAll()
    }
    let counts = try await server.counts(by: transport)
    #expect(counts.connections == 1)
    #expect(counts.errors == nil)
  }

  @Test func `a slow observer withholds only its own exchange`() async throws {
    let server = try await PythonHTTP2Server()
    let transport = server.transport()
    let release = DispatchSemaphore(value: 0)
    let (sizes, continuation) = AsyncStream.makeStream(of: Int.self)
    let disposable = try transport.send(server.request("/size?count=5000000")).subscribe(
      onNext: { part in
        guard case .body(let bytes) = part else { return }
        continuation.yield(bytes.count)
        release.wait()
      }, onError: { _ in continuation.finish() }, onCompleted: { continuation.finish() })
    var arrived = sizes.makeAsyncIterator()
    var total = await arrived.next() ?? 0
    for _ in 0..<10 {
      let response = try await transport.response(to: server.request("/size?count=100000"))
      #expect(response.body.count == 100_000)
    }
    for _ in 0..<1000 { release.signal() }
    while let size = await arrived.next() { total += size }
    #expect(total == 5_000_000)
    disposable.dispose()
    #expect(try await server.counts(by: transport).connections == 1)
  }

  @Test func `a request that is cancelled resets its stream alone`() async throws {
    let server = try await PythonHTTP2Server()
    let transport = server.transport()
    _ = try await transport.response(to: server.request("/size?count=1"))
    let (began, continuation) = AsyncStream.makeStream(of: Void.self)
    let hanging = try transport.send(server.request("/steps?count=1000&size=1")).subscribe(
      onNext: { _ in continuation.yield() }, onError: { _ in continuation.finish() })
    for await _ in began.prefix(1) {}
    hanging.dispose()
    try await eventually { try await server.counts(by: transport).resets ?? 0 > 0 }
    #expect(try await server.counts(by: transport).connections == 1)
  }

  @Test func `an interim response is passed on, and so are trailers, behind the body`() async throws {
    let server = try await PythonHTTP2Server()
    let transport = server.transport()
    let interim = Monitor<[Int]>([])
    var request = try server.request("/interim")
    request.onInterimResponse = { head in interim.update { $0.append(head.status) } }
    #expect(try await transport.response(to: request).body == Data("final".utf8))
    try await interim.wait(for: "the interim response") { $0 == [103] }
    let response = try await transport.response(to: server.request("/trailers"))
    #expect(response.body == Data("body".utf8))
    #expect(response.trailers == ["checksum": "abc"])
  }

  @Test func `a refusal before the body was sent is the response`() async throws {
    let server = try await PythonHTTP2Server()
    let transport = server.transport()
    let response = try await transport.response(
      to: server.request("/status?code=413", method: .post, body: Data(count: 10_000_000)))
    #expect(response.head.status == 413)
    #expect(response.body == Data("early".utf8))
    #expect(try await transport.response(to: server.request("/size?count=5")).body.count == 5)
  }

  @Test func `what the server refuses is sent again, a mutation, too`() async throws {
    let server = try await PythonHTTP2Server()
    let transport = server.transport {
      $0.refusalBackoff = Backoff(initial: .milliseconds(1), maximum: .milliseconds(1), jitter: 0)
    }
    let response = try await transport.response(
      to: server.request("/refuse?key=a&count=3", method: .post, body: Data("x".utf8)))
    #expect(response.body == Data("4".utf8))
    #expect(try await server.counts(by: transport).connections == 1)
  }

  @Test func `what the server has not taken before it closes goes to another connection`() async throws {
    let server = try await PythonHTTP2Server()
    let transport = server.transport()
    async let slow = transport.response(to: server.request("/steps?count=20&size=10"))
    let moved = try await transport.response(to: server.request("/goaway?key=a", method: .post, body: Data("x".utf8)))
    #expect(moved.body == Data("again".utf8))
    #expect(try await slow.body.count == 200)
    #expect(try await server.counts(by: transport).connections == 2)
  }

  @Test func `no request is lost while a server drains one connection after the other`() async throws {
    let server = try await PythonHTTP2Server()
    let transport = server.transport()
    try await withThrowingTaskGroup { group in
      for number in 0..<200 {
        group.addTask {
          let path = number % 10 == 0 ? "/drain" : "/steps?count=2&size=4"
          let response = try await transport.response(to: server.request(path, method: .post, body: Data("x".utf8)))
          #expect(response.head.status == 200)
        }
      }
      try await group.waitForAll()
    }
    #expect(try await server.counts(by: transport).errors == nil)
  }

  @Test(arguments: [
    ("/reset?code=8", RequestError.Kind.connectionLost), ("/half?code=2", .connectionLost), ("/cut", .connectionLost),
    ("/reset?code=1", .connectionLost),
  ])
  func `an exchange that the server ends fails, and the next one succeeds`(
    path: String, kind: RequestError.Kind
  ) async throws {
    let server = try await PythonHTTP2Server()
    let transport = server.transport()
    let request = try server.request(path, method: .post, body: Data("x".utf8))
    #expect(await transport.kindOfError(for: request) == kind)
    #expect(try await transport.response(to: server.request("/size?count=5")).body.count == 5)
  }

  @Test func `a deadline ends one exchange alone`() async throws {
    let server = try await PythonHTTP2Server()
    let transport = server.transport()
    async let kind = transport.kindOfError(
      for: server.request("/hang", timeouts: HTTPTimeouts(idle: .milliseconds(300), total: .seconds(20))))
    #expect(try await transport.response(to: server.request("/steps?count=60&size=10")).body.count == 600)
    #expect(try await kind == .timedOut)
    #expect(try await server.counts(by: transport).connections == 1)
  }

  @Test func `an upload of unknown size is sent without chunks, with its progress`() async throws {
    let server = try await PythonHTTP2Server()
    let transport = server.transport()
    let pieces = (0..<200).map { Data(repeating: UInt8($0), count: 1000) }
    var upload = HTTPUpload()
    upload.append {
      AsyncStream { continuation in
        for piece in pieces { continuation.yield(piece) }
        continuation.finish()
      }
    }
    var request = try server.request("/echo", method: .post)
    request.upload = upload
    let sent = Monitor<Int>(0)
    request.onProgress = { progress in sent.update { $0 = max($0, Int(progress.sent)) } }
    #expect(try await transport.response(to: request).body == pieces.reduce(Data(), +))
    try await sent.wait(for: "the progress") { $0 == 200_000 }
  }

  @Test func `a server that speaks HTTP/1 and one that is broken give different errors`() async throws {
    let server = try ScriptedServer { _ in [.send(RawResponse(400)), .close] }
    var configuration = SocketTransport.Configuration()
    configuration.httpVersions = .priorKnowledge
    let transport = SocketTransport(configuration: configuration)
    do {
      _ = try await transport.response(to: .to(server))
      Issue.record("it is no HTTP/2")
    } catch {
      #expect("\(error)".contains("it responds in HTTP/1"), "\(error)")
    }
  }

  @Test(arguments: ["/reset?code=13", "/goaway?key=a&code=13"])
  func `what the server demands in HTTP/1 is sent in it, a mutation, too`(path: String) async throws {
    let server = try await PythonHTTP2Server()
    var configuration = SocketTransport.Configuration()
    configuration.httpVersions = .priorKnowledge
    let transport = SocketTransport(configuration: configuration)
    // The server does not speak HTTP/1, and says so.
    let request = try server.request(path, method: .post, body: Data("x".utf8))
    #expect(await transport.kindOfError(for: request) != nil)
    #expect(try await server.counts(by: server.transport()).errors == 1)
  }

  // MARK: - Signs of life

  @Test func `a request that is not replayable asks a server that has been silent for a sign of life first`()
    async throws
  {
    let server = try await PythonHTTP2Server()
    let transport = server.transport(times: HTTP2Times(trust: .zero))
    _ = try await transport.response(to: server.request("/size?count=1"))
    #expect(try await server.counts(by: transport).pings == nil)
    let request = try server.request("/echo", method: .post, body: Data("x".utf8))
    for _ in 0..<3 { #expect(try await transport.response(to: request).body == Data("x".utf8)) }
    let counts = try await server.counts(by: transport)
    #expect(counts.pings == 3)
    #expect(counts.connections == 1)
  }

  @Test func `without such a sign, it goes to another connection, once`() async throws {
    let server = try await PythonHTTP2Server()
    let transport = server.transport(times: HTTP2Times(trust: .zero, longestHold: .milliseconds(100)))
    _ = try await transport.response(to: server.request("/size?count=1"))
    server.process.send(SIGSTOP)
    var request = try server.request("/echo", method: .post, body: Data("x".utf8))
    let connections = Monitor<[Bool]>([])
    request.onConnected = { isReused in connections.update { $0.append(isReused) } }
    let response = Task { [request] in try await transport.response(to: request) }
    // The system takes the connection, although the server is stopped.
    try await connections.wait(for: "another connection") { $0.count == 2 }
    server.process.send(SIGCONT)
    #expect(try await response.value.body == Data("x".utf8))
    let counts = try await server.counts(by: transport)
    #expect(counts.streams == 3)
    #expect(counts.goodbyes == 1)
  }

  @Test func `exchanges continue on a connection whose server was silent for a while`() async throws {
    let server = try await PythonHTTP2Server()
    let transport = server.transport(times: HTTP2Times(trust: .zero, longestHold: .milliseconds(100)))
    let carried = ExchangeLog(transport.send(try server.request("/steps?count=50&size=1")))
    try await carried.entries.wait(for: "the response") { !$0.isEmpty }
    server.process.send(SIGSTOP)
    var request = try server.request("/echo", method: .post, body: Data("x".utf8))
    let connections = Monitor(0)
    request.onConnected = { _ in connections.update { $0 += 1 } }
    let response = Task { [request] in try await transport.response(to: request) }
    try await connections.wait(for: "another connection") { $0 == 2 }
    server.process.send(SIGCONT)
    #expect(try await response.value.body == Data("x".utf8))
    #expect(try await carried.ended().last == .completed)
  }

  @Test func `a server that sends no settings ends the connection in time, with a clear error`() async throws {
    let server = try ScriptedServer([.waitForClientToClose])
    var configuration = SocketTransport.Configuration()
    configuration.httpVersions = .priorKnowledge
    let times = HTTP2Times(patience: .milliseconds(200))
    let transport = SocketTransport(configuration: configuration, makeHTTP: { _ in HTTP2Connection(times: times) })
    do {
      _ = try await transport.response(to: .to(server))
      Issue.record("it is no HTTP/2")
    } catch {
      #expect((error as? RequestError)?.kind == .badResponse)
      #expect("\(error)".contains("SETTINGS_TIMEOUT"), "\(error)")
    }
  }

  @Test func `a connection that is idle for long ends with a word to the server`() async throws {
    let server = try await PythonHTTP2Server()
    let transport = server.transport { $0.idleTime = .milliseconds(50) }
    _ = try await transport.response(to: server.request("/size?count=1"))
    let other = server.transport()
    try await eventually { try await server.counts(by: other).goodbyes ?? 0 >= 1 }
  }

  // MARK: - Limits

  @Test func `a head that is larger than the server takes is refused before it is sent`() async throws {
    let server = try await PythonHTTP2Server(isSecure: false, "--head", "2000")
    let transport = server.transport()
    _ = try await transport.response(to: server.request("/size?count=1"))
    var request = try server.request("/size?count=1")
    try request.headers.set("X-Large", to: String(repeating: "x", count: 2000))
    do {
      _ = try await transport.response(to: request)
      Issue.record("it was sent")
    } catch {
      #expect((error as? RequestError)?.kind == .tooLarge)
      #expect((error as? RequestError)?.reached == .never)
    }
    #expect(try await server.counts(by: transport).streams == 2)
  }
}
