/// The bytes of a socket as they are.
final class PlainChannel: ByteChannel {
  private let socket: Socket

  init(_ socket: Socket) {
    self.socket = socket
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome {
    do throws(SystemError) {
      let count = try socket.receive(into: buffer)
      return count == 0 ? .end(isAuthentic: true) : .bytes(count)
    } catch {
      return error.isBlocked ? .blocked : .failed(RequestError(lost: error))
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer) -> WriteOutcome {
    do throws(SystemError) {
      return .taken(try socket.send(bytes))
    } catch {
      return error.isBlocked ? .blocked : .failed(RequestError(lost: error))
    }
  }

  func flush() -> FlushOutcome { .done }

  func condition() -> Socket.Condition { socket.condition() }

  func close() {}
}

extension RequestError {
  /// A connection that stood has broken.
  init(lost error: SystemError) {
    self.init(.connectionLost, "The connection broke: \(error).", cause: error)
  }
}
