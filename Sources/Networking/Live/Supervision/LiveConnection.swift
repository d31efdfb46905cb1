import HTTP
import Platform
import Streams

/// Makes connections of one kind to one server.
protocol LiveDialler: Sendable {
  var traits: LiveTraits { get }

  /// Notifies of the transport's shutdown; `nil` if the transport does not.
  var shutdown: (any ShutdownNotifying)? { get }

  /// Returns a cold stream of one attempt and the connection that comes of it. It ends with `lost`, and may fail or
  /// complete, which counts as lost, too. Disposing it closes the connection. With `refreshingToken`, the token of the
  /// last attempt was rejected.
  func dial(refreshingToken: Bool) -> Observable<LiveLineEvent>
}

/// Carries operations on one connection at a time, which it makes when it is needed, as a ``LiveMachine`` decides.
///
/// All inputs go through one queue, and a thread that adds one to an idle queue works the queue off. So the machine needs
/// no lock, its actions are carried out in order, and nothing is called under a lock. Nothing that is called here waits:
/// observers are called from behind a ``LiveBacklog``.
final class LiveConnection: Sendable {
  private enum Input: Sendable {
    case machine(LiveMachine.Input)
    case open(Int, LiveOperation, AnyObserver<LiveEvent<Data>>)
    case close(Int)
    case wake
    case shutDown(done: @Sendable () -> Void)
  }

  /// What only the thread that works the queue off may touch.
  ///
  /// `@unchecked Sendable`: ``LiveConnection/send(_:)`` lets one thread in at a time.
  private final class Work: @unchecked Sendable {
    var machine: LiveMachine
    var operations: [Int: (operation: LiveOperation, observer: AnyObserver<LiveEvent<Data>>)] = [:]
    var line: (any LiveLine)?
    var attempt: DisposeBag?
    var wake: (at: Duration, timer: any Disposable)?

    init(_ machine: LiveMachine) { self.machine = machine }
  }

  private let dialler: any LiveDialler
  private let scheduler: any Scheduler
  private let inputs = Locked((waiting: Fifo<Input>(), isBusy: false, lastNumber: 0, openCount: 0))
  private let work: Work
  private let shutdown = DisposeBag()

  init(_ dialler: some LiveDialler, _ settings: LiveSettings, scheduler: any Scheduler) {
    self.dialler = dialler
    self.scheduler = scheduler
    work = Work(LiveMachine(LiveSupervisor(settings, dialler.traits)))
    guard let transport = dialler.shutdown else { return }
    shutdown.insert(
      transport.onShutdown { [weak self] done in
        if let self { send(.shutDown(done: done)) } else { done() }
      })
  }

  deinit {
    work.wake?.timer.dispose()
    work.attempt?.dispose()
  }

  /// Whether it has no operations.
  var isUnused: Bool { inputs.withLock { $0.openCount == 0 } }

  /// Takes the place of one operation; returns false if so many are taken already.
  func reserve(upTo limit: Int = .max) -> Bool {
    inputs.withLock { inputs in
      guard inputs.openCount < limit else { return false }
      inputs.openCount += 1
      return true
    }
  }

  /// Runs an operation, in the place that was reserved for it; see ``LiveTransport/open(_:on:)``.
  func run(_ operation: LiveOperation, _ observer: AnyObserver<LiveEvent<Data>>) -> any Disposable {
    let number = inputs.withLock { inputs in
      inputs.lastNumber += 1
      return inputs.lastNumber
    }
    send(.open(number, operation, observer))
    return Disposables.create {
      self.send(.close(number))
      // Only now: the operation that takes the place is sent behind the end of this one.
      self.inputs.withLock { $0.openCount -= 1 }
    }
  }

  private func send(_ input: Input) {
    let isFirst = inputs.withLock { inputs in
      inputs.waiting.append(input)
      defer { inputs.isBusy = true }
      return !inputs.isBusy
    }
    guard isFirst else { return }
    while let input = next() { handle(input) }
  }

  private func next() -> Input? {
    inputs.withLock { inputs in
      let input = inputs.waiting.popFirst()
      if input == nil { inputs.isBusy = false }
      return input
    }
  }

  private func handle(_ input: Input) {
    switch input {
    case .open(let number, let operation, let observer):
      work.operations[number] = (operation, observer)
      run(.add(number, isReplayable: operation.request.isReplayable, size: operation.request.body?.count ?? 0))
    case .close(let number):
      guard work.operations[number] != nil else { return }
      run(.remove(number))
      work.operations[number] = nil
    case .wake:
      work.wake = nil
      run(.tick)
    case .shutDown(let done):
      run(.shutDown)
      done()
    case .machine(let input):
      if case .line(let generation, .opened(let line, _)) = input, work.machine.supervisor.isDialling(generation) {
        work.line = line
      }
      run(input)
    }
  }

  private func run(_ input: LiveMachine.Input) {
    for action in work.machine.handle(input, at: scheduler.now) { perform(action) }
    setTimer()
  }

  private func perform(_ action: LiveMachine.Action) {
    switch action {
    case .dial(let generation, let refreshingToken): dial(generation, refreshingToken: refreshingToken)
    case .send(let message):
      var body = Data()
      if case .subscribe(_, let number) = message { body = work.operations[number]?.operation.request.body ?? body }
      do throws(RequestError) {
        try work.line?.send(message, body: body)
      } catch {
        let generation = work.machine.supervisor.generation
        if error.kind == .invalidRequest, case .subscribe(let id, _) = message {
          // Others on the connection do not share the mistake.
          send(.machine(.line(generation: generation, .message(.failed(id: id, LiveFailure(error))))))
        } else {
          send(.machine(.line(generation: generation, .lost(LiveFailure(error)))))
        }
      }
    case .closeLine(let code): work.line?.close(code: code)
    case .dropLine(let code):
      work.line?.close(code: code)
      work.line = nil
      work.attempt?.dispose()
      work.attempt = nil
    case .deliver(let number, let event): work.operations[number]?.observer.onNext(event)
    case .end(let number, let error):
      let observer = work.operations.removeValue(forKey: number)?.observer
      if let error { observer?.onError(error) } else { observer?.onCompleted() }
    }
  }

  private func dial(_ generation: Int, refreshingToken: Bool) {
    let attempt = DisposeBag()
    work.attempt = attempt
    let report: @Sendable (LiveLineEvent) -> Void = { [weak self] event in
      self?.send(.machine(.line(generation: generation, event)))
    }
    // On the scheduler, since it may call the user's code: the provider of tokens, and what makes URLs and headers.
    attempt.insert(
      scheduler.schedule { [dialler, weak attempt] in
        guard let attempt, !attempt.isDisposed else { return }
        attempt.insert(
          dialler.dial(refreshingToken: refreshingToken).subscribe(
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
