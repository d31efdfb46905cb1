import Foundation
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// Large bodies, and coded ones.
@Suite struct SocketTransportBodyTests {
  private let transport = SocketTransport()

  private static func coded(_ body: Data) throws -> RawResponse {
    RawResponse(headers: [("Content-Encoding", "gzip")], body: [UInt8](try Compressor.gzip(body)))
  }

  @Test func `a body that was compressed arrives as it was before`() async throws {
    let body = Data(String(repeating: "all work and no play ", count: 50_000).utf8)
    let answer = try Self.coded(body)
    let server = try ScriptedServer(.answering { _ in answer })
    #expect(try await transport.response(to: .to(server)).body == body)
    #expect(server.requests.first?["Accept-Encoding"] == "gzip, deflate")
  }

  @Test func `trailers come behind a body in chunks, compressed or not`() async throws {
    let plain = RawResponse(body: "0123456789")
    for response in [plain, try Self.coded(Data("0123456789".utf8))] {
      let bytes = response.chunked(size: 4, trailers: [("Digest", "abc"), ("Expires", "never")])
      for offset in bytes.indices.dropFirst() {
        let server = try ScriptedServer([.readRequest, .send(bytes, splitAt: [offset]), .close])
        let received = try await transport.response(to: .to(server))
        #expect(received.body == Data("0123456789".utf8))
        #expect(received.trailers == ["Digest": "abc", "Expires": "never"])
        #expect(received.head.headers["Digest"] == nil)
      }
    }
  }

  @Test func `a response without trailers has none`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    #expect(try await transport.response(to: .to(server)).trailers.isEmpty)
  }

  @Test func `T3: the decompressed size of a body is limited, and a bomb is cut off`() async throws {
    let bomb = try Self.coded(Data(count: 200 << 20))
    let server = try ScriptedServer(.answering { _ in bomb })
    let before = try #require(ProcessUsage.current).memory
    #expect(await transport.kindOfError(for: try .to(server)) == .tooLarge)
    #expect(try #require(ProcessUsage.current).memory - before < 64 << 20)
  }

  @Test func `T8: a compressed body that is cut or damaged is an error`() async throws {
    let whole = try Self.coded(Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 * $0 >> 7) }))
    for kind in [RequestError.Kind.connectionLost, .badResponse] {
      var answer = whole
      if kind == .connectionLost { answer.body.removeLast(10) } else { answer.body[answer.body.count / 2] ^= 0xFF }
      let server = try ScriptedServer(.answering { [answer] _ in answer })
      #expect(await transport.kindOfError(for: try .to(server)) == kind)
    }
  }

  @Test func `T3: gigabytes that pass through leave memory as it was`() async throws {
    let server = try ScriptedServer(.endlessBody)
    let total = TestScale.count(1 << 30, long: 10 << 30)
    let before = try #require(ProcessUsage.current).memory
    let counter = Locked(0)
    let isOver = Latch()
    let subscription = try transport.send(.to(server, timeouts: HTTPTimeouts(total: nil))).subscribe(
      onNext: { part in
        guard case .body(let piece) = part else { return }
        let count = counter.withLock { count in
          count += piece.count
          return count
        }
        if count >= total { isOver.open() }
      }, onError: { _ in isOver.open() })
    try await isOver.wait(within: .seconds(120))
    let after = try #require(ProcessUsage.current).memory
    subscription.dispose()
    #expect(counter.withLock { $0 } >= total)
    #expect(after - before < 64 << 20)
  }
}
