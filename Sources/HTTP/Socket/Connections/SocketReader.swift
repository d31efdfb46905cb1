/// Reads a socket until it is empty: until a read finds nothing, or less than it had room for.
///
/// Whatever comes later, including the end, is reported by the next edge. But an end that came together with the last
/// edge causes no edge of its own: if that is possible, reads continue until they find the end, or nothing.
///
/// Belongs to a channel, which is used by one thread at a time.
final class SocketReader {
  private let socket: Socket
  private var isOver = false
  private var isEmpty = false

  init(_ socket: Socket) {
    self.socket = socket
  }

  func begin(isOver: Bool) {
    self.isOver = isOver
    isEmpty = false
  }

  func receive(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome {
    if isEmpty { return .blocked }
    do throws(SystemError) {
      let count = try socket.receive(into: buffer)
      isEmpty = count < buffer.count && !isOver
      return count == 0 ? .end(isAuthentic: true) : .bytes(count)
    } catch {
      return error.isBlocked ? .blocked : .failed(RequestError(lost: error))
    }
  }
}
