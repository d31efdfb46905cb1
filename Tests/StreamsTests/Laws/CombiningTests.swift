import Foundation
import Streams
import StreamsTesting
import SystemBase
import TestSupport
import Testing

/// Laws 27 to 31.
@Suite struct CombiningTests: VirtualTime {
  let scheduler = TestScheduler()

  @Test func `27: zip pairs by index`() {
    let pairs = Observable.zip(cold("a-b---c-|"), cold("--1-2-----3")) { $0 == "a" && $1 == "1" ? "x" : $0 }
    expect(pairs, "--x-b-----(c|)")
  }

  @Test func `27: zip completes when a finished source has nothing left`() {
    expect(Observable.zip(cold("ab---|"), cold("--1-----2")) { one, _ in one }, "--a-----(b|)")
    expect(Observable.zip(cold("ab-------"), cold("--1---|")) { one, _ in one }, "--a---|")
    expect(Observable.zip(cold("|"), cold("--1----")) { one, _ in one }, "|")
  }

  @Test func `27: the first error ends zip and cancels the others`() {
    let other = scheduler.cold("a-b-c-d")
    expect(Observable.zip(cold("--1-#"), other.asObservable()) { $1 }, "--a-#")
    #expect(other.subscriptions == [.init(.zero, .seconds(4))])
  }

  @Test func `27: zip takes two to four and a collection`() {
    let (a, b, c, d) = (cold("a-|"), cold("-b|"), cold("c-|"), cold("--d|"))
    expect(Observable.zip(a, b).map { $0.0 }, "-a|")
    expect(Observable.zip(a, b, c).map { $0.2 }, "-c|")
    expect(Observable.zip(a, b, c, d).map { $0.3 }, "--(d|)")
    expect(Observable.zip(a, b, c) { one, _, three in one == "a" && three == "c" ? "x" : "" }, "-x|")
    expect(Observable.zip(a, b, c, d) { one, _, three, four in one + three == "ac" ? four : "" }, "--(d|)")
    expect(Observable.zip([a, b, c, d]).map { $0[2] }, "--(c|)")
    expect(Observable.zip([Observable<String>]()).map { $0.joined() }, "|")
  }

  @Test func `28: combineLatest starts when each has a value and completes when all have`() {
    let both = Observable.combineLatest(cold("a-b---c|"), cold("---1-2---|"))
      .scan("") { $0 + $1.0 + $1.1 + " " }
    let observer = scheduler.observe(both)
    scheduler.run()
    #expect(observer.elements.last == "b1 b2 c2 ")
    #expect(observer.events.last == Recorded(.seconds(9), .completed))
  }

  @Test func `28: combineLatest completes when one ends empty`() {
    expect(Observable.combineLatest(cold("a--b--c"), cold("----|")) { one, _ in one }, "----|")
  }

  @Test func `28: combineLatest takes two to four, and its first error ends it`() {
    let (a, b, c, d) = (cold("a---|"), cold("-b--|"), cold("--c-#"), cold("---d-"))
    expect(Observable.combineLatest(a, b).map { $0.1 }, "-b--|")
    expect(Observable.combineLatest(a, b, c).map { $0.2 }, "--c-#")
    expect(Observable.combineLatest(a, b, c, d).map { $0.3 }, "---d#")
    expect(Observable.combineLatest(a, b, c) { one, two, three in one + two == "ab" ? three : "" }, "--c-#")
    expect(Observable.combineLatest(a, b, c, d) { one, _, three, four in one + three == "ac" ? four : "" }, "---d#")
  }

  @Test func `28: withLatestFrom waits for the other, and ends with the source`() {
    expect(cold("a--b--c|").withLatestFrom(cold("-1---2-----")) { $0 == "b" ? $1 : $0 }, "---1--c|")
    expect(cold("a--b--c|").withLatestFrom(cold("-1---2|")), "---1--2|")
    expect(cold("a--b--c|").withLatestFrom(cold("-1--#")), "---1#")
  }

  @Test func `29: merge completes after all, and its first error cancels the siblings`() {
    expect(.merge(cold("a---b|"), cold("--c----d|")), "a-c-b--d|")
    let sibling = scheduler.cold("a-b-c-d|")
    expect(.merge(sibling.asObservable(), cold("---#")), "a-b#")
    #expect(sibling.subscriptions == [.init(.seconds(8), .seconds(11))])
    expect(Observable<String>.merge(), "|")
  }

  @Test func `29: flatMap completes after outer and inners, and its first error cancels the siblings`() {
    let inner = scheduler.cold("1-2|")
    expect(cold("a-a--|").flatMap { _ in inner.asObservable() }, "1-(21)-2|")
    expect(cold("a|").flatMap { _ in inner.asObservable() }, "1-2|")
    let failing = scheduler.cold("-x-x-x")
    expect(cold("ab").flatMap { $0 == "a" ? failing.asObservable() : .error(MarbleError()) }, "-#")
    #expect(failing.subscriptions.map(\.disposed) == [.seconds(9)])
  }

