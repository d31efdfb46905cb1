import HTTPClientCore
import HTTPMiddlewares
import Streams
import SystemBase

/// Makes connections of one kind to one server.
protocol LiveDialler: Sendable {
  var traits: LiveTraits { get }

  /// Notifies of the transport's shutdown; `nil` if the transport does not.
  var shutdown: (any ShutdownNotifying)? { get }

  /// Whose connections they are.
  var credentials: LiveCredentials { get }

  /// The secrets of all that goes out on its connections.
  var sent: SentSecrets { get }

  /// Returns a cold stream of one attempt and the connection that comes of it. It ends with `lost`, and may fail or
  /// complete, which counts as lost, too. Disposing it closes the connection. With `refreshingToken`, the token of the
  /// last attempt was rejected; what came last had the identifier `position`.
  func dial(refreshingToken: Bool, after position: String?) -> Observable<LiveChannelEvent>
}

/// Carries operations on one connection at a time, which it makes when it is needed, as a ``LiveMachine`` decides.
///
/// All inputs go through one inbox, which one thread at a time works off:
///
/// - Callers and timers add to it and return. A worker, which is scheduled while there is work, takes it from there.
/// - The thread that brings what a connection reads works it off itself, unless another thread does; then it waits once
///   more of the connection's than ``LiveIntake/limit`` is in the inbox. So nothing is read faster than it is dealt with.
///
/// So the machine needs no lock, its actions are carried out in order, and nothing is called under a lock. Nothing that is
/// called here waits: an observer is called from behind a ``LiveBacklog``, or by a ``LiveOutlet``, when the work is done.
final class LiveConnection: Sendable {
  private enum Input: Sendable {
    case machine(LiveMachine.Input)
    case channel(LiveChannelEvent, generation: Int, LiveIntake)
    case open(Int, LiveOperation, Receiver)
    case close(Int)
    case wake
    case signOut
    case shutDown(done: @Sendable () -> Void)
  }

  /// How an operation's events reach its observer.
  private enum Receiver: Sendable {
    /// By a queue of the observer's.
    case queue(LiveQueue)
    /// By one that the connection waits for.
    case outlet(LiveOutlet)

    func append(_ event: LiveEvent<Data>) {
      switch self {
      case .queue(let queue): queue.append(event)
      case .outlet(let outlet): outlet.append(event)
      }
    }

    func end(_ error: RequestError?) {
      switch self {
      case .queue(let queue): queue.end(error)
      case .outlet(let outlet): outlet.end(error)
      }
    }
  }

  private struct Inbox {
    var waiting = Fifo<Input>()
    var isWorking = false
    var isScheduled = false
    var lastNumber = 0
    var openCount = 0
    /// Whether it has neither a connection nor any use for one.
    var isAtRest = true
    /// The outlet of the operation that has the connection to itself, and an observer that is waited for.
    var outlet: LiveOutlet?

    /// Whether a worker has to be scheduled, which then counts as scheduled.
    mutating func needsWorker() -> Bool {
      guard !waiting.isEmpty, !isWorking, !isScheduled else { return false }
      isScheduled = true
      return true
    }
  }

  /// What only the thread that works may touch.
  ///
  /// `@unchecked Sendable`: ``LiveConnection/work(isScheduled:)`` lets one thread in at a time.
  private final class Work: @unchecked Sendable {
    var machine: LiveMachine
    var operations: [Int: (operation: LiveOperation, receiver: Receiver)] = [:]
    var channel: (any LiveChannel)?
    var attempt: DisposeBag?
    var intake: LiveIntake?
    var wake: (at: Duration, timer: any Disposable)?
    var isAtRest = true

    init(_ machine: LiveMachine) { self.machine = machine }
  }

  private let dialler: any LiveDialler
  private let scheduler: any Scheduler
  private let inbox = Locked(Inbox())
  private let work: Work
  private let notices = DisposeBag()

  init(_ dialler: some LiveDialler, _ settings: LiveSettings, scheduler: any Scheduler) {
    self.dialler = dialler
    self.scheduler = scheduler
    work = Work(LiveMachine(LiveSupervisor(settings, dialler.traits)))
    notices.insert(dialler.credentials.signOuts { [weak self] in self?.send(.signOut) })
    guard let transport = dialler.shutdown else { return }
    notices.insert(
      transport.onShutdown { [weak self] done in
        if let self { send(.shutDown(done: done)) } else { done() }
      })
  }

