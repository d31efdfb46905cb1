import Streams
import StreamsTesting
import TestSupport
import Testing

/// Laws 32 to 34.
@Suite struct SharingTests {
  private let count = 40_000

  @Test
  func `32: racing first subscribers make one connection, the last dispose ends it, the next reconnects`() throws {
    let (connections, teardowns) = (Counter(), Counter())
    let shared = Observable<Int>.create { _ in
      connections.increment()
      return Disposables.create { teardowns.increment() }
    }.share()
    for round in 1...200 {
      let bag = DisposeBag()
      try race { _ in shared.subscribe().disposed(by: bag) }
      #expect(connections.count == round)
      #expect(teardowns.count == round - 1)
      bag.dispose()
      #expect(teardowns.count == round)
    }
  }

  @Test func `32: two first subscribers, a few nanoseconds apart, make one connection`() throws {
    let connections = Counters(count)
    let shared = (0..<count).map { index in
      Observable<Int>.create { _ in
        connections.increment(index)
        return Disposables.create()
      }.share()
    }
    try raceInStep(count) { index, _ in _ = shared[index].subscribe() }
    #expect(connections.values.allSatisfy { $0 == 1 })
  }

  @Test func `32: subscribers that subscribe and dispose in a race leave no connection open`() throws {
    let open = Counter()
    let shared = Observable<Int>.create { _ in
      open.increment()
      return Disposables.create { open.decrement() }
    }.share(replay: 1)
    try race { _ in
      for _ in 0..<500 { shared.subscribe().dispose() }
    }
    #expect(open.count == 0)
  }

  @Test func `32: the next subscriber after the end reconnects, and finds nothing to replay`() {
    let scheduler = TestScheduler()
    let source = scheduler.cold("a-b|")
    let shared = source.asObservable().share(replay: 2)
    let first = scheduler.observe(shared)
    scheduler.advance(to: .seconds(2))
    let second = scheduler.observe(shared)
    scheduler.run()
    let third = scheduler.observe(shared)
    scheduler.run()
    #expect(first.difference(from: "a-b|") == nil)
    #expect(second.difference(from: "--(ab)|") == nil)
    #expect(third.difference(from: "---a-b|") == nil)
    #expect(source.subscriptions.count == 2)
  }

  @Test func `33: replayed and live elements have no gap, no duplicate and no reordering between them`() throws {
    for _ in 0..<100 {
      let subject = ReplaySubject<Int>.createUnbounded()
      let behavior = BehaviorSubject(value: 0)
      let shared = subject.asObservable().share(replay: .max)
      let probes = (0..<3).map { _ in Probe<Int>() }
      let bag = DisposeBag()
      shared.subscribe().disposed(by: bag)
      try race(2) { thread in
        if thread == 0 {
          for index in 1...500 {
            subject.onNext(index)
            behavior.onNext(index)
          }
        } else {
          subject.asObservable().subscribe(probes[0]).disposed(by: bag)
          shared.subscribe(probes[1]).disposed(by: bag)
          behavior.asObservable().subscribe(probes[2]).disposed(by: bag)
        }
      }
      #expect(probes[0].elements == Array(1...500))
      #expect(probes[1].elements == Array(1...500))
      #expect(probes[2].elements == Array((probes[2].elements.first ?? 0)...500))
    }
  }

  @Test func `34: subjects replay what they are for, and their end, to the late`() {
    let (publish, behavior) = (PublishSubject<Int>(), BehaviorSubject(value: 0))
    let (replay, unbounded) = (ReplaySubject<Int>.create(bufferSize: 2), ReplaySubject<Int>.createUnbounded())
    for index in 1...3 {
      publish.onNext(index)
      behavior.onNext(index)
      replay.onNext(index)
      unbounded.onNext(index)
    }
    let streams = [
      publish.asObservable(), behavior.asObservable(), replay.asObservable(), unbounded.asObservable(),
    ]
    #expect(streams.map { $0.recorded() } == [[], ["3"], ["2", "3"], ["1", "2", "3"]])
    publish.onCompleted()
    behavior.onError(Broken())
    replay.onCompleted()
    unbounded.onError(Broken())
    #expect(
      streams.map { $0.recorded() } == [
        ["|", "."], ["x", "."], ["2", "3", "|", "."], ["1", "2", "3", "x", "."],
      ])
    #expect(behavior.value == 3)
    behavior.onNext(4)
    #expect(behavior.value == 3)
  }

  @Test func `34: a behavior's value is the latest, also while it is on its way`() {
    let behavior = BehaviorSubject(value: 0)
    let probe = Probe<Int>()
    let subscription = behavior.asObservable().subscribe(probe) {
      if $0 < 5 {
        behavior.onNext($0 + 1)
        #expect(behavior.value == $0 + 1)
      }
    }
    #expect(probe.elements == Array(0...5))
    subscription.dispose()
  }

  @Test func `34: a behavior's value is the last one delivered, also under races`() throws {
    let delivered = Counters(count)
    let behaviors = (0..<count).map { index in
      let behavior = BehaviorSubject(value: 0)
      _ = behavior.asObservable().subscribe(onNext: { delivered.set(index, to: $0) })
      return behavior
    }
    try raceInStep(count) { index, thread in behaviors[index].onNext(thread + 1) }
    #expect(delivered.values.elementsEqual(behaviors.map(\.value)))
  }

  @Test func `an observer's side of a subject passes everything on, and does not keep it after the end`() {
    weak var dropped: PublishSubject<Int>?
    let probe = Probe<Int>()
    do {
      let subject = PublishSubject<Int>()
      dropped = subject
      _ = subject.asObservable().subscribe(probe)
      _ = Observable.from(1...2).subscribe(subject.asObserver())
    }
    #expect(probe.log == ["1", "2", "|", "."])
    #expect(dropped == nil)
  }

  @Test func `a subject that is released disposes its subscribers`() {
    let probe = Probe<Int>()
    do {
      let subject = PublishSubject<Int>()
      _ = subject.asObservable().subscribe(probe)
      subject.onNext(1)
    }
    #expect(probe.log == ["1", "."])
  }

  @Test func `subscribers that leave in any order are forgotten, and the others keep theirs`() {
    let subject = PublishSubject<Int>()
    let probes = (0..<100).map { _ in Probe<Int>() }
    let subscriptions = probes.map { subject.asObservable().subscribe($0) }
    for index in probes.indices.shuffled() where index % 3 != 0 { subscriptions[index].dispose() }
    subject.onNext(1)
    #expect(probes.map(\.elements.count) == probes.indices.map { $0 % 3 == 0 ? 1 : 0 })
    for subscription in subscriptions { subscription.dispose() }
  }
}
