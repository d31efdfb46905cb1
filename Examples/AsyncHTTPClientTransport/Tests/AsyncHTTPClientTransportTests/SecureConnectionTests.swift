import AsyncHTTPClientTransport
import Foundation
import HTTPClientCore
import NIOCore
import NIOPosix
import Streams
import Testing

struct SecureConnectionTests {
  @Test func `a server that speaks no TLS is an error of its own`() async throws {
    let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Clear()) }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let url = try #require(URL(string: "https://127.0.0.1:\(server.localAddress?.port ?? 0)/"))
    let request = try HTTPRequest(method: .get, url: url, timeouts: HTTPTimeouts(total: .seconds(20)))
    do {
      _ = try await AsyncHTTPClientTransport().send(request).collect(upTo: 100).value
      Issue.record("There was an answer.")
    } catch let error as RequestError {
      #expect(error.kind == .insecure, "\(error)")
    }
    try await server.close()
  }
}

/// Responds to a handshake in clear text.
private final class Clear: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let answer = ByteBuffer(string: "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
  }
}
