import BenchmarkSupport
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket

/// A WebSocket server whose path says what it does: `/text/30/1000` sends 1,000 texts of 30 bytes after the client's
/// first message, as fast as they are read, and closes; `/json/…` sends JSON of about that size; `/echo` sends each message back; `/idle` sends nothing.
///
/// The frames are made beforehand and written in large blocks, so that the server is not what is measured.
enum LiveServer {
  /// Serves until standard input ends, and prints the ports for `ws` and `wss`.
  static func run(certificate: String, key: String) throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let upgrader = NIOWebSocketServerUpgrader(
      shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture(HTTPHeaders()) },
      upgradePipelineHandler: { channel, head in
        channel.eventLoop.makeCompletedFuture {
          let path = head.uri.split(separator: "/")
          switch path.first {
          case "text", "json":
            let frame = Self.frame(path[0] == "json", size: Int(path[1]) ?? 0)
            // The decoder would only get the client's close, the encoder nothing.
            try channel.pipeline.syncOperations.addHandler(Sending(frame, count: Int(path[2]) ?? 0))
          case "echo": try channel.pipeline.syncOperations.addHandler(Echoing())
          default: break
          }
        }
      })
    let tls = try NIOSSLContext(
      configuration: .makeServerConfiguration(
        certificateChain: NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
        privateKey: .privateKey(NIOSSLPrivateKey(file: key, format: .pem))))
    let ports = try [nil, tls].map { tls in
      try ServerBootstrap(group: group)
        .serverChannelOption(.backlog, value: 4096)
        .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
            try channel.pipeline.syncOperations.configureHTTPServerPipeline(
              withServerUpgrade: (upgraders: [upgrader], completionHandler: { _ in }))
          }
        }
        .bind(host: "127.0.0.1", port: 0).wait().localAddress?.port ?? 0
    }
    print(ports.map(String.init).joined(separator: " "))
    fflush(nil)
    while readLine() != nil {}
  }

  /// A frame with a text of a size, or with the JSON of a ``Like`` of about that size.
  private static func frame(_ isJSON: Bool, size: Int) -> [UInt8] {
    let payload =
      isJSON
      ? Array(#"{"id":"m1","likes":7,"by":"\#(String(repeating: "x", count: max(size - 30, 0)))"}"#.utf8)
      : [UInt8](repeating: 0x61, count: size)
    let length =
      payload.count <= 125 ? [UInt8(payload.count)] : [126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
    return [0x81] + length + payload
  }
}

/// Sends frames from the client's first message on, for as long as the socket takes them, and then closes.
private final class Sending: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame

  private let block: ByteBuffer
  private let perBlock: Int
  private let frameSize: Int
  private var left: Int
  private var hasBegun = false

  init(_ frame: [UInt8], count: Int) {
    perBlock = max((64 << 10) / frame.count, 1)
    frameSize = frame.count
    var block = ByteBuffer()
    for _ in 0..<perBlock { block.writeBytes(frame) }
    self.block = block
    left = count
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data).opcode {
    case .text:
      hasBegun = true
      send(context)
    case .connectionClose: context.close(promise: nil)
    default: break
    }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if hasBegun { send(context) }
  }

  private func send(_ context: ChannelHandlerContext) {
    // Past the frame encoder, which expects frames.
    guard left > 0, let head = try? context.pipeline.syncOperations.context(handlerType: WebSocketFrameEncoder.self)
    else { return }
    while left > 0, context.channel.isWritable {
      let count = min(left, perBlock)
      left -= count
      head.write(NIOAny(block.getSlice(at: 0, length: count * frameSize) ?? block), promise: nil)
      if left == 0 { head.write(NIOAny(ByteBuffer(bytes: [0x88, 0x02, 0x03, 0xE8])), promise: nil) }
      head.flush()
    }
  }
}

private final class Echoing: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    let answer = WebSocketFrame(fin: true, opcode: frame.opcode, data: frame.unmaskedData)
    context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
    if case .connectionClose = frame.opcode { context.close(promise: nil) }
  }
}
