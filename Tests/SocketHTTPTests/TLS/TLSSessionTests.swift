import Foundation
import HTTPClientCore
import SocketHTTP
import TestSupport
import Testing

/// What a session does with bytes.
struct TLSSessionTests {
  let world: TLSWorld

  init() throws {
    world = try TLSWorld.shared.get()
  }

  static let versions: [TLSServerSettings.Version] = [.tls12, .tls13]
  static let texts = [Data("x".utf8), Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) })]

  /// A pair whose handshake is done.
  func established(_ client: TLSContext? = nil, _ version: TLSServerSettings.Version = .tls13) throws -> TLSPair {
    let pair = try world.pair(client, version)
    try #require(try pair.shake(), "\(String(describing: pair.clientError))")
    return pair
  }

  @Test(arguments: versions, [1, 3, 100, .max])
  func `the handshake is done however its bytes are cut`(version: TLSServerSettings.Version, piece: Int) throws {
    let pair = try world.pair(nil, version)
    #expect(!pair.client.isEstablished)
    #expect(try pair.shake(piece: piece))
    #expect(pair.client.isEstablished)
    #expect(pair.client.version == (version == .tls13 ? "TLSv1.3" : "TLSv1.2"))
    #expect(!pair.client.isIdentityRequested)
    #expect(try pair.client.handshake())
  }

  @Test(arguments: versions, texts)
  func `bytes arrive unchanged in both directions`(version: TLSServerSettings.Version, text: Data) throws {
    let pair = try established(nil, version)
    for piece in [1, 777, .max] where piece > 1 || text.count < 1000 {
      try pair.client.write(text)
      #expect(pair.client.outgoingCount > text.count)
      #expect(try pair.send() == text)
      #expect(pair.client.outgoingCount == 0)
      try pair.server.write(text)
      let (answer, last) = try pair.answer(piece: piece)
      #expect(answer == text)
      #expect(last == .needsMore)
    }
  }

  @Test func `writing nothing sends nothing`() throws {
    let pair = try established()
    try pair.client.write(Data())
    #expect(pair.client.outgoingCount == 0)
  }

  @Test func `data that came with the last bytes of the handshake can be read at once`() throws {
    let pair = try world.pair(nil, .tls12)
    #expect(try pair.client.handshake() == false)
    try pair.server.receive(pair.client.takeOutgoing())
    #expect(try pair.server.handshake() == false)
    pair.client.receive(try pair.server.takeOutgoing())
    #expect(try pair.client.handshake() == false)
    try pair.server.receive(pair.client.takeOutgoing())
    #expect(try pair.server.handshake())
    try pair.server.write(Data("early".utf8))
    let (answer, _) = try pair.answer()
    #expect(answer == Data("early".utf8))
  }

  @Test func `writing before the handshake is done sends nothing in the clear`() throws {
    let pair = try world.pair()
    #expect(try pair.client.handshake() == false)
    let hello = pair.client.takeOutgoing()
    #expect(throws: RequestError.self) { try pair.client.write(Data("secret".utf8)) }
    #expect(pair.client.takeOutgoing().isEmpty)
    try pair.server.receive(hello)
    #expect(try pair.shake())
  }

  @Test(arguments: versions)
  func `the server's end is distinguished from a cut`(version: TLSServerSettings.Version) throws {
    let closed = try established(nil, version)
    try closed.server.write(Data("last".utf8))
    try closed.server.close()
    #expect(try closed.answer() == (Data("last".utf8), .closed))
    closed.client.receiveEnd()
    var rest = Data()
    #expect(try closed.client.readAll(into: &rest) == .closed)

    let cut = try established(nil, version)
    try cut.server.write(Data("last".utf8))
    #expect(try cut.answer() == (Data("last".utf8), .needsMore))
    cut.client.receiveEnd()
    #expect(try cut.client.readAll(into: &rest) == .truncated)
    #expect(rest.isEmpty)
  }

  @Test(arguments: versions)
  func `a cut at any byte of a record is a truncation, and gives nothing of it`(version: TLSServerSettings.Version)
    throws
  {
    let pair = try established(nil, version)
    var count = 0
    _ = try pair.answer()
    repeat {
      let pair = try established(nil, version)
      _ = try pair.answer()  // What the server sends after the handshake
      try pair.server.write(Data("moment".utf8))
      let record = try pair.server.takeOutgoing()
      pair.client.receive(record.prefix(count))
      pair.client.receiveEnd()
      var text = Data()
      #expect(try pair.client.readAll(into: &text) == .truncated)
      #expect(text.isEmpty)
      count += 1
      if count == record.count { break }
    } while true
    #expect(count > 6)
  }

  @Test(arguments: versions)
  func `the server learns of the client's end`(version: TLSServerSettings.Version) throws {
    let pair = try established(nil, version)
    try pair.client.write(Data("last".utf8))
    pair.client.close()
    try pair.server.receive(pair.client.takeOutgoing())
    #expect(try pair.server.read() == Data("last".utf8))
    #expect(try pair.server.read() == Data())
    pair.client.close()
    #expect(pair.client.outgoingCount == 0)
  }

  @Test(arguments: versions)
  func `a byte changed on the way is an error, at every byte`(version: TLSServerSettings.Version) throws {
    let pair = try established(nil, version)
    _ = try pair.answer()
    try pair.server.write(Data("moment".utf8))
    let count = try pair.server.takeOutgoing().count
    for index in 0..<count {
      let pair = try established(nil, version)
      _ = try pair.answer()
      try pair.server.write(Data("moment".utf8))
      var record = try pair.server.takeOutgoing()
      record[index] ^= 1
      pair.client.receive(record)
      pair.client.receiveEnd()
      var text = Data()
      do throws(RequestError) {
        // A changed length makes a longer or shorter record.
        #expect(try pair.client.readAll(into: &text) == .truncated, "byte \(index)")
      } catch {
        #expect(error.kind == .insecure)
        #expect(throws: RequestError.self) { try pair.client.write(Data("more".utf8)) }
      }
      #expect(text.isEmpty)
    }
  }

  @Test func `a session that ends in the handshake is an error, wherever it ends`() throws {
    let whole = try world.pair()
    _ = try whole.client.handshake()
    try whole.server.receive(whole.client.takeOutgoing())
    _ = try whole.server.handshake()
    let flight = try whole.server.takeOutgoing()
    for count in Array(stride(from: 0, to: flight.count, by: 13)) + [flight.count - 1] {
      let client = try TLSSession(world.client(), host: "server.test", port: 443)
      #expect(try client.handshake() == false)
      _ = client.takeOutgoing()
      // The flight is for another client; what matters is where it ends. Later it is refused for its content.
      client.receive(flight.prefix(count))
      client.receiveEnd()
      let error = #expect(throws: RequestError.self) { try client.handshake() }
      #expect(error?.kind == .insecure)
      if count <= 100 { #expect(error?.message.contains("ended in the handshake") == true) }
    }
  }

  @Test func `a port that speaks plain HTTP is named as that`() throws {
    let client = try TLSSession(world.client(), host: "server.test", port: 443)
    _ = try client.handshake()
    client.receive(Data("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
    let error = #expect(throws: RequestError.self) { try client.handshake() }
    #expect(error?.kind == .insecure)
    #expect(error?.message.contains("plain HTTP") == true)
  }

  @Test(arguments: ["SSH-2.0-OpenSSH_9.2\r\n", "\0\0\0\0\0\0", "220 mail ESMTP\r\n", "\u{16}\u{3}"])
  func `a port that speaks something else is an error`(greeting: String) throws {
    let client = try TLSSession(world.client(), host: "server.test", port: 443)
    _ = try client.handshake()
    client.receive(Data(greeting.utf8))
    client.receiveEnd()
    let error = #expect(throws: RequestError.self) { try client.handshake() }
    #expect(error?.kind == .insecure)
  }

  @Test func `a server of an old protocol is refused`() throws {
    let pair = try world.pair(nil, .tls11)
    #expect(try pair.shake() == false)
    #expect(pair.clientError?.kind == .insecure)
    #expect(pair.clientError?.message.contains("no version of TLS") == true, "\(String(describing: pair.clientError))")
  }

  @Test func `a server below the minimum that was set is refused`() throws {
    let pair = try world.pair(world.client(minimumVersion: .tls13), .tls12)
    #expect(try pair.shake() == false)
    #expect(pair.clientError?.kind == .insecure)
    #expect(try world.pair(world.client(minimumVersion: .tls13), .tls13).shake())
  }

  @Test func `a server that chooses another protocol than HTTP 1 is refused`() throws {
    var settings = TLSServerSettings(certificate: world.server)
    settings.chosenProtocol = "h2"
    let pair = try TLSPair(world.client(), TLSServerContext(settings))
    #expect(try pair.shake() == false)
    #expect(pair.clientError?.kind == .insecure)
  }

  @Test func `200 sessions at once on one context, from 8 threads, all work`() async throws {
    let client = world.client()
    let server = try TLSServerContext(TLSServerSettings(certificate: world.server))
    await withTaskGroup(of: Void.self) { group in
      for index in 0..<8 {
        group.addTask {
          for round in 0..<25 {
            do {
              let pair = try TLSPair(client, server, host: round % 2 == 0 ? "server.test" : "n\(index).wild.test")
              #expect(try pair.shake())
              try pair.server.write(Data("answer".utf8))
              #expect(try pair.answer().0 == Data("answer".utf8))
            } catch {
              Issue.record(error)
            }
          }
        }
      }
    }
  }
}
