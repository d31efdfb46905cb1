import Dispatch
import Streams
import SystemBase
import Testing

/// A clock that moves only when a test says so.
private final class ManualClock: Clock {
  struct Instant: InstantProtocol {
    var offset = Duration.zero
    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private struct State {
    var now = Instant()
    var lastNumber = 0
    var sleepers: [Int: (deadline: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
    var cancelled: Set<Int> = []
  }

  private let state = Locked(State())
  /// Signalled when a sleep begins, and when one is cancelled.
  let began = DispatchSemaphore(value: 0)
  let ended = DispatchSemaphore(value: 0)
  private let ignoresCancellation: Bool

  init(ignoresCancellation: Bool = false) { self.ignoresCancellation = ignoresCancellation }

  var now: Instant { state.withLock { $0.now } }
  var minimumResolution: Duration { .nanoseconds(1) }
  var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    defer { ended.signal() }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let resumes = state.withLock { state -> Result<Void, any Error>? in
          if state.cancelled.contains(number) { return .failure(CancellationError()) }
          if deadline <= state.now { return .success(()) }
          state.sleepers[number] = (deadline, continuation)
          return nil
        }
        began.signal()
        if let resumes { continuation.resume(with: resumes) }
      }
    } onCancel: {
      if ignoresCancellation { return }
      let continuation = state.withLock { state in
        state.cancelled.insert(number)
        return state.sleepers.removeValue(forKey: number)?.continuation
      }
      continuation?.resume(throwing: CancellationError())
    }
  }

  func advance(by duration: Duration) {
    let due = state.withLock { state in
      state.now = state.now.advanced(by: duration)
      let due = state.sleepers.filter { $0.value.deadline <= state.now }
      for number in due.keys { state.sleepers[number] = nil }
      return due.values.sorted { $0.deadline < $1.deadline }.map(\.continuation)
    }
    for continuation in due { continuation.resume() }
  }
}

@Suite struct ClockSchedulerTests {
  private let clock = ManualClock()

  private func happens(_ semaphore: DispatchSemaphore) -> Bool { semaphore.wait(timeout: .now() + 20) == .success }

  @Test func `a delayed action runs when the clock has reached its time, and not before`() {
    let (scheduler, runs, done) = (ClockScheduler(clock), Counter(), DispatchSemaphore(value: 0))
    #expect(scheduler.now == .zero)
    _ = scheduler.schedule(after: .seconds(3)) {
      runs.increment()
      done.signal()
    }
    #expect(happens(clock.began))
    clock.advance(by: .seconds(2))
    #expect(scheduler.now == .seconds(2))
    #expect(clock.sleeperCount == 1)
    #expect(runs.count == 0)
    clock.advance(by: .seconds(1))
    #expect(happens(done))
    #expect(runs.count == 1)
    #expect(clock.sleeperCount == 0)
  }

  @Test func `a delay of zero or less waits for no clock`() {
    let done = DispatchSemaphore(value: 0)
    for delay in [Duration.zero, .seconds(-1)] {
      _ = ClockScheduler(clock).schedule(after: delay) { done.signal() }
      #expect(happens(done))
    }
    #expect(clock.sleeperCount == 0)
  }

  @Test(arguments: [Duration(attoseconds: .max), .seconds(Int64.max)])
  func `a delay of more than a hundred years is one of a hundred years`(_ delay: Duration) {
    clock.advance(by: .seconds(1))
    let done = DispatchSemaphore(value: 0)
    _ = ClockScheduler(clock).schedule(after: delay) { done.signal() }
    #expect(happens(clock.began))
    clock.advance(by: .seconds(3_155_759_999))
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(1))
    #expect(happens(done))
  }

  @Test func `37: a disposed action does not run, and its sleep is cancelled`() {
    let (scheduler, runs) = (ClockScheduler(clock), Counter())
    let action = scheduler.schedule(after: .seconds(1)) { runs.increment() }
    #expect(happens(clock.began))
    action.dispose()
    action.dispose()
    #expect(happens(clock.ended))
    #expect(clock.sleeperCount == 0)
    clock.advance(by: .seconds(2))
    #expect(runs.count == 0)
  }

  @Test func `a disposed action is released at once, even if the clock does not end its sleep`() {
    let clock = ManualClock(ignoresCancellation: true)
    weak var inAction: Token?
    let action: any Disposable
    do {
      let token = Token()
      inAction = token
      action = ClockScheduler(clock).schedule(after: .seconds(1)) { token.touch() }
    }
    #expect(happens(clock.began))
    #expect(inAction != nil)
    action.dispose()
    #expect(inAction == nil)
    clock.advance(by: .seconds(1))
    #expect(happens(clock.ended))
  }

  @Test func `36: a timeout by a clock fails when the clock says so, and leaves no sleep behind`() {
    let (probe, subject, done) = (Probe<Int>(), PublishSubject<Int>(), DispatchSemaphore(value: 0))
    _ = subject.asObservable().timeout(.seconds(2), scheduler: ClockScheduler(clock))
      .do(onDispose: { done.signal() }).subscribe(probe)
    #expect(happens(clock.began))
    clock.advance(by: .seconds(1))
    subject.onNext(1)
    clock.advance(by: .seconds(1))
    // The time restarted with the element: the timer waits for the rest of it.
    #expect(happens(clock.began))
    #expect(probe.log == ["1"])
    clock.advance(by: .seconds(1))
    #expect(happens(done))
    // The probe may still be about to hear of its disposal.
    #expect(probe.log.prefix(2) == ["1", "x"])
    #expect(clock.sleeperCount == 0)
  }

  @Test func `a scheduler takes the clocks of the standard library`() {
    let done = DispatchSemaphore(value: 0)
    let schedulers: [any Scheduler] = [ClockScheduler(ContinuousClock()), ClockScheduler(SuspendingClock())]
    for scheduler in schedulers {
      let start = scheduler.now
      let longest = scheduler.schedule(after: Duration(attoseconds: .max)) {}
      defer { longest.dispose() }
      _ = scheduler.schedule(after: .milliseconds(5)) { done.signal() }
      #expect(happens(done))
      #expect(scheduler.now - start >= .milliseconds(5))
    }
  }

  @Test func `38: a stream observed on a clock's scheduler keeps its order, one element at a time`() {
    let (probe, done, count) = (Probe<Int>(), DispatchSemaphore(value: 0), 1_000)
    _ = Observable.from(0..<count).observe(on: ClockScheduler(ContinuousClock()))
      .do(onDispose: { done.signal() }).subscribe(probe)
    #expect(happens(done))
    #expect(probe.elements == Array(0..<count))
    #expect(probe.overlaps == 0)
    #expect(probe.terminals == 1)
  }
}
