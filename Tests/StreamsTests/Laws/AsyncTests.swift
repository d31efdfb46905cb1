import Foundation
import Streams
import Synchronization
import SystemBase
import TestSupport
import Testing

/// Laws 39 to 43.
@Suite struct AsyncTests {
  @Test func `39: asSingle is exactly one element or an error`() {
    #expect(Observable.just(1).asSingle().recorded() == ["1", "|", "."])
    #expect(Observable<Int>.empty().asSingle().recorded() == ["x", "."])
    #expect(Observable.from([1, 2]).asSingle().recorded() == ["x", "."])
    #expect(Observable<Int>.error(Broken()).asSingle().recorded() == ["x", "."])
    #expect(Observable.from(1...).asSingle().recorded() == ["x", "."])
    #expect(Observable<Int?>.just(nil).asSingle().recorded() == ["nil", "|", "."])
  }

  @Test func `40: value is the first element, or the error`() async throws {
    #expect(try await Observable.from(1...).value == 1)
    #expect(try await Observable.async { 7 }.value == 7)
    await #expect(throws: StreamError.noElements) { try await Observable<Int>.empty().value }
    await #expect(throws: Broken.self) { try await Observable<Int>.error(Broken()).value }
    await #expect(throws: Broken.self) { try await Observable<Int>.async { throw Broken() }.value }
  }

  @Test func `40: value resumes once, though cancelling races it, and disposes upstream`() async {
    for _ in 0..<500 {
      let teardowns = Counter()
      let observers = Locked<AnyObserver<Int>?>(nil)
      let source = Observable<Int>.create { observer in
        observers.withLock { $0 = observer }
        return Disposables.create { teardowns.increment() }
      }
      let task = Task { try await source.value }
      let racer = Task {
        while observers.withLock({ $0 == nil }) && !task.isCancelled { await Task.yield() }
        observers.withLock { $0 }?.onNext(1)
      }
      await Task.yield()
      task.cancel()
      let result = await task.result
      await racer.value
      switch result {
      case .success(let value): #expect(value == 1)
      case .failure(let error): #expect(error is CancellationError)
      }
      if observers.withLock({ $0 != nil }) { #expect(teardowns.count == 1) }
    }
  }

  @Test func `40: cancelling the task disposes upstream and throws`() async {
    let (subscribed, disposed) = (DispatchSemaphore(value: 0), Counter())
    let source = Observable<Int>.create { _ in
      subscribed.signal()
      return Disposables.create { disposed.increment() }
    }
    let task = Task { try await source.value }
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        subscribed.wait()
        continuation.resume()
      }
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(disposed.count == 1)
  }

  @Test func `40: a task that is cancelled already does not subscribe`() async {
    let runs = Counter()
    let source = Observable<Int>.deferred {
      runs.increment()
      return .just(1)
    }
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await source.value
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(runs.count == 0)
  }

  @Test func `41: leaving the loop disposes`() async throws {
    let disposed = Counter()
    let source = Observable.from(1...).take(100).concat(.never()).do(onDispose: { disposed.increment() })
    let values = source.values(bufferingPolicy: .unbounded)
    var received: [Int] = []
    for try await value in values {
      received.append(value)
      if value == 3 { break }
    }
    #expect(received == [1, 2, 3])
    #expect(disposed.count == 1)
  }

  @Test func `41: elements are not lost without a policy`() async throws {
    var received: [Int] = []
    for try await element in Observable.from(1...10_000).values { received.append(element) }
    #expect(received == Array(1...10_000))
    let values = Observable.just(1).values
    #expect(try await values.first { _ in true } == 1)
  }

  @Test func `41: the caller names the bound and which elements are dropped`() async throws {
    let source = Observable.from(1...10)
    func all(_ policy: BufferingPolicy) async throws -> [Int] {
      try await source.values(bufferingPolicy: policy).reduce(into: []) { $0.append($1) }
    }
    #expect(try await all(.unbounded) == Array(1...10))
    #expect(try await all(.bufferingOldest(3)) == [1, 2, 3])
    #expect(try await all(.bufferingNewest(3)) == [8, 9, 10])
  }

