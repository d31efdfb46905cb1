import Dispatch
import Foundation
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// The transport in HTTP/2 with exchanges that share a connection, none of which may harm another.
@Suite(.timeLimit(.minutes(2))) struct SocketTransportHTTP2SharingTests {
  @Test func `a request that begins over TLS takes nothing of what has arrived for others`() async throws {
    let server = try await PythonHTTP2Server(isSecure: true)
    let transport = server.transport()
    try await withThrowingTaskGroup { group in
      for number in 0..<20 {
        group.addTask {
          for round in 0..<15 {
            let body = Data(repeating: UInt8(number), count: 2000 + round)
            let response = try await transport.response(to: server.request("/echo", method: .post, body: body))
            #expect(response.body == body)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await server.counts(by: transport).connections == 1)
  }

  @Test func `a shutdown within a limit ends what is under way, and waits for nothing else`() async throws {
    let server = try await PythonHTTP2Server()
    let transport = server.transport()
    _ = try await transport.response(to: server.request("/size?count=1"))
    let log = ExchangeLog(transport.send(try server.request("/hang")))
    let start = ContinuousClock.now
    await transport.shutdown(within: .milliseconds(100))
    #expect(ContinuousClock.now - start < .seconds(10))
    #expect(log.entries.value == [.failed(.connectionLost)])
  }

  @Test func `a connection whose last exchange was cancelled is idle for no longer than others`() async throws {
    let server = try await PythonHTTP2Server()
    let transport = server.transport { $0.idleTime = .milliseconds(50) }
    // Without deadlines, whose checks look at idle connections, too.
    let timeouts = HTTPTimeouts(connect: nil, idle: nil, total: nil)
    let log = ExchangeLog(transport.send(try server.request("/events?count=10000", timeouts: timeouts)))
    // One comes each 10 ms, so that the time in which it might have been idle is over.
    try await log.entries.wait(for: "events") { $0.count > 20 }
    log.subscription.dispose()
    while transport.statistics().total.connections > 0 {
      try Task.checkCancellation()
      await Task.yield()
    }
  }

  @Test func `responses that came before the end of the connection count, whatever begins meanwhile`() async throws {
    let count = 400
    let hasAll = Latch()
    let server = try HTTP2ScriptedServer { connection in
      guard connection.number == 1 else {
        while true { try connection.send(HTTP2ServerFrame.head(connection.readRequest(), isEnd: true)) }
      }
      try connection.send(HTTP2ServerFrame.head(connection.readRequest(), isEnd: true))
      var last: UInt32 = 0
      var responses: [UInt8] = []
      for _ in 0..<count {
        last = try connection.readRequest()
        responses += HTTP2ServerFrame.head(last) + HTTP2ServerFrame.data(last, "ok", isEnd: true)
      }
      hasAll.open()
      try connection.send(responses + HTTP2ServerFrame.goAway(last))
      connection.finish()
    }
    let transport = server.transport()
    _ = try await transport.response(to: server.request())
    let logs = try (0..<count).map { _ in
      ExchangeLog(transport.send(try server.request(method: .post, body: Data("x".utf8))))
    }
    try await hasAll.wait()
    let others = try (0..<200).map { _ in ExchangeLog(transport.send(try server.request())) }
    var failures: [[ExchangeLog.Entry]] = []
    for log in logs {
      let entries = try await log.ended()
      if entries != [.head(200), .body("ok"), .completed] { failures.append(entries) }
    }
    #expect(failures.isEmpty, "\(failures.count) failed")
    withExtendedLifetime(others) {}
  }

  @Test func `who gets the place of a request that is cancelled is sent at once`() async throws {
    let server = try await PythonHTTP2Server(isSecure: false, "--streams", "2")
    let transport = server.transport { $0.maximumConnectionsPerOrigin = 1 }
    _ = try await transport.response(to: server.request("/size?count=1"))
    let hanging = try (0..<2).map { _ in ExchangeLog(transport.send(try server.request("/steps?count=2000&size=1"))) }
    for log in hanging { try await log.entries.wait(for: "the response") { !$0.isEmpty } }
    var request = try server.request("/size?count=3")
    let attempts = Monitor(0)
    request.onConnected = { _ in attempts.update { $0 += 1 } }
    let next = ExchangeLog(transport.send(request))
    hanging[0].subscription.dispose()
    #expect(try await next.ended() == [.head(200), .body("xxx"), .completed])
    // It is called on a queue of its own.
    try await attempts.wait { $0 > 0 }
    #expect(attempts.value == 1)
    hanging[1].subscription.dispose()
  }

  @Test func `what is sent right after a cancellation gets its place`() async throws {
    let server = try await PythonHTTP2Server(isSecure: false, "--streams", "2")
    let transport = server.transport { $0.maximumConnectionsPerOrigin = 1 }
    _ = try await transport.response(to: server.request("/size?count=1"))
    let attempts = Monitor(0)
    var request = try server.request("/steps?count=2000&size=1")
    request.onConnected = { _ in attempts.update { $0 += 1 } }
    var logs: [ExchangeLog] = []
    for _ in 0..<20 {
      for log in logs { log.subscription.dispose() }
      logs = (0..<2).map { _ in ExchangeLog(transport.send(request)) }
      for log in logs { try await log.entries.wait(for: "the response") { !$0.isEmpty } }
    }
    try await attempts.wait { $0 >= 40 }
    #expect(attempts.value == 40)
    for log in logs { log.subscription.dispose() }
  }

  @Test(arguments: [HTTPMethod.get, .post])
  func `a request is not sent again once its observer has some of the response`(method: HTTPMethod) async throws {
    let mayRefuse = DispatchSemaphore(value: 0)
    let server = try HTTP2ScriptedServer { connection in
      let stream = try connection.readRequest()
      try connection.send(HTTP2ServerFrame.head(stream) + HTTP2ServerFrame.data(stream, "first"))
      mayRefuse.wait()
      try connection.send(HTTP2ServerFrame.reset(stream, HTTP2ErrorCode.refusedStream.rawValue))
      let next = try connection.readRequest()
      try connection.send(HTTP2ServerFrame.head(next) + HTTP2ServerFrame.data(next, "second", isEnd: true))
      connection.finish()
    }
    let transport = server.transport()
    let log = ExchangeLog(
      transport.send(try server.request(method: method, body: method == .post ? Data("x".utf8) : nil)))
    try await log.entries.wait(for: "the first part") { $0.count == 2 }
    mayRefuse.signal()
    #expect(try await log.ended() == [.head(200), .body("first"), .failed(.connectionLost)])
  }

  @Test func `slow observers of large bodies take no window from others`() async throws {
    let size = HTTP2Configuration().streamWindow
    let server = try HTTP2ScriptedServer { connection in
      let piece = [UInt8](repeating: 0, count: 16 << 10)
      for _ in 0..<10 {
        let stream = try connection.readRequest()
        try connection.send(HTTP2ServerFrame.head(stream))
        for _ in 0..<size / piece.count { try connection.send(HTTP2ServerFrame.data(stream, piece)) }
      }
      let last = try connection.readRequest()
      try connection.send(HTTP2ServerFrame.head(last) + HTTP2ServerFrame.data(last, "ok", isEnd: true))
      connection.finish()
    }
    let transport = server.transport()
    let mayTake = DispatchSemaphore(value: 0)
    let begun = Monitor(0)
    let slow = try (0..<10).map { _ in
      try transport.send(server.request()).subscribe(
        onNext: { _ in
          begun.update { $0 += 1 }
          mayTake.wait()
        }, onError: { _ in })
    }
    // The server takes them for the first ten.
    try await begun.wait { $0 == 10 }
    #expect(try await transport.response(to: server.request()).body == Data("ok".utf8))
    for subscription in slow { subscription.dispose() }
    for _ in 0..<10_000 { mayTake.signal() }
  }

  @Test func `a new connection is given no more than one request until the server has said how many it takes`()
    async throws
  {
    // This one ends the connection when there are more.
    let server = try await PythonHTTP2Server(isSecure: false, "--streams", "10")
    let transport = server.transport()
    try await withThrowingTaskGroup { group in
      for _ in 0..<50 {
        group.addTask {
          let request = try server.request("/echo", method: .post, body: Data("x".utf8))
          #expect(try await transport.response(to: request).body == Data("x".utf8))
        }
      }
      try await group.waitForAll()
    }
    #expect(try await server.counts(by: transport).errors == nil)
  }

  @Test func `what waits for a server that takes no streams for now is sent once it does`() async throws {
    let (hasLimit, mayRaise) = (Monitor(false), DispatchSemaphore(value: 0))
    let server = try HTTP2ScriptedServer { connection in
      try connection.send(HTTP2ServerFrame.head(connection.readRequest(), isEnd: true))
      try connection.send(HTTP2ServerFrame.settings([(HTTP2Setting.maximumConcurrentStreams, 0)]))
      hasLimit.update { $0 = true }
      mayRaise.wait()
      try connection.send(HTTP2ServerFrame.settings([(HTTP2Setting.maximumConcurrentStreams, 100)]))
      while true { try connection.send(HTTP2ServerFrame.head(connection.readRequest(), isEnd: true)) }
    }
    let transport = server.transport {
      $0.maximumConnectionsPerOrigin = 1
      $0.refusalBackoff = Backoff(initial: .seconds(60), maximum: .seconds(60), jitter: 0)
    }
    let attempts = Monitor(0)
    var request = try server.request(method: .post, body: Data("x".utf8), timeouts: HTTPTimeouts(total: .seconds(60)))
    request.onConnected = { _ in attempts.update { $0 += 1 } }
    _ = try await transport.response(to: request)
    try await hasLimit.wait(for: "the limit") { $0 }
    let logs = (0..<20).map { [request] _ in ExchangeLog(transport.send(request)) }
    try await attempts.wait(for: "an attempt") { $0 > 1 }
    mayRaise.signal()
    for log in logs {
      let entries = try await log.ended()
      #expect(entries == [.head(200), .completed])
    }
    // None was refused and sent again.
    try await attempts.wait { $0 >= 21 }
    #expect(attempts.value == 21)
  }

  @Test func `a request goes to another connection while event streams take all of the first from the start`()
    async throws
  {
    let server = try await PythonHTTP2Server(isSecure: false, "--streams", "2")
    let transport = server.transport()
    let forLong = HTTPTimeouts(total: .seconds(60))
    let streams = try (0..<2).map { _ in
      ExchangeLog(transport.send(try server.request("/events?count=100000", timeouts: forLong)))
    }
    let log = ExchangeLog(transport.send(try server.request("/size?count=1", timeouts: forLong)))
    let entries = try await log.ended()
    #expect(entries.last == .completed)
    for stream in streams { stream.subscription.dispose() }
  }

  /// The system takes no more of what is sent, so that nothing but what arrives makes the connection look again.
  @Test func `a request goes to another connection at a GOAWAY of a server that does not read`() async throws {
    let (mayLeave, hasEnded) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let server = try HTTP2ScriptedServer { connection in
      if connection.number == 1 {
        try connection.send(
          HTTP2ServerFrame.settings([
            (HTTP2Setting.maximumConcurrentStreams, 1), (HTTP2Setting.initialWindowSize, 1 << 30),
          ]) + HTTP2ServerFrame.windowUpdate(0, 1 << 30))
        _ = try connection.readHead()
        mayLeave.wait()
        try connection.send(HTTP2ServerFrame.goAway(1))
        hasEnded.wait()
      } else {
        while true { try connection.send(HTTP2ServerFrame.head(connection.readRequest(), isEnd: true)) }
      }
    }
    defer { hasEnded.signal() }
    let transport = server.transport()
    let forLong = HTTPTimeouts(total: .seconds(60))
    let progress = Monitor(0)
    var request = try server.request(method: .post, body: Data(count: 64 << 20), timeouts: forLong)
    request.onProgress = { sent in progress.update { $0 = sent.sent } }
    let upload = ExchangeLog(transport.send(request))
    try await progress.wait(for: "the upload") { $0 > 0 }
    let logs = try (0..<3).map { _ in ExchangeLog(transport.send(try server.request(timeouts: forLong))) }
    mayLeave.signal()
    for log in logs {
      let entries = try await log.ended()
      #expect(entries == [.head(200), .completed])
    }
    upload.subscription.dispose()
  }

  /// It responds to one request on each connection, and says that it has too much to do: ENHANCE_YOUR_CALM. It may have taken
  /// the others by then.
  @Test(arguments: [false, true])
  func `what a server refuses because it has too much to do is not sent at once again and again`(hasTaken: Bool)
    async throws
  {
    let connections = Monitor(0)
    let server = try HTTP2ScriptedServer { connection in
      connections.update { $0 += 1 }
      let stream = try connection.readRequest()
      // The others are on their way by then.
      for _ in 1..<(11 - connection.number) { _ = try connection.readRequest() }
      let end = HTTP2ServerFrame.goAway(hasTaken ? 99 : stream, 11)
      try connection.send(HTTP2ServerFrame.head(stream, isEnd: true) + end)
      connection.finish()
    }
    let transport = server.transport {
      $0.maximumConnectionsPerOrigin = 1
      $0.refusalBackoff = Backoff(initial: .seconds(60), maximum: .seconds(60), jitter: 0)
    }
    let logs = try (0..<10).map { _ in
      ExchangeLog(transport.send(try server.request(timeouts: HTTPTimeouts(total: .seconds(4)))))
    }
    var kinds: [ExchangeLog.Entry?] = []
    for log in logs { kinds.append(try await log.ended().last) }
    #expect(kinds.count { $0 == .completed } == 2)
    #expect(kinds.count { $0 == .failed(.timedOut) } == 8)
    #expect(connections.value == 2)
  }
}
