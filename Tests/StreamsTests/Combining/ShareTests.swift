import SystemBase
import Testing

@testable import Streams

@Suite struct ShareTests {
  @Test(arguments: [0, 1])
  func `33: what a source sends at once reaches the first subscriber, and later ones by replay alone`(replay: Int) {
    let subject = BehaviorSubject(value: 1)
    let shared = subject.asObservable().share(replay: replay)
    let probes = (0..<2).map { _ in Probe<Int>() }
    let subscriptions = probes.map { shared.subscribe($0) }
    subject.onNext(2)
    #expect(probes[0].log == ["1", "2"])
    #expect(probes[1].log == (replay == 0 ? ["2"] : ["1", "2"]))
    for subscription in subscriptions { subscription.dispose() }
  }

  @Test
  func `32: a subscriber that subscribes again at the end has a connection that the old one's end does not affect`() {
    let observers = Locked<[AnyObserver<Int>]>([])
    let probes = (0..<2).map { _ in Probe<Int>() }
    let shared = Observable<Int>.create { observer in
      observers.withLock { $0.append(observer) }
      return Disposables.create()
    }.share()
    _ = shared.subscribe(onCompleted: { _ = shared.subscribe(probes[0]) })
    observers.withLock { $0[0] }.onCompleted()
    _ = shared.subscribe(probes[1])
    #expect(observers.withLock { $0.count } == 2)
    observers.withLock { $0[1] }.onNext(1)
    #expect(probes.map(\.log) == [["1"], ["1"]])
  }

  /// Shares a subject for as long as there is one, then 7.
  private func shared(_ subject: Locked<PublishSubject<Int>?>) -> Observable<Int> {
    .deferred { subject.withLock { $0 }?.asObservable() ?? .just(7) }.share()
  }

  @Test func `32: a subscriber after a source that went away while it was subscribed to connects again`() {
    let runs = Counter()
    let shared = Observable<Int>.deferred {
      runs.increment()
      return runs.count == 1 ? PublishSubject<Int>().asObservable() : .just(7)
    }.share()
    #expect(shared.recorded() == ["."])
    #expect(shared.recorded() == ["7", "|", "."])
  }

  @Test func `32: a source that goes away disposes all subscriptions, and the next one connects again`() {
    let subject = Locked<PublishSubject<Int>?>(PublishSubject())
    let shared = shared(subject)
    let probes = (0..<2).map { _ in Probe<Int>() }
    for probe in probes { _ = shared.subscribe(probe) }
    subject.withLock { $0 }?.onNext(1)
    _ = subject.withLock { exchange(&$0, with: nil) }
    #expect(probes.map(\.log) == [["1", "."], ["1", "."]])
    #expect(shared.recorded() == ["7", "|", "."])
  }

  @Test func `32: subscriptions do not keep the source`() {
    let probe = Probe<Int>()
    do {
      let subject = PublishSubject<Int>()
      _ = subject.asObservable().share().subscribe(probe)
      subject.onNext(1)
    }
    #expect(probe.log == ["1", "."])
  }

  @Test func `32: a subscriber that has found a connection whose source goes away then is disposed`() {
    let hub = Hub<Int>(capacity: 1)
    hub.next(1)
    hub.close()
    #expect(Observable { hub.subscribe($0) }.recorded() == ["1", "."])
  }

  @Test func `32: a subscriber that comes while the source goes away does not wait for nothing`() throws {
    let count = 8000
    let disposed = Counters(count)
    let subjects = (0..<count).map { _ in Locked<PublishSubject<Int>?>(PublishSubject()) }
    let streams = subjects.map { shared($0) }
    let first = streams.map { $0.subscribe() }
    try raceInStep(count) { index, thread in
      if thread == 0 {
        _ = subjects[index].withLock { exchange(&$0, with: nil) }
      } else {
        _ = streams[index].subscribe(onDisposed: { disposed.increment(index) })
      }
    }
    #expect(disposed.values.allSatisfy { $0 == 1 })
    withExtendedLifetime(first) {}
  }
}
