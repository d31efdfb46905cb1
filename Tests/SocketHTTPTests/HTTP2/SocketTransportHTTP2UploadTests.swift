import Dispatch
import Foundation
import HTTPTestSupport
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// The transport in HTTP/2 with bodies of requests that end, wait, or are given up at unlucky moments.
@Suite(.timeLimit(.minutes(2))) struct SocketTransportHTTP2UploadTests {
  /// A request whose body is a stream, which begins with one byte.
  private func streaming(
    to server: HTTP2ScriptedServer, timeouts: HTTPTimeouts
  ) throws -> (request: HTTPRequest, body: AsyncStream<Data>.Continuation) {
    let (bytes, continuation) = AsyncStream.makeStream(of: Data.self)
    var upload = HTTPUpload()
    upload.append { bytes }
    var request = try server.request(method: .post, timeouts: timeouts)
    request.upload = upload
    continuation.yield(Data("a".utf8))
    return (request, continuation)
  }

  @Test func `an exchange whose response came first is complete once the request has ended`() async throws {
    let server = try HTTP2ScriptedServer { connection in
      let stream = try connection.readHead()
      try connection.send(HTTP2ServerFrame.head(stream) + HTTP2ServerFrame.data(stream, "early", isEnd: true))
      while true { _ = try connection.readFrame() }
    }
    let transport = server.transport()
    let (request, body) = try streaming(to: server, timeouts: HTTPTimeouts(total: .seconds(15)))
    let log = ExchangeLog(transport.send(request))
    try await log.entries.wait(for: "the head") { !$0.isEmpty }
    body.finish()
    #expect(try await log.ended().last == .completed)
  }

  @Test func `the idle deadline counts from the end of a request that had to wait for its body`() async throws {
    let hasBegun = Latch()
    let server = try HTTP2ScriptedServer { connection in
      while try connection.readFrame().type != 0 {}
      // What has arrived was sent before the body had to wait.
      hasBegun.open()
      while true { _ = try connection.readFrame() }
    }
    let transport = server.transport()
    let (request, body) = try streaming(
      to: server, timeouts: HTTPTimeouts(idle: .milliseconds(300), total: .seconds(60)))
    let start = ContinuousClock.now
    let log = ExchangeLog(transport.send(request))
    try await hasBegun.wait()
    body.finish()
    #expect(try await log.ended() == [.failed(.timedOut)])
    #expect(ContinuousClock.now - start < .seconds(30))
  }

  @Test func `T10: that a stream was read already does not mean that nothing of the request was sent`() async throws {
    let heads = Monitor(0)
    let server = try HTTP2ScriptedServer { connection in
      while true {
        let frame = try connection.readFrame()
        if frame.type == 1 { heads.update { $0 += 1 } }
        if frame.type <= 1, frame.flags & 1 != 0 { try connection.send(HTTP2ServerFrame.reset(frame.stream, 2)) }
      }
    }
    let transport = server.transport()
    var (request, body) = try streaming(to: server, timeouts: HTTPTimeouts(total: .seconds(15)))
    body.finish()
    let (bytes, continuation) = AsyncStream.makeStream(of: Data.self)
    continuation.finish()
    request.upload?.append(.stream(once: bytes))
    let first = await transport.send(request).collect(upTo: 100).failure
    #expect(first?.kind == .connectionLost)
    let second = await transport.send(request).collect(upTo: 100).failure
    #expect(second?.kind == .cannotRead)
    #expect(second?.reached == .maybe)
    try await heads.wait(for: "both heads") { $0 == 2 }
  }

  // MARK: - Files

  /// A file of 1000 bytes, and an access to it whose first call does not return until a test lets it.
  private final class SlowFile: Sendable {
    let url = FileManager.default.temporaryDirectory.appending(path: "moments-\(UUID().uuidString)")
    let isCalled = Latch()
    /// Whether work on the file has been done since.
    let isChecked = Latch()
    private let mayReturn = DispatchSemaphore(value: 0)

    init() throws { try Data(count: 1000).write(to: url) }

    deinit { try? FileManager.default.removeItem(at: url) }

    var access: FileAccess {
      FileAccess(willCall: { [isCalled, mayReturn] _ in
        if isCalled.isOpen { return }
        isCalled.open()
        mayReturn.wait()
      }) { [isChecked] work in
        ThreadPool.shared.run {
          work()
          isChecked.open()
        }
      }
    }

    func release() { mayReturn.signal() }
  }

  @Test func `an upload that is cancelled while its file is looked at is not sent`() async throws {
    let server = try await PythonHTTP2Server()
    let file = try SlowFile()
    let transport = server.transport(files: file.access)
    let streams = try await server.counts(by: transport).streams ?? 0
    var request = try server.request("/hang", method: .post)
    request.upload = try .file(file.url)
    let log = ExchangeLog(transport.send(request))
    try await file.isCalled.wait()
    log.subscription.dispose()
    file.release()
    try await file.isChecked.wait()
    // The loop, which would send it, sees to this response after that.
    _ = try await transport.response(to: server.request("/size?count=1"))
    let counts = try await server.counts(by: transport)
    #expect(counts.streams == streams + 2)
    #expect(counts.connections == 1)
  }

  @Test func `an upload whose file takes long to be looked at does no harm to others`() async throws {
    let server = try await PythonHTTP2Server()
    let file = try SlowFile()
    let transport = server.transport(files: file.access) { $0.idleTimeUnlessReplayable = .milliseconds(300) }
    _ = try await transport.response(to: server.request("/size?count=1"))
    let other = ExchangeLog(
      try transport.send(server.request("/steps?count=60&size=1", method: .post, body: Data("x".utf8))))
    try await other.entries.wait(for: "the other's response") { $0.count > 1 }
    var request = try server.request("/echo", method: .put)
    request.isReplayable = false
    request.upload = try .file(file.url)
    let uploading = Task { [request] in try await transport.response(to: request) }
    try await file.isCalled.wait()
    // These take 10 ms each.
    try await other.entries.wait(for: "40 pieces") { $0.count > 40 || $0.last?.isEnd ?? false }
    file.release()
    #expect(try await uploading.value.body == Data(count: 1000))
    #expect(try await other.ended().last == .completed)
    #expect(try await server.counts(by: transport).connections == 1)
  }
}
