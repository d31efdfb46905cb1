import Streams
import SystemBase
import Testing

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
}
