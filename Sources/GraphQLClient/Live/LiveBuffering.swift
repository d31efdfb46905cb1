import HTTPClientCore
public import Streams
public import SystemBase

/// What is kept for an observer that is slower than the server. What is dropped is counted, and reported as
/// ``LiveEvent/dropped(_:)``.
public struct LiveBuffering: Hashable, Sendable {
  enum Policy: Hashable {
    case suspend, latest, dropOldest, fail
  }

  let policy: Policy
  let values: Int
  let bytes: Int

  /// Nothing is kept: the server is not read from while the observer is busy. Not over a WebSocket, which carries other
  /// subscriptions and pings, too: there it fails with `invalidRequest`.
  public static let suspend = LiveBuffering(policy: .suspend, values: 0, bytes: 0)

  /// Only the latest value is kept.
  public static let latest = LiveBuffering(policy: .latest, values: 1, bytes: .max)

  /// At most so many values and bytes are kept, the latest ones, and at least one; by default 256 values and 4 MiB.
  public static func dropOldest(values: Int = 256, bytes: Int = 4 << 20) -> LiveBuffering {
    LiveBuffering(policy: .dropOldest, values: max(values, 1), bytes: bytes)
  }

  /// At most so many values and bytes are kept, by default 256 and 4 MiB; more than that end the subscription with
  /// `overloaded`, after the observer has got what was kept.
  public static func fail(values: Int = 256, bytes: Int = 4 << 20) -> LiveBuffering {
    LiveBuffering(policy: .fail, values: max(values, 1), bytes: bytes)
  }
}

/// The events that wait for an observer, by a policy: pure, without locks.
///
/// Events of the connection are merged rather than counted: of one that comes and goes, only the last state and the gaps
/// are of interest. So there are at most three of them before each value. An event that failed counts as a value.
package struct LiveBacklog<Value: Sendable>: Sendable {
  private let buffering: LiveBuffering
  /// What comes before the first value.
  private var head: [LiveEvent<Value>] = []
  private var values = Fifo<(event: LiveEvent<Value>, size: Int)>()
  /// What comes between two values, with the number of the later one.
  private var gaps = Fifo<(number: Int, events: [LiveEvent<Value>])>()
  /// What comes behind the last value.
  private var tail: [LiveEvent<Value>] = []
  /// The number of the first value: how many were taken or dropped before it.
  private var first = 0
  private var dropped = 0
  private var byteCount = 0

  package init(_ buffering: LiveBuffering) {
    self.buffering = buffering
  }

  private var valueCount: Int { values.count }

  var isEmpty: Bool { dropped == 0 && head.isEmpty && values.isEmpty && tail.isEmpty }

  /// Takes an event, with the size of its value in bytes. Returns false if it has no room, and the policy is to fail.
  @discardableResult
  package mutating func append(_ event: LiveEvent<Value>, size: Int) -> Bool {
    if case .dropped(let count) = event {
      dropped += count
      return true
    }
    guard event.isValue else {
      Self.merge(event, into: &tail)
      return true
    }
    let isOver = valueCount >= buffering.values || valueCount > 0 && byteCount + size > buffering.bytes
    if isOver, buffering.policy == .fail { return false }
    if !tail.isEmpty { gaps.append((first + valueCount, tail)) }
    tail = []
    values.append((event, size))
    byteCount += size
    moveGaps()
    while valueCount > 1, valueCount > buffering.values || byteCount > buffering.bytes {
      _ = popValue()
      dropped += 1
    }
    return true
  }

  /// The next event for the observer.
  package mutating func popFirst() -> LiveEvent<Value>? {
    if dropped > 0 {
      defer { dropped = 0 }
      return .dropped(dropped)
    }
    if !head.isEmpty { return head.removeFirst() }
    return popValue() ?? (tail.isEmpty ? nil : tail.removeFirst())
  }

  private mutating func popValue() -> LiveEvent<Value>? {
    guard let (event, size) = values.popFirst() else { return nil }
    byteCount -= size
    first += 1
    moveGaps()
    return event
  }

  /// Moves what comes before the first value to the head. If values before it were dropped, there is something already: a
  /// gap stays a gap.
  private mutating func moveGaps() {
    while gaps.first?.number == first, let gap = gaps.popFirst() {
      for event in gap.events { Self.merge(event, into: &head) }
    }
  }

  /// Adds an event to those that follow each other without a value between them. What is left is at most a gap, and the
  /// state of the connection after it.
  private static func merge(_ event: LiveEvent<Value>, into run: inout [LiveEvent<Value>]) {
    if case .disconnected = run.last { run.removeLast() }
    switch (run.last, event) {
    case (.reconnected, .reconnected), (.reconnected, .resumed), (.reconnected, .connected): break
    case (.resumed, .reconnected), (.resumed, .resumed), (.connected, .connected):
      run[run.count - 1] = event
    default: run.append(event)
    }
  }
}

