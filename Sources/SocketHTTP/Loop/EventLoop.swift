import Dispatch
import HTTPClientCore
import Streams
import SystemBase

/// A thread that waits for descriptors, timers and tasks, and runs their handlers one after the other.
///
/// Nothing that runs here may block or be user code.
///
/// `@unchecked Sendable`: `inbox` has a lock of its own, and `poller.wake` may be called on any thread; everything else
/// is used only on the loop's thread.
final class EventLoop: @unchecked Sendable {
  private struct Inbox {
    var tasks: [@Sendable () -> Void] = []
    /// Whether the loop waits, or is about to, and has to be woken.
    var isWaiting = false
    var isStopped = false
  }

  private struct Entry {
    var handler: (any LoopHandler)?
    var generation: UInt32 = 0
  }

  private let inbox = Locked(Inbox())
  private let poller: any Poller
  private let deliveries: DeliveryQueue
  /// The group of everything that has not ended: the loop itself, and its deliveries.
  private let unfinished: DispatchGroup
  private var gathering = Gathering()
  private var entries: [Entry] = []
  private var freeEntries: [Int] = []
  private var timers = Heap<LoopTimer>()
  private var lastTimer: UInt64 = 0
  private var alarm: LoopTimer?
  /// How many events and tasks this turn has had, and when the timers were last looked at in it.
  private var steps = 0
  private var lastLook: Instant?
  private var isRunning = true

  /// How many steps there may be before a look at the clock, and how long they may take before timers and deliveries
  /// have their turn: a handshake takes about 2 ms, and a turn may have hundreds.
  private static let longestRun = (steps: 8, time: Duration.milliseconds(5))

  /// The buffer that all connections of the loop read into, one at a time.
  let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)

  /// The loop is in the group from its start until it has ended and closed everything, and each delivery until it has
  /// run.
  init(poller: any Poller, unfinished: DispatchGroup) {
    self.poller = poller
    self.unfinished = unfinished
    deliveries = DeliveryQueue(unfinished: unfinished)
  }

  deinit {
    buffer.deallocate()
  }

  /// Starts the thread, which runs until `stop`. Throws if the system cannot create one, which Foundation's threads
  /// would not report.
  func start() throws(SystemError) {
    unfinished.enter()
    do throws(SystemError) {
      try startThread(named: "SocketTransport", stackSize: 512 << 10) { [self] in run() }
    } catch {
      unfinished.leave()
      throw error
    }
  }

  /// Runs a task on the loop soon, in order. Thread-safe. After the loop has ended, tasks are dropped.
  func submit(_ task: @escaping @Sendable () -> Void) {
    let mustWake = inbox.withLock { inbox in
      guard !inbox.isStopped else { return false }
      inbox.tasks.append(task)
      return exchange(&inbox.isWaiting, with: false)
    }
    if mustWake { poller.wake() }
  }

  private func run() {
    var events: [PollEvent] = []
    while isRunning {
      let patience = deliveries.flush()
      if let pause = gathering.takePause() { usleep(UInt32(pause / .microseconds(1))) }
      let mayWait = inbox.withLock { inbox in
        inbox.isWaiting = inbox.tasks.isEmpty
        return inbox.isWaiting
      }
      if mayWait {
        poller.wait(until: earlier(patience, timers.first?.instant), into: &events)
        inbox.withLock { $0.isWaiting = false }
      } else {
        poller.poll(into: &events)
      }
      (steps, lastLook) = (0, nil)
      for event in events {
        handler(of: event.token)?.ready(event)
        countStep()
      }
      runTimers()
      for task in inbox.withLock({ exchange(&$0.tasks, with: []) }) {
        task()
        countStep()
      }
    }
    for entry in entries { entry.handler?.loopStopped() }
    deliveries.close()
    // One by one, so that none believes that it is still in there.
    while let timer = timers.first { timers.remove(timer) }
    alarm = nil
    let dropped = inbox.withLock { inbox in
      inbox.isStopped = true
      return exchange(&inbox.tasks, with: [])
    }
    withExtendedLifetime(dropped) {}  // released here, not under the lock
    unfinished.leave()
  }

  // MARK: - On the loop's thread alone

  /// Ends the loop after the current turn; handlers that still have a descriptor close it.
  func stop() {
    isRunning = false
  }

  /// Runs a closure that may be user code, soon and on another thread; see ``DeliveryQueue``.
  func deliver(to mailbox: TaskMailbox?, _ action: @escaping @Sendable () -> Void) {
    deliveries.add(mailbox, action)
  }

  /// Records how long a response took, and how many exchanges are in flight; see ``Gathering``.
  func recordResponse(after time: Duration, of inFlight: Int) {
    gathering.recordResponse(after: time, of: inFlight)
  }

  /// Watches a socket on behalf of a handler.
  func register(_ socket: Socket, for handler: any LoopHandler) throws(SystemError) -> LoopToken {
    let index = freeEntries.popLast() ?? entries.endIndex
    if index == entries.endIndex { entries.append(Entry()) }
    entries[index].handler = handler
    let token = LoopToken(index: index, generation: entries[index].generation)
    do throws(SystemError) {
      try poller.add(socket.descriptor, token: token.rawValue)
    } catch {
      forget(token)
      throw error
    }
    return token
  }

  /// Sends further events to another handler.
  func hand(_ token: LoopToken, to handler: any LoopHandler) {
    guard self.handler(of: token.rawValue) != nil else { return }
    entries[token.index].handler = handler
  }

  /// Closes a socket. Events for it that are already pending are ignored.
  func close(_ socket: Socket, _ token: LoopToken) {
    forget(token)
    socket.close()
  }

  private func forget(_ token: LoopToken) {
    guard handler(of: token.rawValue) != nil else { return }
    entries[token.index] = Entry(handler: nil, generation: token.generation &+ 1)
    freeEntries.append(token.index)
  }

  private func handler(of rawToken: UInt64) -> (any LoopHandler)? {
    let token = LoopToken(rawValue: rawToken)
    guard entries.indices.contains(token.index), entries[token.index].generation == token.generation else { return nil }
    return entries[token.index].handler
  }

  // MARK: - Timers

  /// How many timers are set.
  var timerCount: Int { timers.count }

  /// Runs an action at `instant`; returns a timer to cancel it by.
  @discardableResult
  func schedule(at instant: Instant, _ action: @escaping () -> Void) -> LoopTimer {
    lastTimer += 1
    let timer = LoopTimer(instant, number: lastTimer, action)
    timers.insert(timer)
    return timer
  }

  /// Cancels a scheduled action, unless it has run.
  func cancel(_ timer: LoopTimer) {
    timers.remove(timer)
  }

  /// Sets the loop's only alarm, which runs its action at `instant`; does nothing if it is set to an earlier time.
  func lowerAlarm(to instant: Instant, _ action: @escaping () -> Void) {
    if let alarm, alarm.instant <= instant { return }
    if let alarm { cancel(alarm) }
    alarm = schedule(at: instant) { [unowned self] in
      alarm = nil
      action()
    }
  }

  private func runTimers() {
    guard let first = timers.first else { return }
    let now = Instant.now
    var next: LoopTimer? = first
    while let timer = next, timer.instant <= now {
      timers.remove(timer)
      timer.action()
      next = timers.first
    }
  }

  /// Lets timers and deliveries have their turn during a long one.
  private func countStep() {
    steps += 1
    guard steps.isMultiple(of: Self.longestRun.steps) else { return }
    let now = Instant.now
    guard now - (lastLook ?? now) >= Self.longestRun.time else {
      lastLook = lastLook ?? now
      return
    }
    runTimers()
    _ = deliveries.flush()
    lastLook = .now
  }
}

