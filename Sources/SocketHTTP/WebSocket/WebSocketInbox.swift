import HTTPClientCore
import Streams
import Synchronization
import SystemBase

/// What has arrived and waits for the observer. The loop adds; the observer is called on another thread, one call at a
/// time, in order.
final class WebSocketInbox: Sendable {
  /// Events in their order, and how much they count against what may wait.
  typealias Batch = (events: [WebSocketEvent], size: Int)

  private struct State {
    var events: [WebSocketEvent] = []
    var end: WebSocketMachine.End?
    /// Whether a part of a message has arrived that is to be reported.
    var hasPart = false
    var isDelivering = false
  }

  private let state = Locked(State())
  private let observer: AnyObserver<WebSocketEvent>
  private let operationName: String?
  private let onPart: (@Sendable () -> Void)?
  private let isStopped = Atomic<Bool>(false)
  /// How much has arrived and was not delivered, as the machine counts it, and how much of that there may be.
  private let waiting = Atomic<Int>(0)
  private let limit: Int
  /// If the loop has paused, how little must wait for reading to be resumed: 0 if the pause is brief; negative if it has
  /// not. Set by the loop, and cleared by the thread that reads next.
  private let resumption = Atomic<Int>(-1)
  private let turns = Atomic<Int>(0)

  /// How much is read ahead of an observer that keeps up: what is read is taken while it is in the processor's cache, and
  /// its memory is used again.
  private static let quantum = 128 << 10

  /// `onPart` is called, as the observer is, for a part of a message.
  init(
    _ observer: AnyObserver<WebSocketEvent>, limit: Int, operationName: String?,
    onPart: (@Sendable () -> Void)? = nil
  ) {
    self.observer = observer
    self.limit = limit
    self.operationName = operationName
    self.onPart = onPart
  }

  /// Records that the observer has gone; returns false if it had before, or has got the last event.
  func stop() -> Bool { !isStopped.exchange(true, ordering: .relaxed) }

  /// Adds what has arrived, in this order; returns whether `deliver` must be called.
  func add(_ events: [WebSocketEvent], size: Int, end: WebSocketMachine.End? = nil) -> Bool {
    waiting.add(size, ordering: .sequentiallyConsistent)
    return state.withLock { state in
      if state.events.isEmpty { state.events = events } else { state.events += events }
      state.end = state.end ?? end
      defer { state.isDelivering = true }
      return !state.isDelivering
    }
  }

  /// Adds that a part of a message has arrived; returns whether `deliver` must be called.
  func addPart() -> Bool {
    state.withLock { state in
      state.hasPart = true
      defer { state.isDelivering = true }
      return !state.isDelivering
    }
  }

  enum Pause {
    case none
    /// `deliver` reads on when the observer has taken what waits. If it does not soon, the loop may end the pause.
    case brief
    /// No more may be read before `deliver` calls `resume`.
    case full
  }

  /// How much more may wait.
  var room: Int { limit - waiting.load(ordering: .relaxed) }

  /// Whether all that was added has been delivered.
  var isEmpty: Bool { state.withLock { $0.events.isEmpty && !$0.isDelivering } }

  /// Whether so much waits that reading has to pause.
  func pause() -> Pause {
    let waiting = waiting.load(ordering: .relaxed)
    guard waiting > min(Self.quantum, limit) else { return .none }
    resumption.store(waiting > limit ? max(limit / 2, 1) : 0, ordering: .sequentiallyConsistent)
    // The observer may have caught up meanwhile, without having seen the pause.
    let left = self.waiting.load(ordering: .sequentiallyConsistent)
    if endPause(where: { left <= $0 }) { return .none }
    return waiting > limit ? .full : .brief
  }

  /// Ends a pause; returns false if `deliver` has ended it, or reads.
  func endPause() -> Bool { endPause { _ in true } }

  /// Ends a pause that lasts until a certain amount waits, of which a condition is true; the caller has to read then.
  private func endPause(where isOver: (Int) -> Bool) -> Bool {
    let most = resumption.load(ordering: .sequentiallyConsistent)
    guard most >= 0, isOver(most) else { return false }
    return resumption.compareExchange(expected: most, desired: -1, ordering: .sequentiallyConsistent).exchanged
  }

  /// How often `deliver` has read.
  var turn: Int { turns.load(ordering: .relaxed) }

  /// Calls the observer with everything that waits. When it has taken that, a brief pause ends with `read`, which is called
  /// with a buffer to read into, and returns `nil` if the loop is to read again; a full pause ends with `resume`. `willEnd`
  /// is called between the last event and the end.
  func deliver(
    read: (UnsafeMutableRawBufferPointer) -> Batch?, resume: () -> Void, willEnd: () -> Void = {}
  ) {
    while true {
      let (events, end, hasPart) = state.withLock { state in
        state.isDelivering = !state.events.isEmpty || state.end != nil || state.hasPart
        return (exchange(&state.events, with: []), state.end.take(), exchange(&state.hasPart, with: false))
      }
      if events.isEmpty, end == nil, !hasPart { return }
      deliver(events, resume)
      if hasPart, !isStopped.load(ordering: .relaxed) { onPart?() }
      if let end {
        willEnd()
        finish(end)
      }
      readOn(read, resume)
    }
  }

  private func deliver(_ events: [WebSocketEvent], _ resume: () -> Void) {
    for event in events where !isStopped.load(ordering: .relaxed) {
      observer.onNext(event)
      let left = waiting.subtract(event.size, ordering: .sequentiallyConsistent).newValue
      if endPause(where: { $0 > 0 && left <= $0 }) { resume() }
    }
  }

  /// Reads and delivers in turns.
  private func readOn(_ read: (UnsafeMutableRawBufferPointer) -> Batch?, _ resume: () -> Void) {
    guard mayReadOn() else { return }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    defer { buffer.deallocate() }
    repeat {
      guard let (events, size) = read(buffer) else { return }
      waiting.add(size, ordering: .sequentiallyConsistent)
      turns.add(1, ordering: .relaxed)
      // From here on the loop may read, if the observer blocks.
      resumption.store(0, ordering: .sequentiallyConsistent)
      deliver(events, resume)
    } while mayReadOn()
  }

  private func mayReadOn() -> Bool {
    waiting.load(ordering: .sequentiallyConsistent) == 0 && endPause(where: { $0 == 0 })
  }

  private func finish(_ end: WebSocketMachine.End) {
    guard stop() else { return }
    switch end {
    case .closed(let closure):
      observer.onNext(.closed(closure))
      observer.onCompleted()
    case .failed(let error):
      observer.onError(error.named(operationName))
    }
  }
}

extension WebSocketEvent {
  /// How much it counts against what may wait for the observer.
  var size: Int {
    switch self {
    case .message(let message): message.size + Self.overhead
    case .pong(let payload): payload.count + Self.overhead
    case .opened, .closed: 0
    }
  }

  private static var overhead: Int { 64 }
}