  @Test func `41: the stream's error is thrown after its elements, and each loop is a subscription`() async {
    let runs = Counter()
    let values = Observable.from(1...2).concat(.error(Broken())).do(onSubscribe: { runs.increment() })
      .values(bufferingPolicy: .unbounded)
    for _ in 1...2 {
      var received: [Int] = []
      await #expect(throws: Broken.self) {
        for try await value in values { received.append(value) }
      }
      #expect(received == [1, 2])
    }
    #expect(runs.count == 2)
  }

  @Test func `41: cancelling the task ends the loop and disposes`() async {
    let disposed = Counter()
    let subject = BehaviorSubject(value: 1)
    let source = subject.asObservable().do(onDispose: { disposed.increment() })
    let task = Task {
      for try await _ in source.values(bufferingPolicy: .unbounded) { withUnsafeCurrentTask { $0?.cancel() } }
    }
    _ = await task.result
    #expect(disposed.count == 1)
  }

  @Test(arguments: [BufferingPolicy.unbounded, .bufferingOldest(100), .bufferingNewest(100)])
  func `41: a cancelled task gets no more, whatever was taken for it already`(_ policy: BufferingPolicy) async {
    let received = Counter()
    let task = Task {
      for try await _ in Observable.from(1...100).values(bufferingPolicy: policy) {
        received.increment()
        withUnsafeCurrentTask { $0?.cancel() }
      }
    }
    _ = await task.result
    #expect(received.count == 1)
  }

  @Test func `41: elements are not lost on the way from threads to a task`() async throws {
    let subject = PublishSubject<Int>()
    var iterator = subject.asObservable().values(bufferingPolicy: .unbounded).makeAsyncIterator()
    Thread.detachNewThread {
      #expect(throws: Never.self) {
        try race { thread in
          for index in 0..<(raceEvents / 8) { subject.onNext(thread * raceEvents + index) }
        }
      }
      subject.onCompleted()
    }
    var received: [[Int]] = Array(repeating: [], count: 8)
    while let element = try await iterator.next() { received[element / raceEvents].append(element % raceEvents) }
    #expect(received == Array(repeating: Array(0..<(raceEvents / 8)), count: 8))
  }

  @Test(arguments: [BufferingPolicy.bufferingOldest(10), .bufferingNewest(10), .bufferingNewest(0)])
  func `41: a stalled task's buffer stays within its bound`(_ policy: BufferingPolicy) async throws {
    let alive = Counter()
    let subject = PublishSubject<Tracked>()
    let iterator = subject.asObservable().values(bufferingPolicy: policy).makeAsyncIterator()
    for _ in 0..<1000 { subject.onNext(Tracked(alive)) }
    #expect(alive.count <= 10)
    withExtendedLifetime(iterator) {}
  }

  @Test func `41: one that is waited for arrives, even without a buffer`() async throws {
    let subject = PublishSubject<Int>()
    var iterator = subject.asObservable().values(bufferingPolicy: .bufferingOldest(0)).makeAsyncIterator()
    let stop = Atomic(false)
    Thread.detachNewThread {
      while !stop.load(ordering: .relaxed) { subject.onNext(1) }
    }
    #expect(try await iterator.next() == 1)
    stop.store(true, ordering: .relaxed)
  }

  @Test func `41: an element that is dropped may call in from its deinit`() async throws {
    let subject = PublishSubject<Tracked>()
    let calls = Counter()
    let iterator = subject.asObservable().values(bufferingPolicy: .bufferingNewest(1)).makeAsyncIterator()
    let isFree = returns {
      for _ in 0..<3 { subject.onNext(Tracked(calls) { if calls.count < 9 { subject.onNext(Tracked(calls)) } }) }
    }
    #expect(isFree)
    withExtendedLifetime(iterator) {}
  }

  @Test func `41: a loop over a stream that dropped its observer waits until its task is cancelled`() async throws {
    let (subscribed, disposed) = (Latch(), Counter())
    let source = Observable<Int>.create { _ in
      subscribed.open()
      return Disposables.create { disposed.increment() }
    }
    let task = Task {
      for try await _ in source.values { Issue.record("an element") }
    }
    try await subscribed.wait()
    #expect(disposed.count == 0)
    task.cancel()
    try await task.value
    #expect(disposed.count == 1)
  }

  @Test func `42: disposing async cancels its task`() async {
    let probe = Probe<Int>()
    await withCheckedContinuation { continuation in
      let handle = Handle()
      let (started, cancelled) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let source = Observable<Int>.async {
        started.signal()
        while !Task.isCancelled { await Task.yield() }
        cancelled.signal()
        return 1
      }
      handle.set(source.subscribe(probe))
      Thread.detachNewThread {
        started.wait()
        handle.dispose()
        cancelled.wait()
        continuation.resume()
      }
    }
    #expect(probe.log == ["."])
  }

  @MainActor @Test func `43: closures written on the main actor run elsewhere without a trap`() async throws {
    let thread = Locked(true)
    let result = try await Observable.from(1...3)
      .observe(on: SerialScheduler(queue: DispatchQueue(label: "elsewhere")))
      .do(onNext: { _ in thread.withLock { $0 = Thread.isMainThread } })
      .map { $0 + 1 }.filter { $0 > 2 }.scan(0) { $0 + $1 }.flatMap { .just($0) }.value
    #expect(result == 3)
    #expect(thread.withLock { $0 } == false)
  }
}