/// The owner of a descriptor on a loop; called on the loop's thread.
protocol LoopHandler: AnyObject {
  /// Something happened to the descriptor.
  func ready(_ event: PollEvent)

  /// The loop has ended: close the descriptor.
  func loopStopped()
}

/// A timer of a loop, used only on the loop's thread.
final class LoopTimer: HeapElement {
  let instant: Instant
  let action: () -> Void
  var place: Int?
  /// Tells apart timers of the same time, which fire in the order in which they were set.
  private let number: UInt64

  init(_ instant: Instant, number: UInt64, _ action: @escaping () -> Void) {
    self.instant = instant
    self.number = number
    self.action = action
  }

  func isBefore(_ other: LoopTimer) -> Bool { (instant, number) < (other.instant, other.number) }
}

/// Identifies a registration; a later registration with the same index has another generation.
struct LoopToken {
  let index: Int
  let generation: UInt32

  init(index: Int, generation: UInt32) {
    self.index = index
    self.generation = generation
  }

  init(rawValue: UInt64) {
    self.init(index: Int(rawValue & 0xFFFF_FFFF), generation: UInt32(rawValue >> 32))
  }

  var rawValue: UInt64 { UInt64(generation) << 32 | UInt64(index) }
}

/// Batches responses when many exchanges are in flight, so that one wake-up of the loop, and of each thread that it
/// wakes, serves several of them. This pays if a server responds one by one: for a short response, waking a thread each
/// time takes as long as everything else. With 64 requests in flight it saves a tenth of the processor time and of the
/// latency, with 256 a fifth and a quarter; below 8 nothing is gained.
///
/// The pause is a quarter of the shortest time that a response has taken since its request was sent, and at most
/// `longest`.
struct Gathering {
  static let longest = Duration.milliseconds(1)
  /// A shorter pause costs more than it saves.
  private static let shortest = Duration.microseconds(50)
  private static let fewest = 8

  private var quickest: Duration?

  /// Records how long a response took, and how many exchanges were in flight.
  mutating func recordResponse(after time: Duration, of inFlight: Int) {
    quickest = inFlight < Self.fewest ? .zero : min(quickest ?? time, time)
  }

  /// How long to pause, judging by the responses since the last call; `nil` for no pause.
  mutating func takePause() -> Duration? {
    guard let quickest else { return nil }
    self.quickest = nil
    if quickest < Self.shortest { return nil }
    let pause = min(quickest / 4, Self.longest)
    return pause < Self.shortest ? nil : pause
  }
}
