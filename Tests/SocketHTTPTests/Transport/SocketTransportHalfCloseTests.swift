import Foundation
import HTTPTestSupport
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// Servers that end their direction alone, or stall within TLS.
@Suite(.timeLimit(.minutes(5))) struct SocketTransportHalfCloseTests {
  enum Place: CaseIterable {
    case beforeHead, head, length, chunkSize, chunk, afterChunk, trailers, event, compressed

    var bytes: [UInt8] {
      let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
      return switch self {
      case .beforeHead: []
      case .head: Array("HTTP/1.1 200 OK\r\nContent-".utf8)
      case .length: Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".utf8)
      case .chunkSize: Array("\(chunked)\r\n4\r\nhalf\r\n1".utf8)
      case .chunk: Array("\(chunked)\r\n9\r\nhalf".utf8)
      case .afterChunk: Array("\(chunked)\r\n4\r\nhalf\r\n".utf8)
      case .trailers: Array("\(chunked)\r\n4\r\nhalf\r\n0\r\nX-Checksum: 1\r\n".utf8)
      case .event: Array("\(chunked)Content-Type: text/event-stream\r\n\r\nd\r\ndata: 1\n\ndata\r\n".utf8)
      // The end of the body is the connection's, but not that of what is compressed.
      case .compressed:
        Array("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".utf8) + [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
      }
    }
  }

  @Test(arguments: Place.allCases)
  func `T7, T8: a server that ends its direction alone cuts the response, and the connection is closed`(place: Place)
    async throws
  {
    let server = try ScriptedServer([.readRequest, .send(place.bytes), .finishSending, .waitForClientToClose])
    let transport = SocketTransport()
    let stopwatch = Stopwatch()
    #expect(await transport.kindOfError(for: try .to(server)) == .connectionLost)
    try await server.waitForClientToClose()
    #expect(stopwatch.elapsed < .seconds(2))
    #expect(server.requests.count == 1)
  }

  @Test
  func `L2: of an event stream that is cut by the end of the server's direction, whole events come before the error`()
    async throws
  {
    let server = try ScriptedServer([.readRequest, .send(Place.event.bytes), .finishSending, .waitForClientToClose])
    let events = Monitor<[String?]>([])
    let error = Monitor<RequestError?>(nil)
    let subscription = SocketTransport().send(try .to(server)).events().subscribe(
      onNext: { event in events.update { $0.append(event.data) } },
      onError: { failure in error.update { $0 = RequestError(wrapping: failure) } })
    #expect(try await error.wait(for: "the error") { $0 != nil }?.kind == .connectionLost)
    #expect(events.value == ["1"])
    try await server.waitForClientToClose()
    subscription.dispose()
  }

  @Test func `T11: a server that ends its direction while a stream is uploaded to it ends the upload`() async throws {
    let server = try ScriptedServer([.readHead, .finishSending, .waitForClientToClose])
    var request = try HTTPRequest(method: .post, url: server.url, timeouts: HTTPTimeouts(total: .seconds(20)))
    request.upload = .stream { AsyncStream { Data(count: 16 << 10) } }
    let stopwatch = Stopwatch()
    #expect(await SocketTransport().kindOfError(for: request) == .connectionLost)
    #expect(stopwatch.elapsed < .seconds(5))
  }

  @Test func `T10: a server that ends its direction between two responses gets no second request on that connection`()
    async throws
  {
    let server = try ScriptedServer { number in
      number > 0
        ? .answering { RawResponse(body: $0.body) }
        : [.readRequest, .send(RawResponse(body: "first")), .finishSending, .waitForClientToClose]
    }
    let transport = SocketTransport()
    #expect(try await transport.response(to: .to(server)).body == Data("first".utf8))
    // The end comes after the response: a request that crosses it may be lost, as on any kept connection.
    try await server.waitForClientToClose()
    #expect(try await transport.response(to: .to(server, body: "second")).body == Data("second".utf8))
    #expect(server.requests.map(\.connection) == [0, 1])
  }

  // MARK: - TLS

  private func transport(_ world: TLSWorld) -> SocketTransport {
    var configuration = SocketTransport.Configuration()
    configuration.tls = TLSConfiguration(trust: .only(.bytes(world.authority.certificate)))
    return SocketTransport(configuration: configuration)
  }

  private func request(_ port: UInt16, _ timeouts: HTTPTimeouts) throws -> HTTPRequest {
    try HTTPRequest(
      method: .post, url: url("https://127.0.0.1:\(port)/"), body: Data("moment".utf8), timeouts: timeouts)
  }

  /// Within the handshake nothing has been sent; within a record the server may have carried it out.
  @Test(arguments: [TLSServerSettings.Version.tls12, .tls13])
  func `T6: a server that stalls at any byte of TLS is given up in time`(version: TLSServerSettings.Version)
    async throws
  {
    let world = try TLSWorld.shared.get()
    let server = try ScriptedServer(.answering { RawResponse(body: $0.body) })
    let relay = try TLSRelay(
      to: server.port, TLSServerContext(TLSServerSettings(certificate: world.server).only(version)))
    let whole = try StallingRelay(to: relay.port)
    let first = transport(world)
    _ = try await first.response(to: request(whole.port, HTTPTimeouts()))
    // Lengths of signatures differ by some bytes.
    let last = whole.passed.value - 8
    // Its end would be answered, with bytes that count.
    withExtendedLifetime(first) {}
    var timeouts = HTTPTimeouts(connect: .milliseconds(200), idle: .milliseconds(200), total: .seconds(5))
    var reached: [RequestError.Reach] = []
    for count in Array(stride(from: 0, to: last, by: TestScale.count(211, long: 7))) + [last] {
      // Here the handshake ends, however busy the machine is.
      if count == last { timeouts.connect = .seconds(5) }
      let stalling = try StallingRelay(to: relay.port, after: count)
      let stopwatch = Stopwatch()
      let error = await transport(world).send(try request(stalling.port, timeouts)).collect(upTo: 100).failure
      #expect(error?.kind == .timedOut, "\(count): \(error as Any)")
      #expect(stopwatch.elapsed < .seconds(1))
      if let error { reached.append(error.reached) }
      try await stalling.ended.wait(for: "the end") { $0 == 1 }
    }
    #expect(reached.first == .never)
    #expect(reached.last == .maybe)
  }

  @Test(arguments: [TLSServerSettings.Version.tls12, .tls13])
  func `L3: a WebSocket whose server stalls within TLS is given up in time`(version: TLSServerSettings.Version)
    async throws
  {
    let world = try TLSWorld.shared.get()
    let server = try WebSocketPeerServer { peer in
      try peer.accept()
      try peer.send(ServerFrame.text("one"))
      peer.waitForEnd()
    }
    let relay = try TLSRelay(
      to: server.port, TLSServerContext(TLSServerSettings(certificate: world.server).only(version)))
    for count in stride(from: 0, to: 4_000, by: TestScale.count(307, long: 11)) {
      let stalling = try StallingRelay(to: relay.port, after: count)
      var request = try WebSocketRequest(url: url("wss://127.0.0.1:\(stalling.port)/"))
      (request.timeouts.connect, request.timeouts.upgrade) = (.milliseconds(200), .milliseconds(200))
      (request.timeouts.ping, request.timeouts.pong) = (.milliseconds(100), .milliseconds(200))
      let stopwatch = Stopwatch()
      let entries = try await WebSocketLog(transport(world).connect(request)).ended()
      #expect(entries.last == .failed(.timedOut), "\(count)")
      #expect(stopwatch.elapsed < .seconds(2))
      try await stalling.ended.wait(for: "the end") { $0 == 1 }
    }
    withExtendedLifetime((server, relay)) {}
  }

  /// RFC 8446, section 6.1: one side's close_notify does not oblige the other.
  @Test func `T7, W4: a server that never answers close_notify delays neither a disposal nor a shutdown`() async throws
  {
    let world = try TLSWorld.shared.get()
    let silent = try WebSocketPeerServer { peer in
      try peer.accept()
      peer.waitForEnd()
    }
    let answering = try ScriptedServer(.answering { RawResponse(body: $0.body) })
    let context = try TLSServerContext(TLSServerSettings(certificate: world.server))
    let relays = try [silent.port, answering.port].map { try TLSRelay(to: $0, context) }
    // What the servers send once both are in use never arrives.
    let stalling = try relays.map { try StallingRelay(to: $0.port) }
    let transport = transport(world)
    var request = try WebSocketRequest(url: url("wss://127.0.0.1:\(stalling[0].port)/"))
    request.timeouts.close = .milliseconds(200)
    let log = WebSocketLog(transport.connect(request))
    _ = try await log.opened()
    _ = try await transport.response(to: self.request(stalling[1].port, HTTPTimeouts(total: .seconds(5))))
    for relay in stalling { relay.stall() }
    var stopwatch = Stopwatch()
    log.dispose()
    try await stalling[0].ended.wait(for: "the end of the WebSocket") { $0 == 1 }
    #expect(stopwatch.elapsed < .seconds(1))
    stopwatch = Stopwatch()
    await transport.shutdown()
    try await stalling[1].ended.wait(for: "the end of the kept connection") { $0 == 1 }
    #expect(stopwatch.elapsed < .seconds(1))
    withExtendedLifetime((silent, answering, relays)) {}
  }
}

/// Passes bytes on to a server, and stalls: after so many of the server's bytes, or when it is told to, nothing more comes
/// to the client, whose connection stays open until it ends it.
private final class StallingRelay: Sendable {
  let port: UInt16
  /// How many clients have ended their connections.
  let ended = Monitor(0)
  /// How many bytes of the server have been passed on.
  let passed = Monitor(0)

  private let listener: Descriptor
  private let isStalled = Locked(false)

  init(to server: UInt16, after count: Int = .max) throws {
    (listener, port) = try Loopback.listen(backlog: 64)
    Thread.detachNewThread { [listener, ended, passed, isStalled] in
      while true {
        let number = uninterrupted { Glibc.accept(listener.number, nil, nil) }
        guard number >= 0 else { break }
        let client = Descriptor(number)
        Thread.detachNewThread {
          guard let upstream = try? Loopback.connect(port: server) else { return }
          Thread.detachNewThread {
            var left = count
            while left > 0 {
              let bytes = upstream.receive(upTo: min(left, 1 << 16))
              guard !bytes.isEmpty, !isStalled.withLock({ $0 }) else { return }
              passed.update { $0 += bytes.count }
              guard client.send(bytes[...]) else { return }
              left -= bytes.count
            }
          }
          while true {
            let bytes = client.receive()
            guard !bytes.isEmpty else { break }
            _ = upstream.send(bytes[...])
          }
          upstream.shutDown()
          client.shutDown()
          ended.update { $0 += 1 }
        }
      }
      listener.close()
    }
  }

  deinit {
    listener.shutDown()
  }

  func stall() { isStalled.withLock { $0 = true } }
}
