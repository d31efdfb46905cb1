import Foundation
import NIOCore
import NIOHTTP1

/// The server closed a kept connection before the request was written.
struct ClosedBeforeRequest: Error {}

/// Keeps a request from being written to a connection that its server has closed. The system knows of that before the
/// event loop does, and once the request is written, it is unknown whether the server carried it out.
final class ClosedConnectionHandler: ChannelOutboundHandler {
  typealias OutboundIn = HTTPClientRequestPart
  typealias OutboundOut = HTTPClientRequestPart

  /// Adds a handler to a connection, between the client's own handler and those that write and read HTTP.
  static func add(to channel: any Channel) -> EventLoopFuture<Void> {
    channel.eventLoop.makeCompletedFuture {
      let pipeline = channel.pipeline.syncOperations
      let decoder = try pipeline.context(handlerType: ByteToMessageHandler<HTTPResponseDecoder>.self).handler
      try pipeline.addHandler(ClosedConnectionHandler(), position: .after(decoder))
    }
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard case .head = unwrapOutboundIn(data), context.channel.isClosedByPeer else {
      return context.write(data, promise: promise)
    }
    promise?.fail(ClosedBeforeRequest())
    context.fireErrorCaught(ClosedBeforeRequest())
    context.close(promise: nil)
  }
}

extension Channel {
  /// Whether the other end has closed its half. To be called on the channel's event loop.
  fileprivate var isClosedByPeer: Bool {
    var isClosed = false
    #if os(Linux)
      // On the event loop the result is there at once.
      (self as? any SocketOptionProvider)?.getTCPInfo().assumeIsolated().whenSuccess { info in
        isClosed = info.tcpi_state == UInt8(TCP_CLOSE_WAIT)
      }
    #endif
    return isClosed
  }
}