  @Test func `29: flatMapLatest disposes the inner before, and completes with the last`() {
    let inner = scheduler.cold("-1-2-3|")
    expect(cold("a--a-|").flatMapLatest { _ in inner.asObservable() }, "-1--1-2-3|")
    #expect(inner.subscriptions.map(\.disposed) == [.seconds(3), .seconds(9)])
    expect(cold("a---|").flatMapLatest { _ in self.cold("-1|") }, "-1--|")
    expect(cold("a---|").flatMapLatest { _ in self.cold("-#") }, "-#")
  }

  @Test func `29: an inner stream that was left says nothing more, whatever its thread was about to say`() {
    let (outer, probe) = (PublishSubject<Int>(), Probe<Int>())
    let (old, new) = (PublishSubject<Int>(), PublishSubject<Int>())
    let (isOnItsWay, mayGoOn, isThrough) = (semaphore(), semaphore(), semaphore())
    let slow = old.asObservable().do(onNext: { _ in
      isOnItsWay.signal()
      mayGoOn.wait()
    })
    let subscription = outer.asObservable().flatMapLatest { $0 == 0 ? slow : new.asObservable() }.subscribe(probe)
    outer.onNext(0)
    Thread.detachNewThread {
      old.onNext(0)
      isThrough.signal()
    }
    isOnItsWay.wait()
    outer.onNext(1)
    new.onNext(1)
    mayGoOn.signal()
    isThrough.wait()
    #expect(probe.log == ["1"])
    subscription.dispose()
  }

  @Test func `29: flatMapLatest counts an inner stream out once, though its end races the next one`() throws {
    for _ in 0..<500 {
      let (outer, probe) = (PublishSubject<Int>(), Probe<Int>())
      let inners = [PublishSubject<Int>(), PublishSubject<Int>()]
      let subscription = outer.asObservable().flatMapLatest { inners[$0].asObservable() }.subscribe(probe)
      outer.onNext(0)
      try race(2) { thread in
        if thread == 0 { inners[0].onCompleted() } else { outer.onNext(1) }
      }
      inners[1].onNext(1)
      outer.onCompleted()
      #expect(probe.log == ["1"])
      inners[1].onCompleted()
      #expect(probe.log == ["1", "|", "."])
      subscription.dispose()
    }
  }

  private func semaphore() -> DispatchSemaphore { DispatchSemaphore(value: 0) }

