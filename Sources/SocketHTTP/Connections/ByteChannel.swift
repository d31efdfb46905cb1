import HTTPClientCore
import SystemBase

/// The byte stream of a connection, plain or through TLS. Nothing here blocks.
///
/// A connection calls it under its lock, one call at a time.
protocol ByteChannel: AnyObject {
  /// Begins to read what has arrived; `isOver` says that the peer may have stopped sending.
  func beginReading(isOver: Bool)

  /// Reads into a buffer, which must not be empty; to be called until it returns `blocked`.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome

  /// Takes bytes to send, in two pieces either of which may be empty: as many as there is room for.
  func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> WriteOutcome

  /// Sends what `write` has taken but the socket has not.
  func flush() -> StepOutcome

  /// What has happened on the connection since the last read. It may read, and drop what it reads, so that nothing may
  /// be expected on it.
  func condition() -> Socket.Condition

  /// Whether the peer has stopped sending, or the connection is broken; what has arrived before is left for the reader.
  var hasEnded: Bool { get }

  /// Tells the peer that nothing more will be sent, if the protocol has a message for that; to be called before the
  /// socket is closed.
  func close()
}

/// The outcome of a step that may have to wait for the socket: a handshake, a tunnel, or a flush.
enum StepOutcome {
  case done
  case blocked
  case failed(RequestError)
}

/// The outcome of a read from a channel.
enum ReadOutcome {
  case bytes(Int)
  case blocked
  /// The peer sends nothing more. With TLS, this is authentic only if the peer has said so (close_notify).
  case end(isAuthentic: Bool)
  case failed(RequestError)
}

/// What is read in one turn before others have theirs, if it brings nothing to deliver: heads of interim responses, which
/// may have thousands of fields, or a few bytes at a time.
struct ResponseTurn {
  private static let mostReads = 16
  private static let mostBytes = 128 << 10

  private var (reads, bytes) = (0, 0)

  var isOver: Bool { reads >= Self.mostReads || bytes >= Self.mostBytes }

  /// Counts a read.
  mutating func count(_ bytes: Int) {
    reads += 1
    self.bytes += bytes
  }
}

/// The outcome of a write to a channel.
enum WriteOutcome {
  case taken(Int)
  case blocked
  case failed(RequestError)
}

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

  var hasEnded: Bool { socket.condition() == .closed }

  func condition() -> Socket.Condition { socket.condition() }

  func close() {}
}

extension RequestError {
  /// The error for an established connection that broke.
  init(lost error: SystemError) {
    self.init(.connectionLost, "The connection broke: \(error).", cause: error)
  }
}

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
