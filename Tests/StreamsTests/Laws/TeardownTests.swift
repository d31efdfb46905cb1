import Foundation
import Streams
import StreamsTesting
import SystemBase
import TestSupport
import Testing

/// Laws 14 to 18.
@Suite struct TeardownTests {
  @Test(arguments: Operator.all) func `14: teardowns run exactly once under any race`(_ op: Operator) throws {
    for _ in 0..<100 {
      let (probe, teardowns) = (Probe<Int>(), Counter())
      let observers = Locked<AnyObserver<Int>?>(nil)
      let source = Observable<Int>.create { observer in
        observers.withLock { $0 = observer }
        return Disposables.create { teardowns.increment() }
      }
      let subscription = op(source).subscribe(probe)
      let observer = observers.withLock { $0 }
      try race(4) { thread in
        switch thread {
        case 0: observer?.onCompleted()
        case 1: observer?.onError(Broken())
        case 2: observer?.onNext(1)
        default: subscription.dispose()
        }
      }
      #expect(teardowns.count == 1)
      #expect(probe.log.filter { $0 == "." }.count == 1)
      #expect(probe.terminals <= 1)
      #expect(probe.late == 0)
      #expect(probe.overlaps == 0)
    }
  }

  @Test func `14: a stream that a factory has begun is ended, though the subscription was disposed meanwhile`() {
    let (probe, handle, start, ends) = (Probe<Int>(), Handle(), PublishSubject<Int>(), Counter())
    let stream = Observable<Int>.deferred {
      handle.dispose()
      return Observable.never().do(onDispose: { ends.increment() })
    }
    handle.set(start.asObservable().flatMap { _ in stream }.subscribe(probe))
    start.onNext(0)
    #expect(ends.count == 1)
  }

  @Test(arguments: Operator.all, [true, false])
  func `15: the terminal handler first, then teardowns, last in first out`(_ op: Operator, _ completes: Bool) {
    let probe = Probe<Int>()
    let observers = Locked<AnyObserver<Int>?>(nil)
    let source = Observable<Int>.create { observer in
      observers.withLock { $0 = observer }
      return Disposables.create { probe.note("source") }
    }
    _ = op(source.do(onDispose: { probe.note("above") })).do(onDispose: { probe.note("below") }).subscribe(probe)
    let observer = observers.withLock { $0 }
    observer?.onNext(1)
    if completes { observer?.onCompleted() } else { observer?.onError(Broken()) }
    let end = completes ? ["|"] : op.has(.handlesErrors) ? ["-1", "|"] : ["x"]
    let above = ["source", "above"]
    let comesFirst = op.has(completes ? .tearsDownFirst : .tearsDownFirstAtError)
    #expect(probe.log == ["1"] + (comesFirst ? above + end : end + above) + ["below", "."])
  }

  @Test func `15: teardowns of one segment run last in first out`() {
    let probe = Probe<Int>()
    let source = Observable<Int>.create { observer in
      Disposables.create([1, 2, 3].map { number in Disposables.create { probe.note("t\(number)") } })
    }
    source.do(onDispose: { probe.note("above") }).map { $0 }.do(onDispose: { probe.note("below") })
      .subscribe(probe).dispose()
    #expect(probe.log == ["t3", "t2", "t1", "above", "below", "."])
  }

  enum End: CaseIterable { case completed, error, dispose }

  @Test(arguments: Operator.all, End.allCases)
  func `16: afterwards observer, closures and source are released`(_ op: Operator, _ end: End) {
    weak var inHandler: Token?
    weak var inClosure: Token?
    weak var inSource: Token?
    let observers = Locked<AnyObserver<Int>?>(nil)
    let subscription: any Disposable
    do {
      let (handlerToken, closureToken, sourceToken) = (Token(), Token(), Token())
      (inHandler, inClosure, inSource) = (handlerToken, closureToken, sourceToken)
      let source = Observable<Int>.create { observer in
        observers.withLock { $0 = observer }
        return Disposables.create { sourceToken.touch() }
      }
      subscription = op(source) { _ in closureToken.touch() }
        .subscribe(onNext: { _ in handlerToken.touch() }, onError: { _ in })
    }
    let observer = observers.withLock { $0 }
    observer?.onNext(1)
    #expect(inHandler != nil)
    #expect(inSource != nil)
    switch end {
    case .completed: observer?.onCompleted()
    case .error: observer?.onError(Broken())
    case .dispose: subscription.dispose()
    }
    #expect(inHandler == nil)
    #expect(inClosure == nil)
    #expect(inSource == nil)
    withExtendedLifetime((observer, subscription)) {}
  }

