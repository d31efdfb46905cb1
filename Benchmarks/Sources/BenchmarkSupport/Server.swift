import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// A server that responds to every POST with a body of the size that the path asks for (`/300`), as fast as swift-nio
/// can.
///
/// It reads of a request only what the framing needs, so that the server is not what is measured.
package enum Server {
  /// Serves until standard input ends, and prints the ports for `http` and, with a certificate, for `https`.
  package static func run(
    certificate: String? = nil, key: String = "", body: @escaping @Sendable (_ size: Int) -> [UInt8]
  ) throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let bootstrap = ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 512)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
    let plain = try bootstrap.childChannelInitializer { channel in
      channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Answering(body: body)) }
    }.bind(host: "127.0.0.1", port: 0).wait()
    guard let certificate else { return wait(plain.localAddress?.port ?? 0, 0) }
    let context = try NIOSSLContext(
      configuration: .makeServerConfiguration(
        certificateChain: NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
        privateKey: .privateKey(NIOSSLPrivateKey(file: key, format: .pem))))
    let secure = try bootstrap.childChannelInitializer { channel in
      channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
        try channel.pipeline.syncOperations.addHandler(Answering(body: body))
      }
    }.bind(host: "127.0.0.1", port: 0).wait()
    wait(plain.localAddress?.port ?? 0, secure.localAddress?.port ?? 0)
  }

  private static func wait(_ ports: Int...) {
    print(ports.map(String.init).joined(separator: " "))
    fflush(nil)
    // Ends with the process that started it.
    while readLine() != nil {}
  }
}

private final class Answering: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let body: @Sendable (Int) -> [UInt8]
  private var received = ByteBuffer()
  private var head: RequestHead?
  private var bodyLeft = 0
  private var answers: [Int: ByteBuffer] = [:]

  init(body: @escaping @Sendable (Int) -> [UInt8]) {
    self.body = body
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var piece = unwrapInboundIn(data)
    if received.readableBytes == 0 { received = piece } else { received.writeBuffer(&piece) }
    while let size = takeRequest() {
      context.write(wrapOutboundOut(answer(of: size)), promise: nil)
    }
    // Drops the buffer once everything in it has been read, so that its memory can be reused.
    if received.readableBytes == 0 { received = ByteBuffer() }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    context.flush()
  }

  /// Removes the part of a request that has arrived. If the request is complete, returns the size that it asks for.
  private func takeRequest() -> Int? {
    if head == nil {
      head = received.withUnsafeReadableBytes { RequestHead($0) }
      received.moveReaderIndex(forwardBy: head?.count ?? 0)
      bodyLeft = head?.bodyCount ?? 0
    }
    let count = min(bodyLeft, received.readableBytes)
    received.moveReaderIndex(forwardBy: count)
    bodyLeft -= count
    guard bodyLeft == 0, let size = head?.size else { return nil }
    head = nil
    return size
  }

  private func answer(of size: Int) -> ByteBuffer {
    if let answer = answers[size] { return answer }
    let body = body(size)
    var answer = ByteBuffer(
      string:
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nServer: bench\r\nContent-Length: \(body.count)\r\n\r\n")
    answer.writeBytes(body)
    answers[size] = answer
    return answer
  }
}