  deinit {
    work.wake?.timer.dispose()
    work.intake?.close()
    work.attempt?.dispose()
  }

  /// Whether it has neither operations nor a connection.
  var isAtRest: Bool { inbox.withLock { $0.isAtRest && $0.openCount == 0 } }

  /// Whether its account has signed out, so that it carries no further operation.
  var hasSignedOut: Bool { dialler.credentials.hasSignedOut }

  /// Takes note of the current token, and ends with the account if it is another's.
  func note(_ token: AccessToken?) {
    if dialler.credentials.noteCurrent(token) { send(.signOut) }
  }

  /// Takes the place of one operation; returns false if so many are taken already, or the account has signed out.
  func reserve(upTo limit: Int = .max) -> Bool {
    if hasSignedOut { return false }
    return inbox.withLock { inbox in
      guard inbox.openCount < limit else { return false }
      inbox.openCount += 1
      return true
    }
  }

  /// Runs an operation, in the place that was reserved for it; see ``LiveTransport/open(_:on:)``.
  func run(_ operation: LiveOperation, _ observer: AnyObserver<LiveEvent<Data>>) -> any Disposable {
    let number = inbox.withLock { inbox in
      inbox.lastNumber += 1
      return inbox.lastNumber
    }
    let place = Disposables.create {
      self.send(.close(number))
      // Only now: the operation that takes the place is sent behind the end of this one.
      self.inbox.withLock { $0.openCount -= 1 }
    }
    // What an observer has not taken by the time its account signs out, it does not get, also if the connection has ended
    // before that.
    let cancellation: @Sendable () -> RequestError? = { [credentials = dialler.credentials, notices] in
      let hasSignedOut = withExtendedLifetime(notices) { credentials.hasSignedOut }
      return hasSignedOut ? LiveCredentials.signedOut.named(operation.request.operationName) : nil
    }
    operation.request.context.sent?.include(dialler.sent)
    if operation.buffering == .suspend {
      let outlet = LiveOutlet(observer, cancellation: cancellation)
      inbox.withLock { $0.outlet = outlet }
      send(.open(number, operation, .outlet(outlet)))
      return Disposables.create {
        outlet.dispose()
        place.dispose()
      }
    }
    let queue = LiveQueue(operation.buffering, scheduler, observer, cancellation: cancellation)
    queue.attach(place)
    send(.open(number, operation, .queue(queue)))
    return Disposables.create { queue.dispose() }
  }

  // MARK: - The inbox

  /// Adds an input for the worker.
  private func send(_ input: Input) {
    let needsWorker = inbox.withLock { inbox in
      inbox.waiting.append(input)
      return inbox.needsWorker()
    }
    if needsWorker { schedule() }
  }

  /// Takes what a connection has read, on the thread that read it.
  private func receive(_ event: LiveChannelEvent, _ generation: Int, _ intake: LiveIntake) {
    intake.add(event.size)
    inbox.withLock { $0.waiting.append(.channel(event, generation: generation, intake)) }
    work(isScheduled: false)
    intake.wait()
  }

  private func schedule() {
    _ = scheduler.schedule { self.work(isScheduled: true) }
  }

  /// Works off what is in the inbox, unless another thread does, and leaves what comes meanwhile to a worker.
  private func work(isScheduled: Bool) {
    let count = inbox.withLock { inbox in
      if isScheduled { inbox.isScheduled = false }
      guard !inbox.isWorking else { return 0 }
      inbox.isWorking = !inbox.waiting.isEmpty
      return inbox.waiting.count
    }
    for _ in 0..<count {
      if let input = inbox.withLock({ $0.waiting.popFirst() }) { handle(input) }
    }
    let (needsWorker, outlet) = inbox.withLock { inbox in
      if count > 0 { inbox.isWorking = false }
      return (inbox.needsWorker(), inbox.outlet)
    }
    if needsWorker { schedule() }
    outlet?.deliver()
  }

