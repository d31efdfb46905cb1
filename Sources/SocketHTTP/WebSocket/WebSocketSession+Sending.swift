import HTTPClientCore
import Streams
import SystemBase

/// What a connection sends: commands of any thread, and what the session itself sends on the loop's.
extension WebSocketSession {
  /// How many turns of writing follow one another before others have theirs.
  private static let mostTurns = 16

  // MARK: - From any thread

  /// Carries out a command of the handle.
  func perform(_ command: WebSocketConnection.Command) throws(RequestError) {
    // The socket is the parent's, who would send frames of its own between those of this process.
    if ForkedProcess.isChild { throw .afterFork }
    switch command {
    case .send(let message):
      let (sending, loop) = try perform { output throws(RequestError) in try output?.send(message) }
      switch sending {
      case .sent(let outcome): follow(outcome, on: loop)
      case .framing(let framing):
        let frames = framing.frames(of: message)
        let (outcome, loop) = try perform { output throws(RequestError) in try output?.send(frames, of: message.size) }
        follow(outcome, on: loop)
      }
    case .ping(let payload):
      let (outcome, loop) = try perform { output throws(RequestError) in try output?.ping(payload) }
      follow(outcome, on: loop)
    case .close(let closure):
      // Before the server gets it, which may end the connection at once.
      let isFirst = beginClosing()
      guard let (outcome, loop) = try? perform({ $0?.close(closure) }) else { return }
      if isFirst { loop.submit { [self] in awaitClose() } }
      follow(outcome, on: loop)
    }
  }

  private func perform<Outcome>(
    _ body: (inout WebSocketOutput?) throws(RequestError) -> Outcome?
  ) throws(RequestError) -> (Outcome, EventLoop) {
    let (result, loop) = output.withLockUnchecked { output in
      (Result { () throws(RequestError) in try body(&output) }, output?.loop)
    }
    guard let outcome = try result.get(), let loop else { throw .webSocketClosed }
    return (outcome, loop)
  }

  func follow(_ outcome: WebSocketOutput.Outcome, on loop: EventLoop) {
    switch writeOn(outcome) {
    case .done: break
    case .blocked, .more: loop.submit { [self] in flush() }
    case .broken: loop.submit { [self] in read() }
    }
  }

  /// Writes more, in a few turns, between which the lock is free.
  private func writeOn(_ outcome: WebSocketOutput.Outcome) -> WebSocketOutput.Outcome {
    var outcome = outcome
    for _ in 1..<Self.mostTurns {
      guard case .more = outcome else { break }
      outcome = output.withLock { $0?.write() } ?? .done
    }
    return outcome
  }

  /// Sends the close that waited for the observer, if there is one.
  func closeIfPending(on loop: EventLoop) {
    if let outcome = output.withLock({ $0?.closeIfPending() }) { follow(outcome, on: loop) }
  }

  // MARK: - On the loop's thread

  /// Continues writing.
  func flush() {
    guard let (outcome, hasWritten) = output.withLock({ $0?.writeOn() }) else { return }
    // The server, or the network, only takes its time.
    if hasWritten { excuseSilence() }
    switch writeOn(outcome) {
    case .done, .blocked: break
    case .more: loop?.submit { [self] in flush() }
    case .broken: read()
    }
  }

  func send(_ body: (inout WebSocketOutput?) -> WebSocketOutput.Outcome?) {
    guard let loop, let outcome = output.withLock({ body(&$0) }) else { return }
    follow(outcome, on: loop)
  }
}
