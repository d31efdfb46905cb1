import Dispatch
import Streams
import SystemBase
import TestSupport
import Testing

/// Laws 8 to 13.
@Suite struct DisposeTests {
  @Test(arguments: Operator.all) func `8: dispose is idempotent and thread-safe`(_ op: Operator) throws {
    let (probe, teardowns) = (Probe<Int>(), Counter())
    let source = Observable<Int>.create { _ in Disposables.create { teardowns.increment() } }
    let subscription = op(source).subscribe(probe)
    try race { _ in
      for _ in 0..<100 { subscription.dispose() }
    }
    #expect(teardowns.count == 1)
    #expect(probe.log == ["."])
  }

  @Test(arguments: Operator.all) func `9: elements do not come after dispose on the delivering thread`(_ op: Operator) {
    let (probe, handle) = (Probe<Int>(), Handle())
    let subject = PublishSubject<Int>()
    handle.set(op(subject.asObservable()).subscribe(probe) { if $0 == 2 { handle.dispose() } })
    for element in 1...4 { subject.onNext(element) }
    subject.onCompleted()
    #expect(probe.log == ["1", "2", "."])
  }

  @Test(arguments: Operator.hooked) func `9: elements do not come after dispose in the operator's own closure`(
    _ op: Operator
  ) {
    let (probe, handle) = (Probe<Int>(), Handle())
    let subject = PublishSubject<Int>()
    handle.set(op(subject.asObservable()) { if $0 == 2 { handle.dispose() } }.subscribe(probe))
    for element in 1...4 { subject.onNext(element) }
    #expect(probe.log == ["1", "."])
  }

  @Test(arguments: Operator.all, [true, false])
  func `9: no end after dispose in a closure that the end comes by`(_ op: Operator, _ completes: Bool) {
    let (probe, handle) = (Probe<Int>(), Handle())
    let subject = PublishSubject<Int>()
    let source = subject.asObservable().do(
      onError: { _ in handle.dispose() }, onCompleted: { handle.dispose() })
    handle.set(op(source).subscribe(probe))
    if completes { subject.onCompleted() } else { subject.onError(Broken()) }
    #expect(probe.log == ["."])
  }

  @Test func `9: no end after dispose in a closure that throws then`() {
    let (probe, handle) = (Probe<Int>(), Handle())
    let subject = PublishSubject<Int>()
    handle.set(
      subject.asObservable().do(onNext: { _ in
        handle.dispose()
        throw Broken()
      }).subscribe(probe))
    subject.onNext(1)
    #expect(probe.log == ["."])
  }

  @Test(arguments: Operator.all) func `9: only the call in progress ends after dispose on another thread`(
    _ op: Operator
  ) throws {
    for _ in 0..<50 {
      let probe = Probe<Int>()
      let subject = PublishSubject<Int>()
      let subscription = op(subject.asObservable()).subscribe(probe)
      let countAtDispose = Locked(0)
      try race(2) { thread in
        if thread == 0 {
          for element in 0..<2000 { subject.onNext(element) }
        } else {
          subscription.dispose()
          countAtDispose.withLock { $0 = probe.elements.count }
        }
      }
      #expect(probe.elements.count <= countAtDispose.withLock { $0 } + 1)
    }
  }

