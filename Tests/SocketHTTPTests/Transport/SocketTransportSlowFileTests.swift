import Foundation
import HTTPTestSupport
import LoopbackServers
import Streams
import SystemBase
import TestSupport
import Testing
import TransportConformance

@testable import HTTPClientCore
@testable import SocketHTTP

/// Uploads from a file system whose every call takes until a test lets it return.
@Suite struct SocketTransportSlowFileTests {
  /// Before each call, a thread really blocks, in reading from a pipe.
  private final class SlowFileSystem: Sendable {
    let threads = Monitor<[String]>([])
    private let pipe = Pipe()

    var access: FileAccess {
      FileAccess(willCall: { [self] _ in
        threads.update { $0.append(Thread.current.name ?? "") }
        var byte: UInt8 = 0
        _ = read(pipe.fileHandleForReading.fileDescriptor, &byte, 1)
      }) { ThreadPool.shared.run($0) }
    }

    var transport: SocketTransport { SocketTransport(configuration: .init(), files: access) }

    /// Lets so many calls return.
    func proceed(_ count: Int = 1) throws { try pipe.fileHandleForWriting.write(contentsOf: Data(count: count)) }

    /// Lets all calls return.
    func release() throws { try pipe.fileHandleForWriting.close() }
  }

  private final class TemporaryFile: Sendable {
    let url = FileManager.default.temporaryDirectory.appending(path: "moments-slow-\(UUID().uuidString)")

    init(_ bytes: Data) throws { try bytes.write(to: url) }

    deinit { try? FileManager.default.removeItem(at: url) }
  }

  private static let bytes = Data((0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })

  private func upload(
    _ file: TemporaryFile, to server: ScriptedServer, total: Duration? = nil, isReplayable: Bool = false
  ) throws -> HTTPRequest {
    var request = try HTTPRequest(method: .put, url: server.url, isReplayable: isReplayable)
    if let total { request.timeouts.total = total }
    request.upload = try .file(file.url)
    return request
  }

  /// How many calls return before the one that blocks: those that open and check it, and those that read it.
  @Test(arguments: [0, 1, 2, 3, 4, 5, 6])
  func `T6: a file that blocks delays neither its own deadline nor other requests nor their deadlines`(
    calls: Int
  ) async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let silent = try ScriptedServer([.readRequest, .waitForClientToClose])
    try await expectDelay(of: .milliseconds(600)) {
      let files = SlowFileSystem()
      let (transport, file) = (files.transport, try TemporaryFile(Self.bytes))
      try files.proceed(calls)
      let (begin, clock) = (ContinuousClock.now, ContinuousClock())
      let stopwatch = Stopwatch()
      let own = Monitor<Duration?>(nil)
      let subscription = transport.send(try upload(file, to: server, total: .milliseconds(600))).subscribe(
        onError: { _ in
          own.update { $0 = clock.now - begin }
          files.threads.update { _ in }
        })
      #expect(stopwatch.elapsed < .milliseconds(250), "the caller waited")
      try await files.threads.wait(for: "the call that blocks") { $0.count > calls || own.value != nil }
      // On a busy machine, the deadline may come before the file blocks: that shows nothing.
      if own.value != nil { return .seconds(60) }
      #expect(try await transport.response(to: .to(server)).head.status == 200)
      try await expectDelay(of: .milliseconds(150)) {
        let start = clock.now
        let request = try HTTPRequest.to(silent, timeouts: HTTPTimeouts(total: .milliseconds(150)))
        let error = await transport.send(request).collect(upTo: 1).failure
        #expect(error?.kind == .timedOut)
        return clock.now - start
      }
      let time = try await own.wait(for: "the deadline of the upload") { $0 != nil }
      #expect(!files.threads.value.contains("SocketTransport"))
      try files.release()
      subscription.dispose()
      return try #require(time)
    }
  }

  @Test func `T11: what a slow file system gives goes out whole`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let files = SlowFileSystem()
    let (transport, file) = (files.transport, try TemporaryFile(Self.bytes))
    async let response = transport.response(to: upload(file, to: server))
    for count in 1...8 {
      try await files.threads.wait { $0.count >= count }
      try files.proceed()
    }
    try files.release()
    #expect(try await response.head.status == 200)
    #expect(server.requests.first.map { Data($0.body) == Self.bytes } == true)
  }

  @Test func `disposing an upload whose file blocks ends it at once, and closes the file later`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let files = SlowFileSystem()
    let (transport, file) = (files.transport, try TemporaryFile(Self.bytes))
    let disposed = Latch()
    let subscription = transport.send(try upload(file, to: server)).subscribe(onDisposed: { disposed.open() })
    // The check, and the first block.
    try files.proceed(4)
    try await files.threads.wait { $0.count == 5 }
    subscription.dispose()
    try await disposed.wait()
    try files.release()
    try await server.waitForClientToClose()
    await transport.shutdown()
  }

  /// A server may close an idle connection meanwhile.
  @Test func `T10: a request whose file took long to open gets another connection than one that was kept`() async throws
  {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let files = SlowFileSystem()
    var configuration = SocketTransport.Configuration()
    configuration.idleTimeUnlessReplayable = .milliseconds(50)
    let (transport, file) = (
      SocketTransport(configuration: configuration, files: files.access), try TemporaryFile(Self.bytes)
    )
    _ = try await transport.response(to: .to(server))
    async let response = transport.response(to: upload(file, to: server))
    try await files.threads.wait { $0.count == 1 }
    try await Task.sleep(for: .milliseconds(60))
    try files.release()
    #expect(try await response.head.status == 200)
    #expect(server.log.value.connections.count == 2)
  }
}
