import HTTP
import Streams
import Synchronization

/// What has arrived and waits for the observer. The loop adds; the observer is called on another thread, one call at a
/// time, in order.
final class WebSocketInbox: Sendable {
  private struct State {
    var events: [WebSocketEvent] = []
    var end: WebSocketMachine.End?
    var isDelivering = false
  }

  private let state = Locked(State())
  private let observer: AnyObserver<WebSocketEvent>
  private let operationName: String?
  private let isStopped = Atomic<Bool>(false)
  /// How much has arrived and was not delivered, as the machine counts it, and how much of that there may be.
  private let waiting = Atomic<Int>(0)
  private let limit: Int
  /// If reading has paused, how little must wait for it to be resumed; negative if not. Set by the loop, and cleared by
  /// whoever resumes it.
  private let resumption = Atomic<Int>(-1)

  /// How much is read ahead of an observer that keeps up: what is read is taken while it is in the processor's cache, and
  /// its memory is used again.
  private static let quantum = 128 << 10

  init(_ observer: AnyObserver<WebSocketEvent>, limit: Int, operationName: String?) {
    self.observer = observer
    self.limit = limit
    self.operationName = operationName
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

  enum Pause {
    case none
    /// The observer takes what waits: `deliver` will call `resume`. If it does not soon, more may be read.
    case brief
    /// No more may be read before `deliver` calls `resume`.
    case full
  }

  /// Whether so much waits that reading has to pause.
  func pause() -> Pause {
    let waiting = waiting.load(ordering: .relaxed)
    guard waiting > min(Self.quantum, limit) else { return .none }
    resumption.store(waiting > limit ? limit / 2 : Self.quantum / 2, ordering: .sequentiallyConsistent)
    // The observer may have caught up meanwhile, without having seen the pause.
    if mayResume(self.waiting.load(ordering: .sequentiallyConsistent)) { return .none }
    return waiting > limit ? .full : .brief
  }

  /// Ends a pause; returns false if `deliver` has ended it.
  func endPause() -> Bool { resumption.exchange(-1, ordering: .sequentiallyConsistent) >= 0 }

  private func mayResume(_ waiting: Int) -> Bool {
    let most = resumption.load(ordering: .sequentiallyConsistent)
    guard most >= 0, waiting <= most else { return false }
    return resumption.compareExchange(expected: most, desired: -1, ordering: .sequentiallyConsistent).exchanged
  }

  /// Calls the observer with everything that waits.
  func deliver(resume: () -> Void) {
    while true {
      let (events, end) = state.withLock { state in
        state.isDelivering = !state.events.isEmpty || state.end != nil
        return (exchange(&state.events, with: []), state.end.take())
      }
      if events.isEmpty, end == nil { return }
      for event in events where !isStopped.load(ordering: .relaxed) {
        observer.onNext(event)
        let left = waiting.subtract(event.size, ordering: .sequentiallyConsistent).newValue
        if mayResume(left) { resume() }
      }
      if let end { finish(end) }
    }
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
