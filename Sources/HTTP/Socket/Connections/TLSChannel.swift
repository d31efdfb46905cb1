/// The bytes of a socket through TLS.
final class TLSChannel: ByteChannel {
  private let socket: Socket
  private let session: TLSSession
  private let reader: SocketReader

  /// What has come since the last of it was bytes of the server's own, and not TLS's.
  private var idleCount = 0
  private var hasRead = false
  /// Why nothing can be sent any more: what was not is then never offered again.
  private var sendError: RequestError?

  /// What is encoded at a time, so that no more waits in memory than the socket may take at once.
  private static let largestPart = 64 << 10
  /// How much may come without a byte for whoever reads. A handshake has at most 100 KiB of certificates; beyond that a
  /// server could keep the loop, which has to answer each change of keys, and its memory to itself.
  private static let largestIdleCount = 128 << 10

  init(_ socket: Socket, _ session: TLSSession) {
    self.socket = socket
    self.session = session
    reader = SocketReader(socket)
  }

  /// Goes on with the handshake, which may leave something to flush.
  func handshake(using buffer: UnsafeMutableRawBufferPointer) -> HandshakeOutcome {
    reader.begin(isOver: true)
    while true {
      let result = attempt { () throws(RequestError) in try session.handshake() }
      let flushed = flush()
      switch (result, flushed) {
      case (.failure(let error), _): return .failed(error)
      case (_, .failed(let error)): return .failed(error)
      case (.success(true), _): return .done
      case (.success(false), _): break
      }
      switch receive(using: buffer) {
      case .bytes, .end: continue
      case .blocked: return .blocked
      case .failed(let error): return .failed(error)
      }
    }
  }

  /// Whether the socket has not taken all yet.
  var hasMoreToSend: Bool { session.outgoingCount > 0 }

  func beginReading(isOver: Bool) { reader.begin(isOver: isOver) }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome {
    while true {
      let result = attempt { () throws(RequestError) in try session.read(into: buffer) }
      // What TLS has to answer goes out with the next flush where the socket is full.
      if session.outgoingCount > 0 { _ = flush() }
      switch result {
      case .success(.bytes(let count)):
        (idleCount, hasRead) = (0, true)
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

  /// Moves what the socket has into the session; the buffer is a mere place for it.
  private func receive(using buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome {
    let outcome = reader.receive(into: buffer)
    switch outcome {
    case .bytes(let count):
      idleCount += count
      guard idleCount <= Self.largestIdleCount else {
        return .failed(RequestError(.insecure, "'\(session.host)' sends nothing but what is TLS's own."))
      }
      session.receive(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    case .end: session.receiveEnd()
    case .blocked, .failed: break
    }
    return outcome
  }

  func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> WriteOutcome {
    switch flush() {
    case .done: break
    case .blocked: return .blocked
    case .failed(let error): return .failed(error)
    }
    let rest = UnsafeRawBufferPointer(rebasing: second.prefix(Self.largestPart))
    let result = attempt { () throws(RequestError) in
      try session.write(first)
      try session.write(rest)
    }
    if case .failure(let error) = result { return .failed(error) }
    let encodedCount = session.outgoingCount
    // Where some of it went out before the socket failed, it may have reached the server: the next flush says why.
    if case .failed(let error) = flush(), session.outgoingCount == encodedCount { return .failed(error) }
    return .taken(first.count + rest.count)
  }

  func flush() -> FlushOutcome {
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
    // Bytes may be TLS's own, such as tickets. Before the first answer they are left for whoever reads it.
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

  func close() {
    session.close()
    _ = flush()
  }

  private func attempt<Value>(_ body: () throws(RequestError) -> Value) -> Result<Value, RequestError> {
    do throws(RequestError) { return .success(try body()) } catch { return .failure(error) }
  }
}