  @Test(arguments: Operator.all)
  func `O2: thousands of short-lived subscribers leave nothing behind`(_ op: Operator) {
    let (live, subject) = (Counter(), PublishSubject<Int>())
    for index in 0..<2000 {
      let token = Token { live.decrement() }
      live.increment()
      let source = subject.asObservable().do(onDispose: { token.touch() })
      let subscription = op(source) { _ in token.touch() }.subscribe(onNext: { _ in token.touch() })
      if index.isMultiple(of: 2) { subject.onNext(index) }
      subscription.dispose()
    }
    #expect(live.count == 0)
  }

  @Test func `16: an attempt's resources are released, though it began while it was scheduled`() {
    let (observers, teardowns) = (Locked<[AnyObserver<Int>]>([]), Counter())
    let source = Observable<Int>.create { observer in
      observers.withLock { $0.append(observer) }
      return Disposables.create { teardowns.increment() }
    }
    let policy = RetryPolicy { _, _ in .seconds(1) }
    let subscription = source.retry(when: policy, scheduler: Hasty()).subscribe()
    observers.withLock { $0[0] }.onError(Broken())
    #expect(observers.withLock { $0.count } == 2)
    subscription.dispose()
    #expect(teardowns.count == 2)
  }

  @Test func `16: a disposed task keeps its closure until its work returns, and no longer`() async throws {
    let (began, mayReturn, isFree) = (Latch(), Latch(), Latch())
    do {
      let token = Token { isFree.open() }
      let subscription = Observable<Int>.async {
        began.open()
        await withCheckedContinuation { continuation in mayReturn.whenOpen { continuation.resume() } }
        token.touch()
        return 1
      }.subscribe()
      try await began.wait()
      subscription.dispose()
    }
    #expect(!isFree.isOpen)
    mayReturn.open()
    try await isFree.wait()
  }

  @Test func `17: finished subscriptions leave a bag`() {
    struct Weak { weak var object: AnyObject? }
    let bag = DisposeBag()
    let handles = (0..<100_000).map { index in
      let handle = Observable.just(index).subscribe()
      handle.disposed(by: bag)
      return Weak(object: handle as AnyObject)
    }
    #expect(handles.filter { $0.object != nil }.count <= 32)
  }

  private static let schedulers: [any Scheduler] = [
    ConcurrentScheduler(), SerialScheduler(queue: .global()), ImmediateScheduler(), ElasticScheduler(),
    ClockScheduler(ContinuousClock()), TestScheduler(),
  ]

  @Test(arguments: schedulers) func `17: delayed actions that have run leave a bag`(_ scheduler: any Scheduler) {
    struct Weak { weak var object: AnyObject? }
    let (bag, group) = (DisposeBag(), DispatchGroup())
    let handles = (0..<1000).map { _ in
      group.enter()
      let action = scheduler.schedule(after: .nanoseconds(1)) { group.leave() }
      action.disposed(by: bag)
      return Weak(object: action as AnyObject)
    }
    (scheduler as? TestScheduler)?.run()
    #expect(group.wait(timeout: .now() + 20) == .success)
    // When the timer fires once more, it no longer holds the actions that were due at once.
    group.enter()
    _ = scheduler.schedule(after: .milliseconds(1)) { group.leave() }
    (scheduler as? TestScheduler)?.run()
    #expect(group.wait(timeout: .now() + 20) == .success)
    for _ in 0..<2000 { Observable<Int>.never().subscribe().disposed(by: bag) }
    #expect(handles.filter { $0.object != nil }.count <= 32)
  }

  @Test func `17: a subscription that has ended before it is put into a bag is not kept`() {
    let bag = DisposeBag()
    weak var ended: AnyObject?
    weak var open: AnyObject?
    do {
      let (first, second) = (Observable.just(1).subscribe(), Observable<Int>.never().subscribe())
      (ended, open) = (first as AnyObject, second as AnyObject)
      first.disposed(by: bag)
      second.disposed(by: bag)
    }
    #expect(ended == nil)
    #expect(open != nil)
    bag.dispose()
    #expect(open == nil)
  }

  @Test func `18: an item put into a disposed bag is disposed at once`() {
    let (bag, count) = (DisposeBag(), Counter())
    bag.dispose()
    Disposables.create { count.increment() }.disposed(by: bag)
    #expect(count.count == 1)
  }

  @Test func `18: an item that is put into a bag while it is disposed is disposed, too`() throws {
    for _ in 0..<200 {
      let (bag, count) = (DisposeBag(), Counter())
      try race(4) { thread in
        if thread == 0 { return bag.dispose() }
        for _ in 0..<20 { Disposables.create { count.increment() }.disposed(by: bag) }
      }
      #expect(count.count == 60)
    }
  }
}
