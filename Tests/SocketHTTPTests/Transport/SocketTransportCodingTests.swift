import Foundation
import HTTPClientCore
import SocketHTTP
import Streams
import TestSupport
import Testing

/// Answers that come compressed, over real sockets.
@Suite struct SocketTransportCodingTests {
  private let body = Data((0..<20_000).flatMap { Array("moment \($0 % 1000), ".utf8) })

  private func response(_ coding: String, _ body: Data) -> RawResponse {
    RawResponse(headers: [("Content-Encoding", coding)], body: [UInt8](body))
  }

  private func answer(
    _ steps: ScriptedServer.Step..., method: HTTPMethod = .post, upTo limit: Int = 16 << 20
  ) async throws -> HTTPResponse {
    let server = try ScriptedServer([.readRequest] + steps)
    return try await SocketTransport().response(to: .to(server, method: method, body: nil), upTo: limit)
  }

  private func kind(_ steps: ScriptedServer.Step..., upTo limit: Int = 16 << 20) async throws -> RequestError.Kind? {
    let server = try ScriptedServer([.readRequest] + steps)
    let error = await #expect(throws: RequestError.self) {
      try await SocketTransport().response(to: .to(server), upTo: limit)
    }
    return error?.kind
  }

  @Test func `gzip and deflate are requested, unless the request names other codings`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse() })
    let transport = SocketTransport()
    _ = try await transport.response(to: .to(server))
    _ = try await transport.response(to: .to(server, headers: ["Accept-Encoding": "identity"]))
    #expect(server.requests.map { $0["Accept-Encoding"] } == ["gzip, deflate", "identity"])
  }

  @Test func `a body comes without its coding, by length, in chunks and until the close`() async throws {
    let gzip = response("gzip", try Compressor.gzip(body))
    #expect(try await answer(.send(gzip.bytes)).body == body)
    #expect(try await answer(.send(gzip.chunked(size: 100))).body == body)
    #expect(try await answer(.send(gzip.bytesUntilClose), .close).body == body)
    #expect(try await answer(.send(response("deflate", try Compressor.zlib(body)))).body == body)
    #expect(try await answer(.send(response("deflate", try Compressor.raw(body)))).body == body)
    #expect(try await answer(.send(response("x-gzip", try Compressor.gzip(body)))).body == body)
  }

  @Test func `a response without a body is not mistaken for a cut one`() async throws {
    for status in [204, 304] {
      let response = RawResponse(status, contentType: nil, headers: [("Content-Encoding", "gzip")])
      #expect(try await answer(.send(response)).body.isEmpty)
    }
    #expect(try await answer(.send(response("gzip", Data()))).body.isEmpty)
    let head = response("gzip", Data()).bytes(contentLength: 500)
    #expect(try await answer(.send(head), method: .head).body.isEmpty)
  }

  @Test func `T8: a coding that is cut is a lost connection, whatever the framing says`() async throws {
    let gzip = try Compressor.gzip(body)
    for count in stride(from: 1, to: gzip.count, by: gzip.count / TestScale.count(10, long: 500)) {
      let cut = response("gzip", gzip.prefix(count))
      #expect(try await kind(.send(cut)) == .connectionLost)
      #expect(try await kind(.send(cut.bytesUntilClose), .close) == .connectionLost)
      #expect(try await kind(.send(cut.chunked(size: 100))) == .connectionLost)
    }
  }

  @Test func `T8: a body that is not of its coding, or of one that was not requested, is a bad response`() async throws
  {
    var corrupt = try Compressor.gzip(body)
    corrupt[corrupt.count / 2] ^= 0xFF
    #expect(try await kind(.send(response("gzip", corrupt))) == .badResponse)
    #expect(try await kind(.send(response("gzip", Data("{}".utf8)))) == .badResponse)
  }

  @Test(arguments: ["br", "gzip, gzip", "aws-chunked", "none", "utf-8"])
  func `a body of an unknown coding is passed on as it is, or fails with its status`(coding: String) async throws {
    let raw = Data("{}".utf8)
    for status in [200, 502] {
      let server = try ScriptedServer(
        .answering { _ in
          RawResponse(status, headers: [("Content-Encoding", coding)], body: [UInt8](raw))
        })
      let response = try await SocketTransport().response(to: .to(server))
      #expect(response.head.status == status)
      #expect(response.body == raw)
      #expect(response.head.headers["Content-Encoding"] == coding)
      var configuration = SocketTransport.Configuration()
      configuration.undecodableBodies = .refused
      let strict = SocketTransport(configuration: configuration)
      if status == 502 {
        // The status says more than the coding does.
        #expect(try await strict.response(to: .to(server)).head.status == 502)
      } else {
        let error = await #expect(throws: RequestError.self) { try await strict.response(to: .to(server)) }
        #expect(error?.kind == .badResponse)
        #expect(error?.status == 200)
      }
    }
  }

  @Test func `a range, and a body that was requested as it is, are not decoded`() async throws {
    let gzip = try Compressor.gzip(body)
    let server = try ScriptedServer(
      .answering { request in
        RawResponse(
          request["Range"] == nil ? 200 : 206, headers: [("Content-Encoding", "gzip")],
          body: [UInt8](request["Range"] == nil ? gzip : gzip.dropFirst(100)))
      })
    let transport = SocketTransport()
    let part = try await transport.response(to: .to(server, headers: ["Range": "bytes=100-"]))
    #expect(part.head.status == 206)
    #expect(part.body == gzip.dropFirst(100))
    let raw = try await transport.response(to: .to(server, headers: ["Accept-Encoding": "identity"]))
    #expect(raw.body == gzip)
    #expect(raw.head.headers["Content-Encoding"] == "gzip")
    #expect(try await transport.response(to: .to(server)).body == body)
  }

  @Test func `zeros behind a gzip body are ignored, and other bytes are not`() async throws {
    let gzip = try Compressor.gzip(body)
    #expect(try await answer(.send(response("gzip", gzip + Data(count: 512)))).body == body)
    #expect(try await kind(.send(response("gzip", gzip + Data(count: 512) + Data([1])))) == .badResponse)
  }

  @Test func `T3: a bomb is cut off at the limit, counted as decoded`() async throws {
    let member = try Compressor.gzip(Data(count: 16 << 20))
    let bomb = response("gzip", Data(repeatElement(member, count: 64).joined()))
    #expect(bomb.body.count < 1_100_000)
    #expect(try await kind(.send(bomb), upTo: 1 << 20) == .tooLarge)
  }

  @Test func `T3: no more of a bomb is decoded than the observer takes`() async throws {
    let member = try Compressor.gzip(Data(count: 16 << 20))
    let server = try ScriptedServer([
      .readRequest, .send(response("gzip", Data(repeatElement(member, count: 64).joined()))), .waitForClientToClose,
    ])
    let before = try #require(ProcessUsage.current).memory
    let pieces = Monitor<Int>(0)
    let goOn = DispatchSemaphore(value: 0)
    let subscription = try SocketTransport().send(.to(server)).subscribe(onNext: { _ in
      let isTenth = pieces.update {
        $0 += 1
        return $0 == 10
      }
      if isTenth { goOn.wait() }
    })
    try await pieces.wait { $0 == 10 }
    // Other tests use memory at the same time; the whole bomb would make 1 GiB.
    #expect(try #require(ProcessUsage.current).memory - before < 256 << 20)
    subscription.dispose()
    goOn.signal()
    try await server.waitForClientToClose()
    #expect(pieces.value == 10)
  }
}