  private func handle(_ input: Input) {
    switch input {
    case .open(let number, let operation, let receiver):
      work.operations[number] = (operation, receiver)
      run(.add(number, isReplayable: operation.request.isReplayable, size: operation.request.body?.count ?? 0))
    case .close(let number):
      guard work.operations[number] != nil else { return }
      run(.remove(number))
      work.operations[number] = nil
    case .wake:
      work.wake = nil
      run(.tick)
    case .signOut: run(.stop(LiveCredentials.signedOut))
    case .shutDown(let done):
      run(
        .stop(
          RequestError(
            .connectionLost, "The transport was shut down, and with it the subscription.", cause: TransportShutdown())))
      done()
    case .channel(let event, let generation, let intake):
      if case .message(.next) = event, dialler.credentials.noteSignOut() { run(.stop(LiveCredentials.signedOut)) }
      if case .opened(let channel, _) = event, work.machine.supervisor.isDialling(generation) { work.channel = channel }
      run(.channel(generation: generation, event))
      let outlet = inbox.withLock { $0.outlet }
      if outlet?.hold(intake, event.size) != true { intake.remove(event.size) }
    case .machine(let input): run(input)
    }
  }

  // MARK: - The machine

  private func run(_ input: LiveMachine.Input) {
    for action in work.machine.handle(input, at: scheduler.now) { perform(action) }
    setTimer()
    let isAtRest = work.machine.isAtRest
    if isAtRest != work.isAtRest { inbox.withLock { $0.isAtRest = isAtRest } }
    work.isAtRest = isAtRest
  }

  private func perform(_ action: LiveMachine.Action) {
    switch action {
    case .dial(let generation, let refreshingToken, let position):
      dial(generation, refreshingToken: refreshingToken, after: position)
    case .send(let message): send(message)
    case .closeChannel(let code): work.channel?.close(code: code)
    case .dropChannel(let code):
      work.channel?.close(code: code)
      work.channel = nil
      work.intake?.close()
      work.intake = nil
      work.attempt?.dispose()
      work.attempt = nil
    case .deliver(let number, let event):
      guard let (operation, receiver) = work.operations[number] else { return }
      receiver.append(event.named(operation.request.operationName))
    case .end(let number, let error):
      guard let (operation, receiver) = work.operations.removeValue(forKey: number) else { return }
      receiver.end(error?.named(operation.request.operationName))
    }
  }

  private func send(_ message: LiveClientMessage) {
    var body = Data()
    if case .subscribe(_, let number) = message { body = work.operations[number]?.operation.request.body ?? body }
    do throws(RequestError) {
      try work.channel?.send(message, body: body)
    } catch {
      let generation = work.machine.supervisor.generation
      let input: LiveMachine.Input =
        switch message {
        // Others on the connection do not share the mistake.
        case .subscribe(let id, _) where error.kind == .invalidRequest:
          .channel(generation: generation, .message(.failed(id: id, LiveFailure(error))))
        case .subscribe(_, let number): .notSent(number, generation: generation, error)
        default: .channel(generation: generation, .lost(LiveFailure(error)))
        }
      send(.machine(input))
    }
  }

  private func dial(_ generation: Int, refreshingToken: Bool, after position: String?) {
    let (attempt, intake) = (
      DisposeBag(), LiveIntake(limit: inbox.withLock { $0.outlet == nil } ? LiveIntake.usual : 0)
    )
    (work.attempt, work.intake) = (attempt, intake)
    let report: @Sendable (LiveChannelEvent) -> Void = { [weak self] event in self?.receive(event, generation, intake) }
    // On the scheduler, since it may call the user's code: the provider of tokens, and what makes URLs and headers.
    attempt.insert(
      scheduler.schedule { [dialler, weak attempt] in
        guard let attempt, !attempt.isDisposed else { return }
        attempt.insert(
          dialler.dial(refreshingToken: refreshingToken, after: position).subscribe(
            onNext: report, onError: { report(.lost(LiveFailure(RequestError(wrapping: $0)))) },
            onCompleted: { report(.lost(.ended)) }))
      })
  }

  /// Replaces the timer only if it would be late; if it is early, the machine finds nothing to do.
  private func setTimer() {
    guard let due = work.machine.nextWake else { return }
    if let wake = work.wake, wake.at <= due { return }
    work.wake?.timer.dispose()
    let delay = max(due - scheduler.now, .zero)
    let timer = scheduler.schedule(after: delay) { [weak self] in self?.send(.wake) }
    work.wake = (due, timer)
  }
}

extension LiveEvent<Data> {
  /// With the operation's name in its error, unless that has one.
  fileprivate func named(_ operationName: String?) -> Self {
    guard case .disconnected(let error, let pause) = self else { return self }
    return .disconnected(error.named(operationName), retryAfter: pause)
  }
}