extension LiveBacklog<Data> {
  mutating func append(_ event: LiveEvent<Data>) -> Bool { append(event, size: event.value?.count ?? 0) }
}

extension LiveEvent {
  /// Whether it counts as a value.
  fileprivate var isValue: Bool {
    switch self {
    case .value, .failed: true
    case .connected, .disconnected, .reconnected, .resumed, .dropped: false
    }
  }
}

extension Observable where Element == LiveEvent<Data> {
  /// Delivers the events on a scheduler, one at a time, so that the source never waits for the observer; what the
  /// observer has not taken yet is kept by a policy. For implementations of ``LiveTransport``.
  ///
  /// An error comes behind what is kept; but `cancelled`, which says that the account has signed out, comes in its place.
  /// With `suspend`, the source waits for the observer.
  public func buffered(_ buffering: LiveBuffering, on scheduler: some Scheduler) -> Observable<Element> {
    guard buffering.policy != .suspend else { return self }
    return .create { observer in
      let queue = LiveQueue(buffering, scheduler, observer)
      let source = self.subscribe(
        onNext: { queue.append($0) }, onError: { queue.end($0) }, onCompleted: { queue.end(nil) })
      queue.attach(source)
      return Disposables.create { queue.dispose() }
    }
  }
}

/// The queue between a transport and one observer.
final class LiveQueue: Sendable {
  private struct State {
    var backlog: LiveBacklog<Data>
    var end: (any Error)??
    var isScheduled = false
    var isDisposed = false
    var source: (any Disposable)?
  }

  private let scheduler: any Scheduler
  private let observer: AnyObserver<LiveEvent<Data>>
  private let cancellation: @Sendable () -> RequestError?
  private let state: Locked<State>

  /// `cancellation` is asked before each event: if it has an error, that ends the queue in place of what waits.
  init(
    _ buffering: LiveBuffering, _ scheduler: any Scheduler, _ observer: AnyObserver<LiveEvent<Data>>,
    cancellation: @escaping @Sendable () -> RequestError? = { nil }
  ) {
    state = Locked(State(backlog: LiveBacklog(buffering)))
    self.scheduler = scheduler
    self.observer = observer
    self.cancellation = cancellation
  }

  func attach(_ source: any Disposable) {
    let isOver = state.withLock { state in
      state.source = source
      return state.isDisposed || state.end != nil
    }
    if isOver { source.dispose() }
  }

  func append(_ event: LiveEvent<Data>) {
    let (isFirst, isFull) = state.withLock { state -> (Bool, Bool) in
      if state.isDisposed || state.end != nil { return (false, false) }
      let hasRoom = state.backlog.append(event)
      if !hasRoom { state.end = .some(Self.overflow) }
      defer { state.isScheduled = true }
      return (!state.isScheduled, !hasRoom)
    }
    if isFull { state.withLock { $0.source }?.dispose() }
    if isFirst { schedule() }
  }

  func end(_ error: (any Error)?) {
    let isCancelled = (error as? RequestError)?.kind == .cancelled
    let (isFirst, dropped, source) = state.withLock { state -> (Bool, LiveBacklog<Data>?, (any Disposable)?) in
      if state.isDisposed || state.end != nil && !isCancelled { return (false, nil, nil) }
      state.end = .some(error)
      let dropped = isCancelled ? exchange(&state.backlog, with: LiveBacklog(.latest)) : nil
      defer { state.isScheduled = true }
      return (!state.isScheduled, dropped, state.source)
    }
    withExtendedLifetime(dropped) {}
    source?.dispose()
    if isFirst { schedule() }
  }

  func dispose() {
    let (source, backlog) = state.withLock { state in
      state.isDisposed = true
      defer { state.backlog = LiveBacklog(.latest) }
      return (state.source, state.backlog)
    }
    withExtendedLifetime(backlog) {}
    source?.dispose()
  }

  private func schedule() {
    _ = scheduler.schedule { self.turn() }
  }

  /// Delivers what waits, up to a number of events, so that a busy subscription shares the scheduler.
  private func turn() {
    for _ in 0..<64 {
      enum Step {
        case deliver(LiveEvent<Data>)
        case end((any Error)?)
        case stop
      }
      if let error = cancellation() { end(error) }
      let step = state.withLock { state -> Step in
        if state.isDisposed { return .stop }
        if let event = state.backlog.popFirst() { return .deliver(event) }
        if let end = state.end {
          state.isDisposed = true
          return .end(end)
        }
        state.isScheduled = false
        return .stop
      }
      switch step {
      case .deliver(let event): observer.onNext(event)
      case .end(let error?): return observer.onError(error)
      case .end(nil): return observer.onCompleted()
      case .stop: return
      }
    }
    schedule()
  }

  private static var overflow: RequestError {
    RequestError(
      .overloaded, "The observer of the subscription is too slow: more values wait for it than its buffering allows.")
  }
}
