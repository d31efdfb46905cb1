import Streams
import TestSupport
import Testing

/// Laws 1 to 7.
@Suite struct GrammarTests {
  @Test(arguments: Operator.all, [true, false])
  func `1: an ill-mannered source does not get past the end`(_ op: Operator, _ completes: Bool) {
    let probe = Probe<Int>()
    let observers = Locked<AnyObserver<Int>?>(nil)
    let source = Observable<Int>.create { observer in
      observers.withLock { $0 = observer }
      return Disposables.create()
    }
    let subscription = op(source).subscribe(probe)
    let observer = observers.withLock { $0 }
    observer?.onNext(1)
    if completes { observer?.onCompleted() } else { observer?.onError(Broken()) }
    observer?.onNext(2)
    observer?.onError(Broken())
    observer?.onCompleted()
    let handled = completes || op.has(.handlesErrors)
    #expect(probe.log.filter { $0 != "-1" } == ["1", handled ? "|" : "x", "."])
    subscription.dispose()
  }

  @Test(arguments: Operator.all)
  func `2, 3, 4: one end, nothing after it and no overlap, whoever races`(_ op: Operator) throws {
    let probe = Probe<Int>()
    let observers = Locked<AnyObserver<Int>?>(nil)
    let source = Observable<Int>.create { observer in
      observers.withLock { $0 = observer }
      return Disposables.create()
    }
    let subscription = op(source).subscribe(probe)
    let observer = observers.withLock { $0 }
    try race { thread in
      for index in 0..<(raceEvents / 8) { observer?.onNext(index) }
      if thread.isMultiple(of: 2) { observer?.onCompleted() } else { observer?.onError(Broken()) }
      for index in 0..<100 { observer?.onNext(index) }
    }
    #expect(probe.terminals == 1)
    #expect(probe.overlaps == 0)
    #expect(probe.late == 0)
    subscription.dispose()
  }

  @Test(arguments: Operator.lossless)
  func `5: nothing is lost, and each producer's order is kept`(_ op: Operator) throws {
    let probe = Probe<Int>()
    let subject = PublishSubject<Int>()
    let subscription = op(subject.asObservable()).subscribe(probe)
    try race { thread in
      for index in 0..<(raceEvents / 8) { subject.onNext(thread * raceEvents + index) }
    }
    subject.onCompleted()
    #expect(probe.log.suffix(2) == ["|", "."])
    #expect(probe.overlaps == 0)
    for thread in 0..<8 {
      let mine = probe.elements.filter { $0 / raceEvents == thread }.map { $0 % raceEvents }
      #expect(mine.elementsEqual(0..<(raceEvents / 8)), "of producer \(thread)")
    }
    subscription.dispose()
  }

  @Test func `O1: through all operators at once eight threads lose nothing, and keep their order`() {
    let probe = Probe<Int>()
    let subject = PublishSubject<Int>()
    let stream = Operator.lossless.reduce(subject.asObservable()) { stream, op in op(stream) }
    let subscription = stream.subscribe(probe)
    race { thread in
      for index in 0..<(raceEvents / 8) { subject.onNext(thread * raceEvents + index) }
    }
    subject.onCompleted()
    #expect(probe.log.suffix(2) == ["|", "."] && probe.overlaps == 0 && probe.late == 0)
    let events = Dictionary(grouping: probe.elements) { $0 / raceEvents }
    #expect(events.count == 8)
    for (thread, mine) in events {
      #expect(mine.elementsEqual((0..<(raceEvents / 8)).map { thread * raceEvents + $0 }), "of producer \(thread)")
    }
    subscription.dispose()
  }

  @Test(arguments: Operator.lossless) func `6: a re-entrant emission is queued, and all see one order`(_ op: Operator) {
    let (first, second) = (Probe<Int>(), Probe<Int>())
    let subject = PublishSubject<Int>()
    let subscriptions = Disposables.create(
      op(subject.asObservable()).subscribe(first) { if $0 < 1000 { subject.onNext($0 + 1) } },
      op(subject.asObservable()).subscribe(second))
    subject.onNext(0)
    #expect(first.elements == Array(0...1000))
    #expect(second.elements == Array(0...1000))
    #expect(first.overlaps == 0)
    subscriptions.dispose()
  }

  @Test(arguments: Operator.all) func `7: after the end or dispose an emitter's calls do nothing`(_ op: Operator) {
    let (ended, disposed) = (Probe<Int>(), Probe<Int>())
    let observers = Locked<[AnyObserver<Int>]>([])
    let calls = Counter()
    let source = Observable<Int>.create { observer in
      observers.withLock { $0.append(observer) }
      return Disposables.create { observer.onNext(0) }
    }
    let subscriptions = [ended, disposed].map { op(source) { _ in calls.increment() }.subscribe($0) }
    observers.withLock { $0[0] }.onCompleted()
    subscriptions[1].dispose()
    for observer in observers.withLock({ $0 }) {
      observer.onNext(1)
      observer.onError(Broken())
      observer.onCompleted()
    }
    #expect(ended.log == ["|", "."])
    #expect(disposed.log == ["."])
    #expect(calls.count == 0)
  }
}