  @Test func `9: after dispose on another thread, the call in flight ends after onDisposed`() throws {
    let (probe, subject) = (Probe<Int>(), PublishSubject<Int>())
    let (hasBegun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let subscription = subject.asObservable().subscribe(
      onNext: { _ in
        hasBegun.signal()
        mayEnd.wait()
        probe.note("the call ends")
      }, onDisposed: { probe.note(".") })
    try race(2) { thread in
      if thread == 0 { return subject.onNext(1) }
      hasBegun.wait()
      subscription.dispose()
      mayEnd.signal()
    }
    #expect(probe.log == [".", "the call ends"])
  }

  @Test(arguments: Operator.all) func `10: dispose sends no terminal event`(_ op: Operator) {
    let probe = Probe<Int>()
    op(.never()).subscribe(probe).dispose()
    #expect(probe.log == ["."])
  }

  @Test(arguments: Operator.all) func `11: dispose inside onNext stops a loop at once`(_ op: Operator) {
    let (probe, handle, produced) = (Probe<Int>(), Handle(), Counter())
    let start = PublishSubject<Int>()
    let endless = Observable.from(1...).do(onNext: { _ in produced.increment() })
    handle.set(op(start.asObservable().flatMap { _ in endless }).subscribe(probe) { if $0 == 3 { handle.dispose() } })
    start.onNext(0)
    #expect(probe.log == ["1", "2", "3", "."])
    #expect(produced.count == 3)
  }

  @Test(arguments: Operator.all) func `12: disposed before create returned, it is torn down once`(
    _ op: Operator
  ) {
    let (probe, handle, teardowns) = (Probe<Int>(), Handle(), Counter())
    let start = PublishSubject<Int>()
    let source = Observable<Int>.create { observer in
      handle.dispose()
      observer.onNext(1)
      return Disposables.create { teardowns.increment() }
    }
    handle.set(op(start.asObservable().flatMap { _ in source }).subscribe(probe))
    start.onNext(0)
    handle.dispose()
    #expect(probe.log == ["."])
    #expect(teardowns.count == 1)
  }

  @Test(arguments: Operator.all) func `12: ended before create returned, it is torn down once`(_ op: Operator) {
    let teardowns = Counter()
    let source = Observable<Int>.create { observer in
      observer.onNext(1)
      return Disposables.create { teardowns.increment() }
    }
    #expect(op(source).take(1).recorded() == ["1", "|", "."])
    #expect(teardowns.count == 1)
  }

  @Test func `12: a teardown that is added after dispose runs after onDisposed`() {
    let (probe, handle, start) = (Probe<Int>(), Handle(), PublishSubject<Int>())
    let source = Observable<Int>.create { _ in
      handle.dispose()
      return Disposables.create { probe.note("teardown") }
    }
    handle.set(start.asObservable().flatMap { _ in source }.subscribe(probe))
    start.onNext(0)
    #expect(probe.log == [".", "teardown"])
  }

  @Test func `12: disposed in a closure before its source is started, that is not started`() {
    let starts = Counter()
    let source = Observable<Int>.create { _ in
      starts.increment()
      return Disposables.create()
    }
    let streams: [@Sendable (Handle) -> Observable<Int>] = [
      { handle in
        .deferred {
          handle.dispose()
          return source
        }
      },
      { handle in source.do(onSubscribe: { handle.dispose() }) },
      { handle in
        .deferred {
          handle.dispose()
          return .deferred {
            starts.increment()
            return source
          }
        }
      },
    ]
    for stream in streams {
      let (probe, handle, start) = (Probe<Int>(), Handle(), PublishSubject<Int>())
      let subject = start.asObservable()
      handle.set(subject.flatMap { _ in stream(handle).do(onDispose: { probe.note("disposed") }) }.subscribe(probe))
      start.onNext(0)
      #expect(probe.log == ["disposed", "."])
    }
    #expect(starts.count == 0)
  }

  @Test(arguments: Operator.all) func `13: a dropped handle does not cancel`(_ op: Operator) {
    let probe = Probe<Int>()
    let subject = PublishSubject<Int>()
    _ = op(subject.asObservable()).subscribe(probe)
    subject.onNext(1)
    subject.onCompleted()
    #expect(probe.log == ["1", "|", "."])
  }

  @Test(arguments: Operator.all) func `13: a bag that is released disposes its items`(_ op: Operator) {
    let probe = Probe<Int>()
    let subject = PublishSubject<Int>()
    do {
      let bag = DisposeBag()
      op(subject.asObservable()).subscribe(probe).disposed(by: bag)
      subject.onNext(1)
    }
    subject.onNext(2)
    #expect(probe.log == ["1", "."])
  }
}
