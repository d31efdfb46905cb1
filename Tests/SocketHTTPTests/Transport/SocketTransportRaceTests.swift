import Foundation
import Streams
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// What goes wrong only when two things happen at once: everything here is done many times, with random delays.
@Suite struct SocketTransportRaceTests {
  private static func transport(connections: Int) -> SocketTransport {
    var configuration = SocketTransport.Configuration()
    configuration.maximumConnectionsPerOrigin = connections
    return SocketTransport(configuration: configuration)
  }

  /// How one exchange of a storm ended.
  enum Ending: Equatable {
    case answered, failed(RequestError.Kind), cancelled, wrongAnswer
  }

  /// Sends requests, so many at a time, each with a path of its own that the server is to send back. Those for which
  /// `delay` gives a time are cancelled after it; each must end, and no other may come to harm.
  private func storm(
    _ transport: some HTTPTransport, _ server: URL, count: Int, atOnce width: Int,
    timeouts: HTTPTimeouts = HTTPTimeouts(connect: .seconds(60)),
    cancelAfter delay: @escaping @Sendable (Int) -> Duration?
  ) async throws -> [Ending] {
    let endings = Monitor<[Int: Ending]>([:])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for lane in 0..<width {
        group.addTask {
          for number in stride(from: lane, to: count, by: width) {
            let url = server.appending(path: "\(number)")
            var request = try HTTPRequest(method: .get, url: url, timeouts: timeouts)
            // Whatever breaks, it is sent once.
            request.isReplayable = false
            let isOver = Latch()
            let record: @Sendable (Ending) -> Void = { ending in
              endings.update { $0[number] = $0[number] ?? ending }
              isOver.open()
            }
            let subscription = transport.send(request).collect(upTo: 1 << 20).subscribe(
              onNext: { record($0.body == Data("/\(number)".utf8) ? .answered : .wrongAnswer) },
              onError: { record(.failed(RequestError(wrapping: $0).kind)) },
              onDisposed: { record(.cancelled) })
            if let delay = delay(number) {
              if delay > .zero { try await Task.sleep(for: delay) }
              subscription.dispose()
            }
            try await isOver.wait(for: "exchange \(number)", within: .seconds(60))
          }
        }
      }
      try await group.waitForAll()
    }
    return endings.value.sorted { $0.key < $1.key }.map(\.value)
  }

  private static func randomDelay(oneIn chance: Int = 2, upTo microseconds: Int = 500) -> Duration? {
    guard Int.random(in: 0..<chance) == 0 else { return nil }
    return Bool.random() ? .zero : .microseconds(Int.random(in: 0...microseconds))
  }

  /// The size of a storm: 10,000 exchanges, or ten times that where a long run was asked for.
  private static let size = TestScale.isLong ? 100_000 : 10_000

  @Test
  func `T7: 10,000 random cancellations leave no thread, no descriptor and no exchange, and fail no other request`()
    async throws
  {
    let threads = try #require(ProcessUsage.current).threads
    // Once to warm up: Dispatch opens descriptors of its own.
    try await cancelAtRandom(count: 200)
    let descriptors = try #require(ProcessUsage.current).descriptors
    try await cancelAtRandom(count: Self.size)
    let end = ContinuousClock.now + .seconds(30)
    var usage = try #require(ProcessUsage.current)
    // A few of the process's own may come meanwhile; a leak would be of hundreds. Dispatch ends a thread that
    // delivered, and that has had nothing to do for five seconds.
    while .now < end, usage.descriptors > descriptors + 8 || usage.threads > threads + 4 || Self.loopThreads > 0 {
      try await Task.sleep(for: .milliseconds(20))
      usage = try #require(ProcessUsage.current)
    }
    #expect(usage.descriptors <= descriptors + 8)
    #expect(usage.threads <= threads + 4)
    #expect(Self.loopThreads == 0)
  }

  private func cancelAtRandom(count: Int) async throws {
    let server = try ScriptedServer(.answering { RawResponse(body: $0.target) })
    let transport = Self.transport(connections: 16)
    let endings = try await storm(transport, server.url, count: count, atOnce: 48) { _ in Self.randomDelay(oneIn: 1) }
    #expect(endings.count == count)
    #expect(!endings.contains { $0 != .cancelled && $0 != .answered })
    let rest = try await storm(transport, server.url, count: 200, atOnce: 48) { _ in nil }
    #expect(rest.allSatisfy { $0 == .answered })
    await transport.shutdown()
  }

  /// The threads of all transports in this process.
  private static var loopThreads: Int {
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return tasks.count { task in
      let name = try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)
      return name?.hasPrefix("SocketTransport") == true
    }
  }

  /// A reply that completes while its exchange is cancelled must not leave its connection to anybody.
  @Test func `exchanges that are cancelled as their responses come fail none of the others`() async throws {
    let server = try ScriptedServer(.answering { RawResponse(body: $0.target) })
    let endings = try await storm(Self.transport(connections: 4), server.url, count: Self.size / 2, atOnce: 16) { _ in
      Self.randomDelay()
    }
    #expect(!endings.contains { $0 != .cancelled && $0 != .answered })
  }

  /// A connection dies while the one who waits for its place is being cancelled: the next in line must get it.
  @Test(arguments: [1, 2])
  func `a pool of dying connections and leaving waiters never stalls`(connections: Int) async throws {
    let server = try ScriptedServer([
      .readRequest, .respond { RawResponse(headers: [("Connection", "close")], body: $0.target) }, .close,
    ])
    let endings = try await storm(
      Self.transport(connections: connections), server.url, count: Self.size / 10, atOnce: 24
    ) { _ in Self.randomDelay(upTo: 3000) }
    #expect(!endings.contains { $0 != .cancelled && $0 != .answered })
  }

  /// The FIN comes right behind the answer, in one reading with it or just after: the next request must not be lost.
  @Test func `a response with the end of its connection right behind it does not fail the next request`() async throws {
    let server = try ScriptedServer([.readRequest, .respond { RawResponse(body: $0.target) }, .close])
    let transport = Self.transport(connections: 1)
    for number in 0..<500 {
      let request = try HTTPRequest(method: .get, url: server.url.appending(path: "\(number)"), isReplayable: true)
      #expect(try await transport.response(to: request).body == Data("/\(number)".utf8))
    }
  }

  /// Deadlines that pass just as the connection is there, the request is written, or the answer comes.
  @Test func `deadlines that race connections and responses end each exchange once, and fail none of the others`()
    async throws
  {
    let server = try ScriptedServer(.answering { RawResponse(body: $0.target) })
    let transport = Self.transport(connections: 3)
    async let hasty = storm(
      transport, server.url, count: Self.size / 5, atOnce: 24,
      timeouts: HTTPTimeouts(connect: .milliseconds(2), idle: .milliseconds(2), total: .milliseconds(3))
    ) { _ in nil }
    async let patient = storm(transport, server.url, count: Self.size / 10, atOnce: 8) { _ in nil }
    for ending in try await hasty { #expect(ending == .answered || ending == .failed(.timedOut)) }
    for ending in try await patient { #expect(ending == .answered) }
  }

  /// Servers that reset or close at any time: every exchange ends, with an answer or with the right error.
  @Test func `connections that break at any moment end each exchange once`() async throws {
    let server = try ScriptedServer { number in
      switch number % 4 {
      case 0: .answering { RawResponse(body: $0.target) }
      case 1: [.readRequest, .reset]
      case 2: [.readRequest, .respond { RawResponse(body: $0.target) }, .reset]
      default: [.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Le"), .close]
      }
    }
    let endings = try await storm(Self.transport(connections: 8), server.url, count: Self.size / 5, atOnce: 24) { _ in
      Self.randomDelay(oneIn: 4)
    }
    for ending in endings { #expect([.cancelled, .answered, .failed(.connectionLost)].contains(ending)) }
    let sent = Dictionary(grouping: server.requests, by: \.target)
    #expect(!sent.isEmpty)
    #expect(sent.allSatisfy { $0.value.count == 1 })
  }

  @Test func `random cancellations over TLS fail no other request`() async throws {
    let world = try TLSWorld.shared.get()
    let server = try ScriptedServer(.answering { RawResponse(body: $0.target) })
    let relay = try TLSRelay(to: server.port, TLSServerContext(TLSServerSettings(certificate: world.server)))
    var configuration = SocketTransport.Configuration()
    configuration.tls = TLSConfiguration(trust: .only(.bytes(world.authority.certificate)))
    configuration.maximumConnectionsPerOrigin = 8
    let transport = SocketTransport(configuration: configuration)
    let endings = try await storm(transport, relay.url(), count: Self.size / 10, atOnce: 16) { _ in
      Self.randomDelay(oneIn: 3, upTo: 3000)
    }
    #expect(!endings.contains { $0 != .cancelled && $0 != .answered })
  }

  @Test func `a shutdown in the middle lets what runs come to its end, and refuses the rest`() async throws {
    for _ in 0..<20 {
      let server = try ScriptedServer(.answering { RawResponse(body: $0.target) })
      let transport = Self.transport(connections: 4)
      async let endings = storm(transport, server.url, count: 300, atOnce: 16) { _ in Self.randomDelay(oneIn: 5) }
      try await server.waitForRequests(50)
      await transport.shutdown()
      for ending in try await endings { #expect([.answered, .cancelled, .failed(.cannotConnect)].contains(ending)) }
    }
  }

  @Test func `a released transport closes its connections and ends its thread`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    weak var gone: SocketTransport?
    do {
      let transport = SocketTransport()
      gone = transport
      _ = try await transport.response(to: .to(server))
    }
    try await server.waitForClientToClose()
    #expect(gone == nil)
  }
}
