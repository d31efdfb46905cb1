import Foundation
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct TLSChannelTests {
  /// A channel whose handshake is done, and the server at the other end of its socket, which is a bare one.
  private final class Pair {
    let channel: TLSChannel
    let server: TLSServerEngine
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    private let sockets: [Int32]

    init(padding: [String] = []) throws {
      var ends: [Int32] = [-1, -1]
      try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
      sockets = ends
      for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
      let world = try TLSWorld.shared.get()
      let intermediate = try TestCertificate(
        .init(commonName: "Intermediate", names: padding, isAuthority: true), signedBy: world.authority)
      let certificate = try TestCertificate(.init(names: ["DNS:server.test"] + padding), signedBy: intermediate)
      server = try TLSServerEngine(TLSServerContext(TLSServerSettings(certificate: certificate)))
      let session = try TLSSession(world.client(), host: "server.test", port: 443)
      channel = TLSChannel(Socket(descriptor: ends[0]), session)
      var isDone = false
      while !isDone {
        if case .done = channel.handshake(using: buffer) { isDone = true }
        try receive()
        _ = try server.handshake()
        try send()
      }
    }

    deinit {
      buffer.deallocate()
      for socket in sockets { close(socket) }
    }

    /// Lets the server have what the channel has sent.
    func receive() throws {
      var bytes = [UInt8](repeating: 0, count: 64 << 10)
      let count = recv(sockets[1], &bytes, bytes.count, 0)
      if count > 0 { try server.receive(Data(bytes[..<count])) }
    }

    /// Sends what the server has to say; `false` where there is no room for it.
    @discardableResult
    func send() throws -> Bool {
      let bytes = try server.takeOutgoing()
      return bytes.withUnsafeBytes { Foundation.send(sockets[1], $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        == bytes.count
    }

    func read() -> ReadOutcome {
      channel.beginReading(isOver: false)
      return channel.read(into: buffer)
    }
  }

  @Test func `T3: a server that says nothing but that its keys change is cut off`() throws {
    let pair = try Pair()
    for _ in 0..<100 {
      for _ in 0..<200 { try pair.server.updateKeys() }
      // Its socket is never read: the answers to that pile up.
      try #require(try pair.send())
      switch pair.read() {
      case .blocked: continue
      case .failed(let error): return #expect(error.kind == .insecure)
      case .bytes, .end: return #expect(Bool(false), "nothing was sent")
      }
    }
    Issue.record("it was not cut off")
  }

  @Test func `T3: a server that says a byte now and then, and else that its keys change, is cut off`() throws {
    let pair = try Pair()
    for _ in 0..<100 {
      for _ in 0..<100 { try pair.server.updateKeys() }
      try pair.server.write(Data([0]))
      try #require(try pair.send())
      try pair.receive()
      switch pair.read() {
      case .bytes(1): continue
      case .failed(let error): return #expect(error.kind == .insecure)
      case .bytes, .blocked, .end: return #expect(Bool(false), "the byte was lost")
      }
    }
    Issue.record("it was not cut off")
  }

  @Test func `T3: a server that sends much, requests key updates and reads none is cut off`() throws {
    let pair = try Pair()
    for _ in 0..<1_000 {
      for _ in 0..<50 { try pair.server.updateKeys() }
      try pair.server.write(Data(count: 2_000))
      try #require(try pair.send())
      switch pair.read() {
      case .bytes(2_000): continue
      case .failed(let error): return #expect(error.kind == .insecure)
      case .bytes, .blocked, .end: return #expect(Bool(false), "a part of it was lost")
      }
    }
    Issue.record("it was not cut off")
  }

  @Test func `a long handshake's bytes are not counted against the responses`() throws {
    let pair = try Pair(padding: (0..<1_900).map { "DNS:\($0).padding.test" })
    try pair.server.write(Data(count: 60_000))
    try #require(try pair.send())
    guard case .bytes = pair.read() else { return #expect(Bool(false), "the answer was lost") }
  }

  @Test func `a long head waits for a server that is slow to read`() throws {
    let pair = try Pair()
    let head = Data(count: 2 << 20)
    let outcome = head.withUnsafeBytes { pair.channel.write($0, UnsafeRawBufferPointer(start: nil, count: 0)) }
    guard case .taken(let count) = outcome else { return #expect(Bool(false), "nothing was taken") }
    #expect((1...(1 << 20)).contains(count))
    guard case .blocked = pair.read() else { return #expect(Bool(false), "the connection was cut") }
  }

  @Test func `key updates between responses cut no connection off`() throws {
    let pair = try Pair()
    for _ in 0..<4_000 {
      for _ in 0..<2 { try pair.server.updateKeys() }
      try pair.server.write(Data("hello".utf8))
      try #require(try pair.send())
      guard case .bytes(5) = pair.read() else { return #expect(Bool(false), "an answer was lost") }
      try pair.receive()
    }
  }

  @Test func `an unsolicited response is found before the next request, and session tickets are not taken for one`()
    throws
  {
    let pair = try Pair()
    #expect(pair.channel.condition() == .quiet)
    try pair.server.write(Data("hello".utf8))
    try pair.send()
    guard case .bytes(5) = pair.read() else { return #expect(Bool(false), "nothing came") }
    try pair.server.updateKeys()
    try pair.send()
    #expect(pair.channel.condition() == .quiet)
    try pair.server.write(Data("HTTP/1.1 408 Request Timeout\r\n\r\n".utf8))
    try pair.send()
    #expect(pair.channel.condition() == .readable)
  }
}
