import Foundation
import Streams
import SystemBase
import TestSupport
import Testing

/// Laws 17, 25 and 26.
@Suite struct StackTests {
  static let many = 100_000

  @Test func `17: finished inner streams and attempts leave nothing behind`() async {
    // In a process of its own: what other tests do with memory does not show.
    await #expect(processExitsWith: .success) {
      endProcess()
      let subject = PublishSubject<Int>()
      let inner = Observable<Int>.create { observer in
        observer.onNext(1)
        observer.onCompleted()
        return Disposables.create {}
      }
      let failing = Observable<Int>.create { observer in
        let upstream = subject.asObservable().subscribe(onNext: { _ in observer.onError(Broken()) })
        return Disposables.create { upstream.dispose() }
      }
      let streams = [
        subject.asObservable().flatMap { _ in inner }, subject.asObservable().flatMapLatest { _ in inner },
        subject.asObservable().concatMap { _ in inner }, failing.retry(),
        subject.asObservable().observe(on: ImmediateScheduler()), onAndOn(subject), againAndAgain(subject),
      ]
      let subscription = Disposables.create(streams.map { $0.subscribe(onNext: { _ in }) })
      for index in 0..<1000 { subject.onNext(index) }
      let before = try #require(ProcessUsage.current).memory
      for index in 0..<StackTests.many { subject.onNext(index) }
      let growth = try #require(ProcessUsage.current).memory - before
      subscription.dispose()
      if growth > 2 << 20 && !isSanitized {
        FileHandle.standardError.write(Data("The memory has grown by \(growth) bytes.\n".utf8))
        exit(1)
      }
    }
  }

  @Test func `25: retry runs in constant stack`() {
    let attempts = Counter()
    let source = Observable<Int>.create { observer in
      attempts.increment()
      observer.onError(Broken())
      return Disposables.create()
    }
    #expect(onSmallStack { source.retry(Self.many).recorded() } == ["x", "."])
    #expect(attempts.count == Self.many)
  }

  @Test func `25: concat runs in constant stack`() {
    let sources = Array(repeating: Observable.just(1), count: Self.many)
    #expect(
      onSmallStack { Observable.concat(sources).scan(0) { $0 + $1 }.recorded() }.suffix(3) == ["100000", "|", "."])
  }

  @Test func `25: synchronous flatMap, concatMap and flatMapLatest run in constant stack`() {
    let numbers = Observable.from(1...Self.many)
    for stream in [
      numbers.flatMap { .just($0) }, numbers.concatMap { .just($0) }, numbers.flatMapLatest { .just($0) },
    ] {
      #expect(onSmallStack { stream.recorded() }.suffix(3) == ["100000", "|", "."])
    }
  }

  @Test func `25: elements that wait for a scheduler that runs at once come in constant stack`() {
    let (numbers, now) = (Observable.from(1...Self.many), ImmediateScheduler())
    for stream in [
      numbers.observe(on: now), numbers.delay(.zero, scheduler: now), numbers.throttle(.zero, scheduler: now),
      numbers.subscribe(on: now).timeout(.seconds(1000), scheduler: now), numbers.share(replay: 1),
    ] {
      #expect(onSmallStack { stream.recorded() }.suffix(3) == ["100000", "|", "."])
    }
  }

  @Test func `25: retry runs in constant stack when its delays are over at once`() {
    let source = Observable<Int>.error(Broken())
    let policy = RetryPolicy { attempt, _ in attempt < Self.many ? .seconds(1) : nil }
    #expect(onSmallStack { source.retry(when: policy, scheduler: Hasty()).recorded() } == ["x", "."])
  }

  @Test func `25: re-entrant emissions run in constant stack`() {
    let subject = PublishSubject<Int>()
    let probe = Probe<Int>()
    let subscription = subject.asObservable().subscribe(probe) { if $0 < Self.many { subject.onNext($0 + 1) } }
    #expect(onSmallStack { subject.onNext(1) } == ())
    #expect(probe.elements.count == Self.many)
    subscription.dispose()
  }

  @Test func `25: a stream that continues as itself, one step at a time, is disposed in constant stack`() {
    for stream in [onAndOn, againAndAgain] {
      let (subject, probe) = (PublishSubject<Int>(), Probe<Int>())
      let subscription = stream(subject).subscribe(probe)
      for index in 0..<Self.many / 2 { subject.onNext(index) }
      #expect(onSmallStack { subscription.dispose() } == ())
      #expect(probe.log.count == Self.many / 2 + 1)
    }
  }

  @Test func `26: a chain of 10,000 maps subscribes, ends and is released on a main thread's stack`() {
    let log = onStack(megabytes: 8) {
      let subject = PublishSubject<Int>()
      var chain = subject.asObservable()
      for _ in 0..<10_000 { chain = chain.map { $0 + 1 } }
      let probe = Probe<Int>()
      _ = chain.subscribe(probe)
      subject.onCompleted()
      return probe.log
    }
    #expect(log == ["|", "."])
  }

  @Test func `26: a chain of 10,000 maps is disposed on a main thread's stack`() {
    let log = onStack(megabytes: 8) {
      var chain = Observable<Int>.never()
      for _ in 0..<10_000 { chain = chain.map { $0 + 1 } }
      let probe = Probe<Int>()
      chain.subscribe(probe).dispose()
      return probe.log
    }
    #expect(log == ["."])
  }

  @Test(arguments: Operator.all)
  func `26: a chain of 2,000 of any operator carries elements, and is disposed, on a main thread's stack`(
    _ op: Operator
  ) {
    // A sanitizer needs more stack for each call.
    let count = isSanitized ? 500 : 2000
    let log = onStack(megabytes: 8) {
      let (subject, probe) = (PublishSubject<Int>(), Probe<Int>())
      var chain = subject.asObservable()
      for _ in 0..<count { chain = op(chain) }
      chain.subscribe(probe).dispose()
      _ = chain.subscribe(probe)
      subject.onNext(1)
      subject.onCompleted()
      return probe.log
    }
    #expect(log == [".", "1", "|", "."])
  }
}

/// One element of `subject`, then this again.
@Sendable private func onAndOn(_ subject: PublishSubject<Int>) -> Observable<Int> {
  subject.asObservable().take(1).concat(.deferred { onAndOn(subject) })
}

/// One element of `subject`, which fails, then this again.
@Sendable private func againAndAgain(_ subject: PublishSubject<Int>) -> Observable<Int> {
  subject.asObservable().take(1).concat(.error(Broken())).catch { _ in againAndAgain(subject) }
}

/// What `body` gives on a thread whose stack would not hold a frame for each of 100,000 steps.
private func onSmallStack<Result: Sendable>(_ body: @escaping @Sendable () -> Result) -> Result {
  onStack(megabytes: 1, body)
}

private func onStack<Result: Sendable>(megabytes: Int, _ body: @escaping @Sendable () -> Result) -> Result {
  let result = Locked<Result?>(nil)
  let done = DispatchSemaphore(value: 0)
  let thread = Thread {
    let value = body()
    result.withLock { $0 = value }
    done.signal()
  }
  thread.stackSize = megabytes << 20
  thread.start()
  done.wait()
  guard let value = result.withLock({ $0 }) else { fatalError("the thread left no result") }
  return value
}
