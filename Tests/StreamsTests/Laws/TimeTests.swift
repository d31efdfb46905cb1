import Foundation
import Streams
import StreamsTesting
import SystemBase
import TestSupport
import Testing

/// Laws 35 to 38.
@Suite struct TimeTests: VirtualTime {
  let scheduler = TestScheduler()

  @Test func `35: debounce gives the last after the quiet, flushes on completion, drops on error`() {
    expect(cold("abc----d---|").debounce(.seconds(3), scheduler: scheduler), "-----c----d|")
    expect(cold("a-b|").debounce(.seconds(3), scheduler: scheduler), "---(b|)")
    expect(cold("a-b#").debounce(.seconds(3), scheduler: scheduler), "---#")
  }

  @Test func `36: timeout restarts with each element, and cancels upstream`() {
    let source = scheduler.cold("-a-b-c-----d|")
    expect(source.asObservable().timeout(.seconds(3), scheduler: scheduler), "-a-b-c--#", error: StreamError.timeout)
    #expect(source.subscriptions == [.init(.zero, .seconds(8))])
    expect(cold("--a--b|").timeout(.seconds(4), scheduler: scheduler), "--a--b|")
    let observer = scheduler.observe(cold("----").timeout(.seconds(2), scheduler: scheduler))
    scheduler.run()
    #expect(observer.events.count == 1)
    guard case .error(StreamError.timeout)? = observer.events.first?.event else {
      Issue.record("not a timeout: \(observer.events)")
      return
    }
  }

  @Test func `a deadline ends what has not ended by then, whatever it has sent`() {
    let source = scheduler.cold("-a-b-c-----d|")
    let stream = source.asObservable().deadline(.seconds(8), scheduler: scheduler) { MarbleError() }
    expect(stream, "-a-b-c--#")
    #expect(source.subscriptions == [.init(.zero, .seconds(8))])
    expect(cold("--a--b|").deadline(.seconds(7), scheduler: scheduler) { MarbleError() }, "--a--b|")
    #expect(scheduler.pendingCount == 0)
  }

  @Test func `delay moves elements and completion, not errors`() {
    expect(cold("a-bc|").delay(.seconds(2), scheduler: scheduler), "--a-bc|")
    expect(cold("a-b-#").delay(.seconds(3), scheduler: scheduler), "---a#")
  }

  @Test func `throttle gives the first of a window, and the last when it is over`() {
    expect(cold("abcd----e|").throttle(.seconds(3), scheduler: scheduler), "a--d----e|")
    expect(cold("abc-----e|").throttle(.seconds(4), scheduler: scheduler), "a---c---e|")
    expect(cold("abcd----e|").throttle(.seconds(3), latest: false, scheduler: scheduler), "a--d----e|")
    expect(cold("ab|").throttle(.seconds(4), scheduler: scheduler), "a---(b|)")
    expect(cold("ab|").throttle(.seconds(4), latest: false, scheduler: scheduler), "a-|")
    expect(cold("ab#").throttle(.seconds(4), scheduler: scheduler), "a-#")
  }

  @Test func `37: dispose cancels timers`() {
    let stream = cold("ab--------")
    let timed = [
      stream.delay(.seconds(5), scheduler: scheduler), stream.debounce(.seconds(5), scheduler: scheduler),
      stream.throttle(.seconds(5), scheduler: scheduler), stream.timeout(.seconds(5), scheduler: scheduler),
      stream.deadline(.seconds(5), scheduler: scheduler) { MarbleError() },
    ]
    for stream in timed {
      let observer = scheduler.observe(stream)
      scheduler.advance(by: .seconds(2))
      #expect(scheduler.pendingCount == 1)
      observer.dispose()
      #expect(scheduler.pendingCount == 0)
    }
  }

  @Test(arguments: [true, false]) func `a queue's scheduler runs work when it is due`(_ serial: Bool) {
    let scheduler: any Scheduler = serial ? SerialScheduler(queue: .global()) : ConcurrentScheduler()
    let start = scheduler.now
    let done = DispatchSemaphore(value: 0)
    _ = scheduler.schedule(after: .milliseconds(20)) { done.signal() }
    #expect(done.wait(timeout: .now() + 20) == .success)
    #expect(scheduler.now - start >= .milliseconds(20))
    _ = scheduler.schedule(after: .seconds(-1)) { done.signal() }
    #expect(done.wait(timeout: .now() + 20) == .success)
    scheduler.schedule(after: .seconds(Int64.max)) { done.signal() }.dispose()
  }

  @Test(arguments: [true, false]) func `38: observe(on:) keeps the order, with the end last`(_ serial: Bool) {
    let probe = Probe<Int>()
    let done = DispatchSemaphore(value: 0)
    let source = Observable.from(0..<raceEvents)
    let stream =
      serial
      ? source.observe(on: SerialScheduler(queue: .global())) : source.observe(on: ConcurrentScheduler())
    _ = stream.do(onDispose: { done.signal() }).subscribe(probe)
    #expect(done.wait(timeout: .now() + 60) == .success)
    #expect(probe.elements == Array(0..<raceEvents))
    #expect(probe.overlaps == 0)
    #expect(probe.terminals == 1)
    #expect(probe.late == 0)
  }

