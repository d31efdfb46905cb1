import Streams
import StreamsTesting
import Testing

@Suite struct TestSchedulerTests {
  @Test func `work runs in the order of its time, then of being given`() {
    let scheduler = TestScheduler()
    let log = TestLog()
    for (delay, name) in [(2, "c"), (1, "a"), (1, "b")] {
      _ = scheduler.schedule(after: .seconds(delay)) { log.add("\(name)@\(scheduler.now)") }
    }
    scheduler.run()
    #expect(log.lines == ["a@1.0 seconds", "b@1.0 seconds", "c@2.0 seconds"])
  }

  @Test func `advance stops at its time, and runs what the work schedules on the way`() {
    let scheduler = TestScheduler()
    let log = TestLog()
    _ = scheduler.schedule(after: .seconds(1)) {
      _ = scheduler.schedule(after: .seconds(1)) { log.add("two") }
      _ = scheduler.schedule(after: .seconds(2)) { log.add("three") }
    }
    scheduler.advance(by: .seconds(2))
    #expect(log.lines == ["two"])
    #expect(scheduler.now == .seconds(2))
    #expect(scheduler.pendingCount == 1)
  }

  @Test func `disposed work does not run, and does not wait`() {
    let scheduler = TestScheduler()
    let log = TestLog()
    scheduler.schedule(after: .seconds(1)) { log.add("never") }.dispose()
    #expect(scheduler.pendingCount == 0)
    scheduler.run()
    #expect(log.lines == [])
  }

  @Test(.timeLimit(.minutes(1))) func `disposing work that has run does not look through what waits`() {
    let scheduler = TestScheduler()
    let done = (0..<20_000).map { _ in scheduler.schedule(after: .seconds(1)) {} }
    let waiting = (0..<20_000).map { _ in scheduler.schedule(after: .seconds(2)) {} }
    scheduler.advance(by: .seconds(1))
    for job in done { job.dispose() }
    #expect(scheduler.pendingCount == 20_000)
    for job in waiting { job.dispose() }
    #expect(scheduler.pendingCount == 0)
  }

  @Test func `work that is disposed by other work of the same time does not run, and the rest does`() {
    let scheduler = TestScheduler()
    let log = TestLog()
    let bag = DisposeBag()
    _ = scheduler.schedule { bag.dispose() }
    scheduler.schedule { log.add("never") }.disposed(by: bag)
    _ = scheduler.schedule { log.add("after") }
    scheduler.run()
    #expect(log.lines == ["after"])
  }
}

@Suite struct MarbleTests {
  @Test(arguments: [
    ("a)", "a group is closed that was not opened: a)"), ("((a))", "a group holds no group: ((a))"),
    ("(a", "a group is not closed: (a"), ("(-)", "a group holds no frames: (-)"),
    ("a|a", "something comes after the end: a|a"), ("(#|)", "something comes after the end: (#|)"),
    ("ab", "no value for b: ab"),
  ])
  func `a wrong line is reported as the difference`(_ line: String, _ fault: String) {
    let observer = TestScheduler().observe(Observable<Int>.never())
    #expect(observer.difference(from: line, values: ["a": 1]) == fault)
  }

  @Test func `a line that is wrong cannot be played`() async {
    await #expect(processExitsWith: .failure) { _ = Marbles("a|a") }
  }

  @Test func `frames may follow the end, which line up with other lines`() {
    #expect(Marbles("a|--").events.count == 2)
  }

  @Test func `a line gives its events at their times`() {
    let events = Marbles("-a (b|) ", frame: .milliseconds(10)).events
    #expect(
      events == [
        Recorded(.milliseconds(10), .next("a")), Recorded(.milliseconds(20), .next("b")),
        Recorded(.milliseconds(20), .completed),
      ])
  }

  @Test func `a cold recording starts with each subscriber, and knows them`() {
    let scheduler = TestScheduler()
    let source = scheduler.cold("-a-b|")
    let first = scheduler.observe(source.asObservable())
    scheduler.advance(to: .seconds(2))
    let second = scheduler.observe(source.asObservable())
    scheduler.advance(to: .seconds(4))
    second.dispose()
    scheduler.run()
    #expect(first.difference(from: "-a-b|") == nil)
    #expect(second.difference(from: "---a") == nil)
    #expect(source.subscriptions == [.init(.zero, .seconds(4)), .init(.seconds(2), .seconds(4))])
    #expect(first.isDisposed)
    #expect(second.isDisposed)
  }

  @Test func `a hot recording plays whether one listens or not`() {
    let scheduler = TestScheduler()
    let source = scheduler.hot("-a-b#", values: ["a": 1, "b": 2])
    scheduler.advance(to: .seconds(2))
    let observer = scheduler.observe(source.asObservable())
    scheduler.run()
    #expect(observer.difference(from: "---b#", values: ["b": 2]) == nil)
    #expect(observer.elements == [2])
  }

  @Test(arguments: ["", "-a"]) func `a hot recording without an end leaves its subscriptions open`(_ line: String) {
    let scheduler = TestScheduler()
    let observer = scheduler.observe(scheduler.hot(line).asObservable())
    scheduler.run()
    #expect(observer.difference(from: line) == nil)
    #expect(!observer.isDisposed)
    observer.dispose()
    #expect(observer.isDisposed)
  }

  @Test func `a difference is shown as two lines above each other`() {
    let scheduler = TestScheduler()
    let observer = scheduler.observe(scheduler.cold("-a--(bc)#").asObservable())
    scheduler.run()
    #expect(
      observer.difference(from: "-a-b|") == """
        expected  -a-b|
        recorded  -a--(bc)#
                  error(MarbleError) at 5.0 seconds
        """)
  }

  @Test func `an element without a name, and one between two frames, are reported in full`() {
    let scheduler = TestScheduler()
    let source = Observable.just(7).delay(.milliseconds(1500), scheduler: scheduler)
    let observer = scheduler.observe(source)
    scheduler.run()
    #expect(
      observer.difference(from: "-a|", values: ["a": 1]) == """
        expected  -a|
        recorded  -(?|)
                  next(7) at 1.5 seconds
                  completed at 1.5 seconds
        """)
  }

  @Test func `many frames without an event are shown as their number`() {
    let scheduler = TestScheduler()
    let observer = scheduler.observe(Observable.just("a").delay(.seconds(31_536_000), scheduler: scheduler))
    scheduler.run()
    #expect(
      observer.difference(from: "a|") == """
        expected  a|
        recorded  …(31536000)…(a|)
        """)
  }

  @Test(arguments: [Duration.seconds(Int64.max), Duration(attoseconds: .max)])
  func `a time of more frames than there are numbers is reported`(_ time: Duration) {
    let scheduler = TestScheduler(frame: .nanoseconds(1))
    scheduler.advance(to: time)
    let observer = scheduler.observe(Observable.just("a"))
    #expect(observer.difference(from: "a|")?.contains("…(4611686018427387904)…(a|)") == true)
  }

  @Test func `a scheduler whose frames take no time cannot be made`() async {
    await #expect(processExitsWith: .failure) { _ = TestScheduler(frame: .zero) }
  }
}

final class TestLog: Sendable {
  private let all = BehaviorSubject<[String]>(value: [])
  var lines: [String] { all.value }
  func add(_ line: String) { all.onNext(all.value + [line]) }
}
