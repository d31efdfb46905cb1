import HTTPClientCore
import Streams
import SystemBase

/// What waits for the observer of an exchange while its connection is read on for others: parts, and the end behind them.
///
/// One thread at a time takes from it, until nothing is left. It needs the loop only to begin, so the end of a response
/// comes even where the loop has ended meanwhile.
final class ExchangeBacklog: Sendable {
  enum Item: Sendable {
    case parts([HTTPResponsePart])
    case end(@Sendable () -> Void)
  }

  private struct State {
    var parts: [HTTPResponsePart] = []
    var end: (@Sendable () -> Void)?
    var isTaken = false
    var isOver = false

    /// Adds a part; a small piece of the body is copied to the one before it, since each part takes memory of its own: over
    /// HTTP/2 as much as a read, however small it is.
    mutating func append(_ part: HTTPResponsePart) {
      if case .body(let piece) = part, piece.count <= ExchangeBacklog.smallPiece, case .body(var last)? = parts.last,
        last.count + piece.count <= ExchangeBacklog.largestJoined
      {
        // So that only one refers to the bytes, and they are not copied.
        parts.removeLast()
        last.append(piece)
        parts.append(.body(last))
      } else {
        parts.append(part)
      }
    }
  }

  /// The size of a small piece at most, and of those that are collected.
  private static let (smallPiece, largestJoined) = (32 << 10, 64 << 10)

  private let state = Locked(State())

  /// Adds parts, or the end. Returns true if nobody takes from it, so that a thread has to be found.
  func add(_ item: Item) -> Bool {
    state.withLock { state in
      switch item {
      case .parts(let parts): for part in parts { state.append(part) }
      case .end(let end): state.end = end
      }
      defer { state.isTaken = true }
      return !state.isTaken
    }
  }

  /// Removes and returns all parts that wait, or the end if there are none; with `nil`, the caller has taken everything.
  /// `isOver` says that the observer wants nothing more.
  func next() -> (item: Item, isOver: Bool)? {
    state.withLock { state in
      if !state.parts.isEmpty { return (.parts(exchange(&state.parts, with: [])), state.isOver) }
      if let end = state.end.take() { return (.end(end), state.isOver) }
      state.isTaken = false
      return nil
    }
  }

  /// Records that the observer wants nothing more.
  func finish() { state.withLock { $0.isOver = true } }
}

extension SocketExchange {
  /// Passes parts to the observer behind those that it has yet to take; `whenTaken` is called, on any thread, with the
  /// number of their bytes once it has, or wants none. Called on the loop's thread.
  func add(_ parts: [HTTPResponsePart], on loop: EventLoop, whenTaken: @escaping @Sendable (Int) -> Void) {
    if let channel {
      recordActivity()
      return channel.receive(parts, whenTaken: whenTaken)
    }
    let backlog = backlog ?? ExchangeBacklog()
    self.backlog = backlog
    guard backlog.add(.parts(parts)) else { return }
    recordDelivery()
    loop.deliver(to: mailbox) { [self] in take(from: backlog, whenTaken) }
  }

  /// Ends the exchange where its observer is, behind the parts that it has yet to take. Called on the loop's thread.
  func end(on loop: EventLoop, _ end: @escaping @Sendable () -> Void) {
    guard let backlog else { return loop.deliver(to: mailbox, end) }
    guard backlog.add(.end(end)) else { return }
    loop.deliver(to: mailbox) { [self] in take(from: backlog) { _ in } }
  }

  private func take(from backlog: ExchangeBacklog, _ whenTaken: (Int) -> Void) {
    while let (item, isOver) = backlog.next() {
      switch item {
      case .parts(let parts):
        if !isOver, !takes(parts) { backlog.finish() }
        let count = parts.reduce(0) { $0 + $1.bodyCount }
        if count > 0 { whenTaken(count) }
      case .end(let end):
        if !isOver { end() }
      }
    }
  }

  /// Passes parts to the observer, unless it has gone; returns whether it takes more.
  private func takes(_ parts: [HTTPResponsePart]) -> Bool {
    guard !hasStopped else { return false }
    recordDelivery()
    return deliver(parts)
  }
}

extension HTTPResponsePart {
  /// How many bytes of the body it has.
  fileprivate var bodyCount: Int { if case .body(let bytes) = self { bytes.count } else { 0 } }
}
