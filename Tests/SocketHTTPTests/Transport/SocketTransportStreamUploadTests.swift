import Dispatch
import Foundation
import HTTPClientCore
import HTTPTestSupport
import LoopbackServers
import SocketHTTP
import Streams
import SystemBase
import TestSupport
import Testing

@Suite("T11: bodies that are streams")
struct SocketTransportStreamUploadTests {
  /// A server, in front of which TLS may stand, and a transport that trusts it.
  private struct World {
    let server: ScriptedServer
    let relay: TLSRelay?
    let url: URL
    let transport: SocketTransport

    /// Takes a script for each connection; the last one is that of all others, too.
    init(_ scripts: [ScriptedServer.Step]..., isSecure: Bool = false) throws {
      server = try ScriptedServer { scripts[min($0, scripts.count - 1)] }
      guard isSecure else {
        (relay, url, transport) = (nil, server.url, SocketTransport())
        return
      }
      let world = try TLSWorld.shared.get()
      let relay = try TLSRelay(to: server.port, TLSServerContext(TLSServerSettings(certificate: world.server)))
      var configuration = SocketTransport.Configuration()
      configuration.tls = TLSConfiguration(trust: .only(.bytes(world.authority.certificate)))
      (self.relay, url, transport) = (relay, relay.url(), SocketTransport(configuration: configuration))
    }

    func request(_ upload: HTTPUpload, isReplayable: Bool = false) throws -> HTTPRequest {
      var request = try HTTPRequest(method: .post, url: url, isReplayable: isReplayable)
      request.upload = upload
      return request
    }

    func response(to upload: HTTPUpload) async throws -> HTTPResponse {
      try await transport.send(request(upload)).collect(upTo: 100).value
    }

    func failure(of upload: HTTPUpload) async throws -> RequestError? {
      try await transport.send(request(upload)).collect(upTo: 100).failure
    }
  }

  private static let answering: [ScriptedServer.Step] = .answering { _ in RawResponse(body: "{}") }

