import HTTPClientCore
import SystemBase

/// A channel through TLS.
final class TLSChannel: ByteChannel {
  private let socket: Socket
  private let session: TLSSession
  private let reader: SocketReader

  /// How many bytes have arrived beyond what the decrypted bytes account for.
  private var idleCount = 0
  private var hasRead = false
  /// Why nothing can be sent any more; unsent bytes are then never offered again.
  private var sendError: RequestError?

  /// How much is encrypted at a time, so that no more waits in memory than the socket may take at once.
  private static let largestPart = 64 << 10
  /// How many bytes may arrive without any decrypted byte. A handshake has at most 100 KiB of certificates; without
  /// this limit, a server could keep the loop busy with key updates, each of which needs a reply, and use up its
  /// memory.
  private static let largestIdleCount = 128 << 10
  /// How many bytes one decrypted byte accounts for: a record with a single byte has up to 84 others.
  private static let largestOverhead = 128
  /// How much may be waiting to be sent while reading. A turn of writing leaves less; more means replies to key
  /// updates, requested by a server that does not read.
  private static let largestBacklog = 256 << 10

  init(_ socket: Socket, _ session: TLSSession) {
    self.socket = socket
    self.session = session
    reader = SocketReader(socket)
  }

  /// What is to be spoken, once the handshake is done; `nil` if the server did not choose.
  var applicationProtocol: ApplicationProtocol? { session.applicationProtocol }

  /// Continues the handshake, which may leave something to flush.
  func handshake(using buffer: UnsafeMutableRawBufferPointer) -> StepOutcome {
    reader.begin(isOver: true)
    while true {
      let result = Result { () throws(RequestError) in try session.handshake() }
      let flushed = flush()
      switch (result, flushed) {
      case (.failure(let error), _): return .failed(error)
      case (_, .failed(let error)): return .failed(error)
      case (.success(true), _):
        idleCount = 0
        return .done
      case (.success(false), _): break
      }
      switch receive(using: buffer) {
      case .bytes, .end: continue
      case .blocked: return .blocked
      case .failed(let error): return .failed(error)
      }
    }
  }

  func beginReading(isOver: Bool) { reader.begin(isOver: isOver) }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome {
    while true {
      let result = Result { () throws(RequestError) in try session.read(into: buffer) }
      // TLS's own replies are sent with the next flush if the socket is full.
      if session.outgoingCount > 0 { _ = flush() }
      if session.outgoingCount > Self.largestBacklog { return .failed(flood) }
      switch result {
      case .success(.bytes(let count)):
        idleCount = max(idleCount - count * Self.largestOverhead, 0)
        hasRead = true
        return .bytes(count)
      case .success(.closed): return .end(isAuthentic: true)
      case .success(.truncated): return .end(isAuthentic: false)
      case .failure(let error): return .failed(error)
      case .success(.needsMore):
        switch receive(using: buffer) {
        case .bytes, .end: continue
        case .blocked: return .blocked
        case .failed(let error): return .failed(error)
        }
      }
    }
  }

  /// Moves bytes from the socket into the session; the buffer is only temporary storage.
  private func receive(using buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome {
    let outcome = reader.receive(into: buffer)
    switch outcome {
    case .bytes(let count):
      idleCount += count
      guard idleCount <= Self.largestIdleCount else { return .failed(flood) }
      session.receive(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    case .end: session.receiveEnd()
    case .blocked, .failed: break
    }
    return outcome
  }

  private var flood: RequestError {
    RequestError(.insecure, "'\(session.host)' sends almost nothing but TLS control messages.")
  }

  func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> WriteOutcome {
    switch flush() {
    case .done: break
    case .blocked: return .blocked
    case .failed(let error): return .failed(error)
    }
    let start = UnsafeRawBufferPointer(rebasing: first.prefix(Self.largestPart))
    let rest = UnsafeRawBufferPointer(rebasing: second.prefix(start.count < first.count ? 0 : Self.largestPart))
    let result = Result { () throws(RequestError) in
      try session.write(start)
      try session.write(rest)
    }
    if case .failure(let error) = result { return .failed(error) }
    let encodedCount = session.outgoingCount
    // If some of it was sent before the socket failed, it may have reached the server: the next flush reports the
    // error.
    if case .failed(let error) = flush(), session.outgoingCount == encodedCount { return .failed(error) }
    return .taken(start.count + rest.count)
  }

  func flush() -> StepOutcome {
    if let sendError { return .failed(sendError) }
    var failure: SystemError?
    session.sendOutgoing { bytes in
      var sent = 0
      do throws(SystemError) {
        while sent < bytes.count {
          sent += try socket.send(UnsafeRawBufferPointer(rebasing: bytes[sent...]))
        }
      } catch {
        failure = error
      }
      return sent
    }
    guard let failure else { return .done }
    if failure.isBlocked { return .blocked }
    let error = RequestError(lost: failure)
    sendError = error
    return .failed(error)
  }

  func condition() -> Socket.Condition {
    let condition = socket.condition()
    guard condition == .readable else { return condition }
    // The bytes may be TLS's own, such as tickets. Before the first response, they are left for the reader.
    guard hasRead else { return .quiet }
    reader.begin(isOver: false)
    return withUnsafeTemporaryAllocation(byteCount: Self.largestPart, alignment: 16) { buffer in
      switch read(into: buffer) {
      case .blocked: .quiet
      case .bytes: .readable
      case .end, .failed: .closed
      }
    }
  }

  var hasEnded: Bool { socket.condition() == .closed }

  func close() {
    session.close()
    _ = flush()
  }
}
