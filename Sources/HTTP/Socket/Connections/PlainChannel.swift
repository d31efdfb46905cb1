/// A channel without encryption.
final class PlainChannel: ByteChannel {
  private let socket: Socket
  private let reader: SocketReader

  init(_ socket: Socket) {
    self.socket = socket
    reader = SocketReader(socket)
  }

  func beginReading(isOver: Bool) { reader.begin(isOver: isOver) }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome { reader.receive(into: buffer) }

  func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> WriteOutcome {
    do throws(SystemError) {
      return .taken(try socket.send(first, second))
    } catch {
      return error.isBlocked ? .blocked : .failed(RequestError(lost: error))
    }
  }

  func flush() -> StepOutcome { .done }

  func condition() -> Socket.Condition { socket.condition() }

  func close() {}
}

extension RequestError {
  /// The error for an established connection that broke.
  init(lost error: SystemError) {
    self.init(.connectionLost, "The connection broke: \(error).", cause: error)
  }
}