  private static let bytes = Data((0..<1_000_003).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })

  /// Pieces of a size, which are there at once.
  private static func pieces(_ size: Int, of bytes: Data = bytes) -> @Sendable () -> AsyncStream<Data> {
    {
      AsyncStream { continuation in
        for start in stride(from: 0, to: bytes.count, by: size) {
          continuation.yield(bytes[start..<min(start + size, bytes.count)])
        }
        continuation.finish()
      }
    }
  }

  @Test(arguments: [false, true], [997, 65_536, 131_072, 2_000_000])
  func `a stream is sent in chunks, or with its length if that is given`(isSecure: Bool, size: Int) async throws {
    let world = try World(Self.answering, isSecure: isSecure)
    #expect(try await world.response(to: .stream(Self.pieces(size))).head.status == 200)
    #expect(try await world.response(to: try .stream(count: Self.bytes.count, Self.pieces(size))).head.status == 200)
    let requests = world.server.requests
    #expect(requests.count == 2)
    #expect(requests.allSatisfy { $0.body == Array(Self.bytes) })
    #expect(requests.map { $0["Transfer-Encoding"] } == ["chunked", nil])
    #expect(requests.map { $0["Content-Length"] } == [nil, "\(Self.bytes.count)"])
    // Both on one connection: each request ended where the server thought it did.
    #expect(world.server.log.value.connections.count == 1)
  }

  @Test(arguments: [nil, 0])
  func `an empty stream is an empty body`(count: Int?) async throws {
    let world = try World(Self.answering)
    for _ in 1...2 { _ = try await world.response(to: try .stream(count: count) { AsyncStream { $0.finish() } }) }
    #expect(world.server.requests.count == 2)
    #expect(world.server.requests.allSatisfy { $0.body == [] })
  }

  @Test(arguments: [nil, 1_000_003])
  func `memory, files and streams are sent one after another`(count: Int?) async throws {
    let world = try World(Self.answering)
    let file = FileManager.default.temporaryDirectory.appending(path: "moments-stream-\(UUID().uuidString)")
    try Self.bytes.write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    var upload = HTTPUpload()
    upload.append(Data("begin".utf8))
    try upload.append(count: count, Self.pieces(100_000))
    try upload.append(contentsOf: file)
    try upload.append(count: 0) { AsyncStream { $0.finish() } }
    upload.append(try .stream(once: Self.pieces(7_000)(), count: count))
    upload.append(Data("end".utf8))
    #expect(upload.count == count.map { 8 + 3 * $0 })
    _ = try await world.response(to: upload)
    let all = Data("begin".utf8) + Self.bytes + Self.bytes + Self.bytes + Data("end".utf8)
    #expect(world.server.requests.first.map { Data($0.body) == all } == true)
  }

  @Test func `progress is what the socket has taken of the stream, without its framing`() async throws {
    let world = try World(Self.answering)
    var request = try world.request(.stream(Self.pieces(10_000)))
    let reports = Monitor<[HTTPProgress]>([])
    request.onProgress = { progress in reports.update { $0.append(progress) } }
    _ = try await world.transport.send(request).collect(upTo: 100).value
    let all = try await reports.wait(for: "the last report") { $0.last?.received == 2 }
    #expect(all.allSatisfy { $0.totalToSend == nil })
    #expect(all.last?.sent == Self.bytes.count)
    #expect(zip(all, all.dropFirst()).allSatisfy { $0.sent <= $1.sent })
  }

  private struct Broken: Error {}

  @Test(arguments: [false, true], [nil, 2_000_000])
  func `an error of the stream ends the request, which the server does not take for complete`(
    isSecure: Bool, count: Int?
  ) async throws {
    let world = try World(Self.answering, isSecure: isSecure)
    let upload = try HTTPUpload.stream(count: count) {
      AsyncThrowingStream<Data, any Error> { continuation in
        continuation.yield(Self.bytes)
        continuation.finish(throwing: Broken())
      }
    }
    let error = try #require(try await world.failure(of: upload))
    #expect(error.kind == .cannotRead)
    #expect(error.cause is Broken)
    #expect(error.reached == .maybe)
    #expect(error.message.contains("Broken"))
    #expect(world.server.requests.isEmpty)
  }

  /// An error whose description waits for something.
  struct Slow: Error, CustomStringConvertible {
    let end = DispatchSemaphore(value: 0)
    let hasEnded = Locked(false)

    var description: String {
      let isInTime = end.wait(timeout: .now() + 5) == .success
      hasEnded.withLock { $0 = isInTime }
      end.signal()
      return "slow"
    }
  }

  @Test func `T6: an error of the stream that is slow to describe itself delays no other request`() async throws {
    let world = try World([.readHead, .waitForClientToClose], Self.answering)
    let error = Slow()
    let begun = Latch()
    var request = try world.request(
      .stream {
        AsyncThrowingStream<Data, any Error> { continuation in
          continuation.yield(Data([1]))
          Task {
            try? await begun.wait()
            continuation.finish(throwing: error)
          }
        }
      })
    request.onProgress = { if $0.sent > 0 { begun.open() } }
    async let failure = world.transport.send(request).collect(upTo: 100).failure
    try await begun.wait()
    let other = try HTTPRequest(method: .get, url: world.url)
    let subscription = world.transport.send(other).subscribe(onCompleted: { error.end.signal() })
    #expect(await failure?.message.contains("slow") == true)
    #expect(error.hasEnded.withLock { $0 })
    withExtendedLifetime(subscription) {}
  }

  @Test func `sizes that no stream can have are added up without a trap`() throws {
    var upload = try HTTPUpload.stream(count: .max, Self.pieces(1))
    upload.append(Data([1]))
    try upload.append(count: .max, Self.pieces(1))
    #expect(upload.count == .max)
  }

  @Test(arguments: [1, 999_999, 1_000_002, 1_000_004, 5_000_000])
  func `a stream of another size than announced ends the request before its last byte`(count: Int) async throws {
    let world = try World(Self.answering)
    let error = try #require(try await world.failure(of: try .stream(count: count, Self.pieces(100_000))))
    #expect(error.kind == .cannotRead)
    #expect(error.message.contains("\(count)"))
    #expect(world.server.requests.isEmpty)
  }

  @Test(arguments: [-1, -5, .min])
  func `a negative size is refused when it is given`(count: Int) {
    var upload = HTTPUpload()
    let errors = [
      #expect(throws: RequestError.self) { _ = try HTTPUpload.stream(count: count, Self.pieces(1)) },
      #expect(throws: RequestError.self) { _ = try HTTPUpload.stream(once: Self.pieces(1_000_003)(), count: count) },
      #expect(throws: RequestError.self) { try upload.append(count: count, Self.pieces(1)) },
    ]
    for error in errors { #expect(error?.kind == .invalidRequest && error?.reached == .never) }
    #expect(upload.count == 0)
  }

  /// With its head, the server has an empty request as a whole.
  @Test(arguments: [false, true])
  func `a stream that was announced to be empty, and is not, is never sent`(isLate: Bool) async throws {
    let world = try World(Self.answering)
    let bytes = AsyncStream<Data> { continuation in
      if !isLate { continuation.yield(Data([1])) }
      Task {
        try? await Task.sleep(for: .milliseconds(50))
        continuation.yield(Data([1]))
        continuation.finish()
      }
    }
    let error = try #require(try await world.failure(of: try .stream(once: bytes, count: 0)))
    #expect(error.kind == .cannotRead)
    #expect(error.reached == .never)
    #expect(world.server.log.value.connections.allSatisfy { $0.bytesReceived == 0 })
  }

  @Test func `an early success does not hide that the body could not be read`() async throws {
    let world = try World([.readHead, .send(RawResponse(200, body: "{}")), .waitForClientToClose])
    let answered = Latch()
    let upload = HTTPUpload.stream {
      AsyncThrowingStream<Data, any Error> { continuation in
        continuation.yield(Data([1]))
        Task {
          try? await answered.wait()
          continuation.finish(throwing: Broken())
        }
      }
    }
    let request = try world.request(upload)
    Task {
      _ = try? await world.server.log.wait { ($0.connections.first?.bytesSent ?? 0) > 0 }
      answered.open()
    }
    let error = try #require(await world.transport.send(request).collect(upTo: 100).failure)
    #expect(error.kind == .cannotRead)
  }

  @Test func `a stream is read no further ahead than the socket has room`() async throws {
    let opened = Latch()
    let world = try World([.readHead, .wait(for: opened), .readRequest, .waitForClientToClose])
    let count = Monitor(0)
    let piece = Data(count: 64 << 10)
    let upload = HTTPUpload.stream {
      AsyncStream<Data>(unfolding: {
        count.update { $0 += 1 }
        return piece
      })
    }
    let subscription = try world.transport.send(world.request(upload)).subscribe(onError: { _ in })
    try await count.wait(for: "the socket to be full") { $0 > 10 }
    // What is read beyond the socket's room would come without a pause.
    var last = 0
    while count.value != last {
      last = count.value
      try await Task.sleep(for: .milliseconds(100))
    }
    #expect(last < 64 << 20 / piece.count)
    subscription.dispose()
    opened.open()
  }

  @Test(arguments: [false, true], [401, 413])
  func `an early refusal ends the reading of a stream that has no end`(isSecure: Bool, status: Int) async throws {
    let world = try World(
      [.readHead, .send(RawResponse(status, body: "no")), .waitForClientToClose], isSecure: isSecure)
    let ended = Latch()
    let upload = HTTPUpload.stream {
      AsyncStream<Data> { continuation in
        continuation.onTermination = { _ in ended.open() }
        continuation.yield(Data(count: 1_000))
      }
    }
    #expect(try await world.response(to: upload).head.status == status)
    try await ended.wait()
  }

  @Test func `a cancelled request cancels its stream, also while the socket is full`() async throws {
    for piece in [Data(count: 10), Data(count: 100_000_000)] {
      let world = try World([.readHead, .waitForClientToClose])
      let (ended, begun) = (Latch(), Latch())
      let upload = HTTPUpload.stream {
        AsyncStream<Data> { continuation in
          continuation.onTermination = { _ in ended.open() }
          continuation.yield(piece)
        }
      }
      var request = try world.request(upload)
      request.onProgress = { if $0.sent > 0 { begun.open() } }
      let subscription = world.transport.send(request).subscribe(onError: { _ in })
      try await begun.wait()
      subscription.dispose()
      try await ended.wait()
    }
  }

  @Test
  func `a stream that makes a pause does not run into the idle deadline, and a server that does not respond does`()
    async throws
  {
    let world = try World([.readRequest, .waitForClientToClose])
    let upload = HTTPUpload.stream {
      AsyncStream<Data> { continuation in
        continuation.yield(Data("a".utf8))
        Task {
          try await Task.sleep(for: .milliseconds(600))
          continuation.yield(Data("b".utf8))
          continuation.finish()
        }
      }
    }
    var request = try world.request(upload)
    request.timeouts.idle = .milliseconds(200)
    let error = try #require(await world.transport.send(request).collect(upTo: 100).failure)
    #expect(error.kind == .timedOut)
    #expect(world.server.requests.map(\.body) == [Array("ab".utf8)])
  }

  // MARK: - Sending again

  /// Closes each connection when its second request has come, without a response.
  private static let dyingConnections: [ScriptedServer.Step] = [
    .readRequest, .send(RawResponse(body: "{}")), .readRequest, .close,
  ]

  @Test func `R1: on a dead connection, a stream that opens again is sent again, if the request may be`() async throws {
    let world = try World(Self.dyingConnections)
    let opened = Locked(0)
    let upload = HTTPUpload.stream {
      opened.withLock { $0 += 1 }
      return Self.pieces(1_000, of: Self.bytes.prefix(10_000))()
    }
    for _ in 1...2 {
      let request = try world.request(upload, isReplayable: true)
      _ = try await world.transport.send(request).collect(upTo: 100).value
    }
    #expect(opened.withLock { $0 } == 3)
    let bodies = world.server.requests.map(\.body)
    #expect(bodies.count == 3)
    #expect(bodies.allSatisfy { $0 == Array(Self.bytes.prefix(10_000)) })
  }

  @Test(arguments: [(true, false), (false, true)])
  func `R1: a stream that can be read once is not sent again, and neither is a request that may not be`(
    opensAgain: Bool, isReplayable: Bool
  ) async throws {
    let world = try World(Self.dyingConnections)
    let pieces = Self.pieces(1_000, of: Self.bytes.prefix(10_000))
    for isFirst in [true, false] {
      let request = try world.request(
        opensAgain ? .stream(pieces) : .stream(once: pieces()), isReplayable: isReplayable)
      let error = await world.transport.send(request).collect(upTo: 100).failure
      #expect(error?.kind == (isFirst ? nil : .connectionLost))
    }
    #expect(world.server.requests.count == 2)
  }

  @Test func `a stream that was read already says so, and nothing of the request is taken for complete`() async throws {
    let world = try World(Self.answering)
    let upload = HTTPUpload.stream(once: Self.pieces(1_000)())
    _ = try await world.response(to: upload)
    let error = try #require(try await world.failure(of: upload))
    #expect(error.kind == .cannotRead)
    #expect(error.message.contains("can be read once"))
    #expect(world.server.requests.count == 1)
  }

  @Test func `T10: that a stream was read already does not mean that nothing of the request was sent`() async throws {
    let world = try World([.readRequest, .reset], [.readHead, .waitForClientToClose])
    var upload = HTTPUpload()
    upload.append(Data("x".utf8))
    upload.append(.stream(once: Self.pieces(1_000, of: Self.bytes.prefix(10_000))()))
    #expect(try await world.failure(of: upload)?.kind == .connectionLost)
    let error = try #require(try await world.failure(of: upload))
    #expect(error.kind == .cannotRead)
    #expect(error.reached == .maybe)
    _ = try await world.server.log.wait { $0.connections.count == 2 && $0.connections[1].bytesReceived > 0 }
  }
}