  @Test func `38: eight producers lose nothing through a queue`() throws {
    let (probe, subject, done) = (Probe<Int>(), PublishSubject<Int>(), DispatchSemaphore(value: 0))
    let stream = subject.asObservable().observe(on: SerialScheduler(queue: .global()))
    _ = stream.do(onDispose: { done.signal() }).subscribe(probe)
    try race { thread in
      for index in 0..<(raceEvents / 8) { subject.onNext(thread * raceEvents + index) }
    }
    subject.onCompleted()
    #expect(done.wait(timeout: .now() + 60) == .success)
    #expect(probe.elements.count == raceEvents / 8 * 8)
    for thread in 0..<8 {
      #expect(
        probe.elements.filter { $0 / raceEvents == thread } == (0..<(raceEvents / 8)).map { thread * raceEvents + $0 })
    }
  }

  @Test func `38: dispose drops what is queued, and an error comes after the elements before it`() {
    let stream = Observable.from(["a", "b", "c"]).concat(.error(MarbleError())).observe(on: scheduler)
    expect(stream, "(abc#)")
    let observer = scheduler.observe(stream)
    observer.dispose()
    scheduler.run()
    #expect(observer.events.isEmpty)
    #expect(scheduler.pendingCount == 0)
  }

  @Test func `38: a batch is bounded, so that a busy stream shares its queue`() {
    let order = Locked<[String]>([])
    let busy = Observable.from(0..<10_000).observe(on: scheduler)
      .subscribe(onNext: { _ in order.withLock { $0.append("busy") } })
    _ = scheduler.schedule { order.withLock { $0.append("other") } }
    scheduler.run()
    let place = order.withLock { $0.firstIndex(of: "other") } ?? .max
    #expect(place > 0)
    #expect(place < 1000)
    #expect(order.withLock { $0.count } == 10_001)
    busy.dispose()
  }

  @Test(arguments: [true, false])
  func `38: other work on a queue has its turn, though a stream that is observed there never pauses`(_ serial: Bool) {
    let queue = DispatchQueue(label: "shared")
    let (subject, hasHadTurn) = (PublishSubject<Int>(), DispatchSemaphore(value: 0))
    let stream =
      serial
      ? subject.asObservable().observe(on: SerialScheduler(queue: queue))
      : subject.asObservable().observe(on: ConcurrentScheduler(queue: queue))
    // Each element brings about the next one.
    let subscription = stream.subscribe(onNext: { subject.onNext($0 &+ 1) })
    subject.onNext(0)
    queue.async { hasHadTurn.signal() }
    #expect(hasHadTurn.wait(timeout: .now() + 20) == .success)
    subscription.dispose()
  }

  @Test func `38: elements that are observed on the main scheduler come on the main queue, in order`() async throws {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    let places = Observable.from(0..<1000).observe(on: .main).map { ($0, DispatchQueue.getSpecific(key: key) == true) }
    var received: [Int] = []
    for try await (element, isOnMain) in places.values where isOnMain { received.append(element) }
    #expect(received == Array(0..<1000))
  }

  @Test func `38: other work on the queue of a delay has its turn, however much is due at once`() {
    let order = Locked<[String]>([])
    let busy = Observable.from(0..<10_000).delay(.seconds(1), scheduler: scheduler)
      .subscribe(onNext: { _ in order.withLock { $0.append("busy") } })
    _ = scheduler.schedule(after: .seconds(1)) { order.withLock { $0.append("other") } }
    scheduler.run()
    let place = order.withLock { $0.firstIndex(of: "other") } ?? .max
    #expect(place > 0)
    #expect(place < 1000)
    #expect(order.withLock { $0.count } == 10_001)
    busy.dispose()
  }

  @Test func `an error that a closure of do throws replaces the event, and ends the source`() {
    let source = scheduler.cold("a-b-c|")
    let fail: @Sendable () throws -> Void = { throw MarbleError() }
    expect(source.asObservable().do(onNext: { if $0 == "b" { try fail() } }), "a-#")
    #expect(source.subscriptions == [.init(.zero, .seconds(2))])
    expect(cold("a-b|").do(onCompleted: fail), "a-b#")
    expect(cold("a-#").do(onError: { _ in throw Broken() }), "a-#", error: Broken())
  }

  @Test func `subscribe(on:) subscribes there, and not at all if it was disposed before`() {
    let runs = Counter()
    let source = Observable<Int>.deferred {
      runs.increment()
      return .just(1)
    }
    let observer = scheduler.observe(source.subscribe(on: scheduler))
    #expect(runs.count == 0)
    scheduler.run()
    #expect(observer.elements == [1])
    scheduler.observe(source.subscribe(on: scheduler)).dispose()
    scheduler.run()
    #expect(runs.count == 1)
  }
}
