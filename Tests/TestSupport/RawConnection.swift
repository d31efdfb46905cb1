import Glibc
import LoopbackServers

/// A client's connection over which a test sends and receives what it likes. Its calls block.
package final class RawConnection: Sendable {
  package enum End: Sendable {
    case closed
    case reset
  }

  package struct Received: Sendable, Equatable {
    package let bytes: [UInt8]
    package let end: End

    package init(bytes: [UInt8], end: End) {
      self.bytes = bytes
      self.end = end
    }
  }

  private let socket: Descriptor

  package init(port: UInt16) throws {
    socket = try Loopback.connect(port: port)
  }

  /// Whether a connection to the port is made within this time.
  package static func stands(port: UInt16, withinMilliseconds limit: Int32) throws -> Bool {
    try Loopback.connect(port: port, withinMilliseconds: limit).stands
  }

  package func send(_ text: String) {
    _ = socket.send([UInt8](text.utf8)[...])
  }

  /// Receives this many bytes, fewer where the connection ends.
  package func receive(_ count: Int) -> [UInt8] {
    var received: [UInt8] = []
    while received.count < count {
      let bytes = socket.receive(upTo: count - received.count)
      if bytes.isEmpty { break }
      received += bytes
    }
    return received
  }

  /// Receives until the connection ends.
  package func receiveAll() -> Received {
    var received: [UInt8] = []
    while true {
      errno = 0
      let bytes = socket.receive()
      if bytes.isEmpty { return Received(bytes: received, end: errno == ECONNRESET ? .reset : .closed) }
      received += bytes
    }
  }

  package func close() {
    socket.close()
  }
}
