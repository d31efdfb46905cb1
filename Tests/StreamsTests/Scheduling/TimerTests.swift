import Streams
import StreamsTesting
import Testing

@Suite struct TimerTests {
  typealias Timed = @Sendable (Observable<Int>, TestScheduler) -> Observable<Int>

  static let operators: [Timed] = [
    { $0.delay(.seconds(1), scheduler: $1) }, { $0.debounce(.seconds(1), scheduler: $1) },
    { $0.throttle(.seconds(1), scheduler: $1) }, { $0.timeout(.seconds(1), scheduler: $1) },
  ]

  @Test(arguments: operators) func `16: what was disposed before its timer is there releases its subscriber`(
    _ timed: @escaping Timed
  ) {
    let (scheduler, handle, start) = (TestScheduler(), Handle(), PublishSubject<Int>())
    weak var inHandler: Token?
    do {
      let token = Token()
      inHandler = token
      let stream = Observable<Int>.deferred {
        handle.dispose()
        return timed(.never(), scheduler)
      }
      handle.set(start.asObservable().flatMap { _ in stream }.subscribe(onNext: { _ in token.touch() }))
    }
    start.onNext(0)
    #expect(inHandler == nil)
    #expect(scheduler.pendingCount == 0)
  }

  @Test func `36: the time of a timeout starts anew when the element has been handled`() {
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
}
