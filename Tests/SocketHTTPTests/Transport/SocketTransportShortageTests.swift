import HTTPTestSupport
import LoopbackServers
import Streams
import SystemBase
import TestSupport
import Testing
import TransportConformance

@testable import HTTPClientCore
@testable import SocketHTTP

/// What becomes of requests while the process has no descriptors left, which a poller plays: a process that really has none
/// cannot run a test.
@Suite struct SocketTransportShortageTests {
  /// How many more sockets there may be, and how often one was refused.
  private final class Descriptors: Sendable {
    let left: Monitor<Int>
    let refused = Monitor(0)

    init(_ left: Int) { self.left = Monitor(left) }

    var transport: SocketTransport {
      SocketTransport(configuration: .init(), makePoller: { () throws(SystemError) in try ShortPoller(self) })
    }
  }

  /// Watches no more sockets than there are descriptors for.
  private final class ShortPoller: Poller {
    private let poller: EpollPoller
    private let descriptors: Descriptors

    init(_ descriptors: Descriptors) throws(SystemError) {
      poller = try EpollPoller()
      self.descriptors = descriptors
    }

    func add(_ descriptor: Int32, token: UInt64) throws(SystemError) {
      let isRefused = descriptors.left.update { left in
        defer { left = max(left - 1, 0) }
        return left == 0
      }
      guard !isRefused else {
        descriptors.refused.update { $0 += 1 }
        throw SystemError(code: EMFILE)
      }
      try poller.add(descriptor, token: token)
    }

    func wait(until instant: Instant?, into events: inout [PollEvent]) { poller.wait(until: instant, into: &events) }
    func wake() { poller.wake() }
  }

  @Test func `T7: a request without a descriptor waits for its route's busy connection`() async throws {
    let gate = Latch()
    let server = try ScriptedServer(
      [.readRequest, .wait(for: gate), .send(RawResponse(body: "{}"))] + .answering { _ in RawResponse(body: "{}") })
    let descriptors = Descriptors(1)
    let transport = descriptors.transport
    let first = Monitor(""), second = Monitor("")
    for (monitor, count) in [(first, 0), (second, 1)] {
      _ = transport.send(try .to(server, isReplayable: true)).subscribe(
        onError: { error in monitor.update { $0 = "\(error)" } },
        onCompleted: { monitor.update { $0 = "answered" } })
      if count == 0 { try await server.waitForBytes() } else { try await descriptors.refused.wait { $0 > 0 } }
    }
    #expect(first.value.isEmpty)
    #expect(second.value.isEmpty)
    gate.open()
    try await second.wait { !$0.isEmpty }
    #expect(second.value == "answered")
  }

  @Test func `T7: a first request without a descriptor waits until there is one`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let descriptors = Descriptors(0)
    async let response = descriptors.transport.response(to: .to(server))
    try await descriptors.refused.wait { $0 >= 3 }
    descriptors.left.update { $0 = 1 }
    #expect(try await response.head.status == 200)
  }

  @Test func `T7: a burst of requests is answered on the few connections that there can be`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let transport = Descriptors(4).transport
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<90 {
        group.addTask { try await transport.response(to: .to(server, isReplayable: true)).head.status }
      }
      for try await status in group { #expect(status == 200) }
    }
    #expect(server.log.value.connections.count { $0.bytesReceived > 0 } <= 4)
  }

  @Test func `a request that has waited for its time fails with what was lacking, and was never sent`() async throws {
    let descriptors = Descriptors(0)
    let request = try HTTPRequest(
      method: .get, url: url("http://127.0.0.1:1/"), timeouts: HTTPTimeouts(connect: .milliseconds(300)))
    let error = await descriptors.transport.send(request).collect(upTo: 1).failure
    #expect(error?.kind == .timedOut)
    #expect(error?.isShortage == true)
    #expect(error?.reached == .never)
    // It is tried now and then, not without a pause.
    #expect(descriptors.refused.value < 40)
  }
}

extension SocketTransportShortageTests {
  /// A file system on which so many calls fail for want of descriptors.
  private final class Files: Sendable {
    let failures: Monitor<Int>
    /// How many threads are at work.
    let running = Monitor(0)
    let url = FileManager.default.temporaryDirectory.appending(path: "moments-short-\(UUID().uuidString)")

    init(failing count: Int) throws {
      failures = Monitor(count)
      try Data("abc".utf8).write(to: url)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// `first` calls succeed before the first that fails.
    func transport(after first: Int) -> SocketTransport {
      let calls = Monitor(0)
      let nextFailure = { @Sendable [failures] () -> SystemError? in
        let number = calls.update { count in
          defer { count += 1 }
          return count
        }
        guard number >= first else { return nil }
        let isShort = failures.update { left in
          defer { left = max(left - 1, 0) }
          return left > 0
        }
        return isShort ? SystemError(code: EMFILE) : nil
      }
      let access = FileAccess(nextFailure: nextFailure) { [running] job in
        running.update { $0 += 1 }
        ThreadPool.shared.run {
          job()
          running.update { $0 -= 1 }
        }
      }
      return SocketTransport(configuration: .init(), files: access)
    }

    func upload(to server: ScriptedServer, connect: Duration = .seconds(10)) throws -> HTTPRequest {
      var request = try HTTPRequest(method: .put, url: server.url, timeouts: HTTPTimeouts(connect: connect))
      request.upload = try .file(url)
      return request
    }
  }

  /// Two calls open and check the file before anything is sent; the third opens it to be read.
  @Test(arguments: [0, 2])
  func `T7: an upload whose file cannot be opened for want of descriptors waits until it can`(
    first: Int
  ) async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let files = try Files(failing: 3)
    let response = try await files.transport(after: first).response(to: files.upload(to: server))
    #expect(response.head.status == 200)
    #expect(files.failures.value == 0)
    #expect(server.requests.first.map { String(decoding: $0.body, as: UTF8.self) } == "abc")
  }

  @Test func `T7: it waits for its time to connect, and then fails with what was lacking, never sent`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let files = try Files(failing: .max)
    let request = try files.upload(to: server, connect: .milliseconds(300))
    let start = ContinuousClock.now
    let error = await files.transport(after: 0).send(request).collect(upTo: 1).failure
    #expect(ContinuousClock.now - start >= .milliseconds(300))
    #expect(error?.kind == .cannotRead)
    #expect(error?.isShortage == true)
    #expect(error?.reached == .never)
    #expect(server.requests.isEmpty)
  }

  @Test(arguments: [0, 2])
  func `T7: one that is disposed no longer waits`(first: Int) async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let files = try Files(failing: .max)
    let transport = files.transport(after: first)
    let subscription = transport.send(try files.upload(to: server, connect: .seconds(60))).subscribe()
    try await files.failures.wait { $0 <= .max - 3 }
    subscription.dispose()
    try await files.running.wait(for: "the thread that tries") { $0 == 0 }
  }
}

extension ScriptedServer {
  /// Waits until a first connection has received bytes.
  fileprivate func waitForBytes() async throws {
    try await log.wait { ($0.connections.first?.bytesReceived ?? 0) > 0 }
  }
}
