import Dispatch
import Streams
import StreamsTesting
import TestSupport
import Testing

@Suite struct TimerTests {
  typealias Timed = @Sendable (Observable<Int>, Duration, TestScheduler) -> Observable<Int>

  static let operators: [Timed] = [
    { $0.delay($1, scheduler: $2) }, { $0.debounce($1, scheduler: $2) }, { $0.throttle($1, scheduler: $2) },
    { $0.timeout($1, scheduler: $2) },
  ]

  @Test(arguments: operators) func `16: a stream that was disposed before its timer is set releases its subscriber`(
    _ timed: @escaping Timed
  ) {
    let (scheduler, handle, start) = (TestScheduler(), Handle(), PublishSubject<Int>())
    weak var inHandler: Token?
    do {
      let token = Token()
      inHandler = token
      let stream = Observable<Int>.deferred {
        handle.dispose()
        return timed(.never(), .seconds(1), scheduler)
      }
      handle.set(start.asObservable().flatMap { _ in stream }.subscribe(onNext: { _ in token.touch() }))
    }
    start.onNext(0)
    #expect(inHandler == nil)
    #expect(scheduler.pendingCount == 0)
  }

  @Test(arguments: operators) func `a duration of more than a hundred years is one of a hundred years`(
    _ timed: @escaping Timed
  ) {
    let (scheduler, subject, probe) = (TestScheduler(), PublishSubject<Int>(), Probe<Int>())
    scheduler.advance(by: .seconds(1))
    let stream = timed(subject.asObservable(), Duration(attoseconds: .max), scheduler)
    let subscription = stream.subscribe(probe)
    subject.onNext(1)
    scheduler.advance(by: .seconds(3_155_760_000))
    #expect(probe.elements == [1])
    #expect(scheduler.pendingCount == 0)
    subscription.dispose()
  }

  @Test func `36: the time of a timeout restarts when the element has been handled`() {
    let (scheduler, subject, probe) = (TestScheduler(), PublishSubject<Int>(), Probe<Int>())
    let subscription = subject.asObservable().timeout(.seconds(2), scheduler: scheduler)
      .subscribe(probe) { _ in scheduler.advance(by: .seconds(3)) }
    subject.onNext(1)
    #expect(probe.log == ["1"])
    scheduler.advance(by: .seconds(1))
    #expect(probe.log == ["1"])
    scheduler.advance(by: .seconds(1))
    #expect(probe.log == ["1", "x", "."])
    subscription.dispose()
  }

  @Test func `4, 5: a timer's thread and eight producers keep out of each other's way, and lose nothing`() throws {
    let count = raceEvents / 80
    for _ in 0..<50 {
      let (probe, subject, done) = (Probe<Int>(), PublishSubject<Int>(), DispatchSemaphore(value: 0))
      let stream = subject.asObservable().delay(.microseconds(10), scheduler: ConcurrentScheduler())
      _ = stream.do(onDispose: { done.signal() }).subscribe(probe)
      try race { thread in
        for index in 0..<count { subject.onNext(thread * count + index) }
      }
      subject.onCompleted()
      #expect(done.wait(timeout: .now() + 20) == .success)
      #expect(probe.overlaps == 0)
      #expect(probe.terminals == 1)
      #expect(probe.late == 0)
      for thread in 0..<8 {
        let mine = probe.elements.filter { $0 / count == thread }.map { $0 % count }
        #expect(mine.elementsEqual(0..<count), "of producer \(thread)")
      }
    }
  }

  @Test(arguments: [true, false])
  func `2, 3, 4: a timer's thread and eight producers keep out of each other's way`(_ throttles: Bool) throws {
    for _ in 0..<100 {
      let (probe, subject, done) = (Probe<Int>(), PublishSubject<Int>(), DispatchSemaphore(value: 0))
      let (source, scheduler) = (subject.asObservable(), ConcurrentScheduler())
      let stream =
        throttles
        ? source.throttle(.microseconds(3), scheduler: scheduler) : source.debounce(.zero, scheduler: scheduler)
      _ = stream.do(onDispose: { done.signal() }).subscribe(probe)
      try race { _ in
        for index in 0..<(raceEvents / 80) { subject.onNext(index) }
        subject.onCompleted()
      }
      #expect(done.wait(timeout: .now() + 20) == .success)
      #expect(probe.overlaps == 0)
      #expect(probe.terminals == 1)
      #expect(probe.late == 0)
    }
  }
}