extension AsyncTests {
  /// One of each closure that an operator takes, written on the main actor.
  @MainActor private static var onMainActor: [Observable<Int>] {
    let elsewhere = SerialScheduler(queue: DispatchQueue(label: "elsewhere"))
    let source = Observable.from(1...3).subscribe(on: elsewhere)
    let failing = source.concat(.error(Broken()))
    return [
      source.compactMap { $0 }, source.distinctUntilChanged { $0 == $1 }, source.distinctUntilChanged(),
      source.do(onNext: { _ in }, onCompleted: {}, onSubscribe: {}, onDispose: {}),
      failing.do(onError: { _ in }).catch { _ in source }, failing.catch { throw $0 }.catchAndReturn(3),
      failing.retry(when: RetryPolicy { attempt, _ in attempt < 2 ? .milliseconds(1) : nil }, scheduler: elsewhere)
        .catchAndReturn(3),
      failing.retry(when: .immediate(attempts: 2).retrying { _ in true }, scheduler: elsewhere).catchAndReturn(3),
      source.concatMap { .just($0) }, source.flatMapLatest { .just($0) },
      Observable.zip(source, source) { $1 }, Observable.zip(source, source, source) { $2 },
      Observable.zip(source, source, source, source) { $3 },
      Observable.combineLatest(source, .just(0)) { one, _ in one },
      Observable.combineLatest(source, .just(0), .just(0)) { one, _, _ in one },
      Observable.combineLatest(source, .just(0), .just(0), .just(0)) { one, _, _, _ in one },
      source.withLatestFrom(Observable.just(0)) { one, _ in one },
      Observable.create { observer in
        let upstream = source.subscribe(onNext: { observer.onNext($0) }, onCompleted: { observer.onCompleted() })
        return Disposables.create { upstream.dispose() }
      }.subscribe(on: elsewhere),
      Observable.deferred { source }.subscribe(on: elsewhere), .async { 3 },
    ]
  }

  @MainActor @Test(.timeLimit(.minutes(1)))
  func `43: closures of every operator written on the main actor run elsewhere without a trap`() async throws {
    for stream in Self.onMainActor {
      var last: Int?
      for try await element in stream.values { last = element }
      #expect(last == 3)
    }
  }
}

/// Counts its live instances.
private final class Tracked: Sendable {
  private let alive: Counter
  private let onDeinit: @Sendable () -> Void

  init(_ alive: Counter, onDeinit: @escaping @Sendable () -> Void = {}) {
    self.alive = alive
    self.onDeinit = onDeinit
    alive.increment()
  }

  deinit {
    alive.decrement()
    onDeinit()
  }
}