  @Test func `30: concat subscribes to the next only when the one before is torn down`() {
    let probe = Probe<Int>()
    func source(_ number: Int) -> Observable<Int> {
      .create { observer in
        probe.note("start \(number)")
        observer.onNext(number)
        observer.onCompleted()
        return Disposables.create { probe.note("stop \(number)") }
      }
    }
    _ = Observable.concat(source(1), source(2)).concat(source(3)).subscribe(probe)
    #expect(
      probe.log == [
        "start 1", "1", "stop 1", "start 2", "2", "stop 2", "start 3", "3", "|", ".", "stop 3",
      ])
  }

  @Test func `30: a stream may continue as itself, after a pause`() {
    let pause = Observable<String>.empty().delay(.seconds(2), scheduler: scheduler)
    @Sendable func poll() -> Observable<String> { .concat(cold("a|"), pause, .deferred { poll() }) }
    expect(poll().take(3), "a--a--(a|)")
  }

  @Test func `30: an error ends concat, and the rest is not subscribed to`() {
    let never = scheduler.cold("a|")
    expect(.concat(cold("a-|"), cold("-#"), never.asObservable()), "a--#")
    #expect(never.subscriptions == [])
  }

  @Test func `30: concatMap keeps what comes meanwhile, and the source's error does not wait`() {
    expect(cold("a-b--|").concatMap { $0 == "a" ? self.cold("-1-2|") : self.cold("3|") }, "-1-23|")
    expect(cold("a-#").concatMap { _ in self.cold("-1-2|") }, "-1#")
  }

  @Test(arguments: Follower.all, Follower.End.allCases)
  func `30, 31: a source is torn down before the one that follows it is subscribed to`(
    _ follower: Follower, _ end: Follower.End
  ) {
    let log = Locked<[String]>([])
    let enders = Locked<[@Sendable () -> Void]>([])
    func source(_ name: String, fails: Bool) -> Observable<Int> {
      .create { observer in
        log.withLock { $0.append("+\(name)") }
        let finish: @Sendable () -> Void = { if fails { observer.onError(Broken()) } else { observer.onCompleted() } }
        switch end {
        case .atOnce: finish()
        case .onAnotherThreadMeanwhile:
          let isOver = returns(finish)
          #expect(isOver)
        case .later: enders.withLock { $0.append(finish) }
        }
        return Disposables.create { log.withLock { $0.append("-\(name)") } }
      }
    }
    let stream = follower.build(source("a", fails: follower.followsErrors), source("b", fails: false))
    let subscription = stream.subscribe(onError: { _ in })
    for index in 0..<2 { enders.withLock { $0.indices.contains(index) ? $0[index] : nil }?() }
    #expect(log.withLock { $0 } == ["+a", "-a", "+b", "-b"])
    subscription.dispose()
  }

  // A source of flatMapLatest is left for the next one, whether it has ended or not.
  @Test(arguments: Follower.all.filter { $0.name != "flatMapLatest" }, Follower.End.allCases)
  func `31: a stream does not follow a source that was disposed in the middle`(
    _ follower: Follower, _ end: Follower.End
  ) {
    let (log, handle, start) = (Locked<[String]>([]), Handle(), PublishSubject<Int>())
    let enders = Locked<[@Sendable () -> Void]>([])
    let first = Observable<Int>.create { observer in
      log.withLock { $0.append("+a") }
      let finish: @Sendable () -> Void = {
        handle.dispose()
        if follower.followsErrors { observer.onError(Broken()) } else { observer.onCompleted() }
      }
      switch end {
      case .atOnce: finish()
      case .onAnotherThreadMeanwhile:
        let isOver = returns(finish)
        #expect(isOver)
      case .later: enders.withLock { $0.append(finish) }
      }
      return Disposables.create { log.withLock { $0.append("-a") } }
    }
    let second = Observable<Int>.deferred {
      log.withLock { $0.append("+b") }
      return .empty()
    }
    let probe = Probe<Int>()
    handle.set(start.asObservable().flatMap { _ in follower.build(first, second) }.subscribe(probe))
    start.onNext(0)
    for finish in enders.withLock({ $0 }) { finish() }
    #expect(log.withLock { $0 } == ["+a", "-a"])
    #expect(probe.log == ["."])
  }

  @Test func `31: catch disposes the old attempt first`() {
    let probe = Probe<Int>()
    let failing = Observable<Int>.create { observer in
      defer { observer.onError(Broken()) }
      return Disposables.create { probe.note("stop") }
    }
    let source = failing.do(onDispose: { probe.note("disposed") })
    _ = source.catch { _ in .just(1).do(onSubscribe: { probe.note("second") }) }.subscribe(probe)
    #expect(probe.log.firstIndex(of: "disposed") ?? 9 < probe.log.firstIndex(of: "second") ?? 0)
    #expect(source.catchAndReturn(7).recorded() == ["7", "|", "."])
    #expect(source.catch { _ in throw Broken() }.recorded() == ["x", "."])
  }

  @Test func `31: retry of n makes n attempts, each torn down before the next`() {
    let source = scheduler.cold("-a#")
    expect(source.asObservable().retry(3), "-a-a-a#")
    #expect(source.subscriptions == [0, 2, 4].map { .init(.seconds($0), .seconds($0 + 2)) })
    expect(cold("-a|").retry(3), "-a|")
  }

  @Test func `31: dispose works in the middle of attempts`() {
    let source = scheduler.cold("-a#")
    let observer = scheduler.observe(source.asObservable().retry())
    scheduler.advance(to: .seconds(5))
    observer.dispose()
    scheduler.run()
    #expect(observer.difference(from: "-a-a-a") == nil)
    #expect(source.subscriptions.last == .init(.seconds(4), .seconds(5)))
    #expect(scheduler.pendingCount == 0)
  }

  @Test func `31: dispose in a synchronous retry stops it`() {
    let (handle, attempts, start) = (Handle(), Counter(), PublishSubject<Int>())
    let source = Observable<Int>.deferred {
      attempts.increment()
      if attempts.count == 10 { handle.dispose() }
      return .error(Broken())
    }
    handle.set(start.asObservable().flatMap { _ in source.retry() }.subscribe())
    start.onNext(0)
    #expect(attempts.count == 10)
  }

  @Test func `31: a policy says when to try again`() {
    let policy = RetryPolicy.exponential(
      attempts: 4, initial: .seconds(1), factor: 2, maximum: .seconds(3), jitter: 0)
    expect(cold("#").retry(when: policy, scheduler: scheduler), "------#")
    expect(
      cold("#").retry(when: policy.retrying { !($0 is MarbleError) }, scheduler: scheduler), "#")
    let observer = scheduler.observe(cold("#").retry(when: policy, scheduler: scheduler))
    scheduler.advance(by: .seconds(2))
    observer.dispose()
    #expect(scheduler.pendingCount == 0)
  }

  @Test func `31: full jitter takes anything up to the delay`() {
    let policy = RetryPolicy.exponential(attempts: 9, initial: .seconds(1), maximum: .seconds(10)) { 0.75 }
    #expect((1...5).map { policy.delay($0, Broken()) } == [0.25, 0.5, 1, 2, 2.5].map { .seconds($0) })
    #expect(policy.delay(9, Broken()) == nil)
  }

  @Test func `take until ends with the trigger's element, not with its completion`() {
    let source = scheduler.cold("a-b-c-d|")
    expect(source.asObservable().take(until: cold("---x--")), "a-b|")
    #expect(source.subscriptions.last?.disposed == .seconds(3))
    expect(cold("a-b|").take(until: cold("-|")), "a-b|")
    expect(cold("a-b|").take(until: cold("-#")), "a#")
  }

  @Test func `startWith comes first`() {
    expect(cold("-a|").startWith("8", "9"), "(89)a|")
  }
}
