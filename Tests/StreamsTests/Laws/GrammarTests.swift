import Foundation
import Streams
import TestSupport
import Testing

/// Laws 1 to 7.
@Suite struct GrammarTests {
  private static let behindCreate = Pipeline.all(Operator.all, behind: .create)
  private static let behindSubject = Pipeline.all(Operator.lossless, behind: .publish)
  private let count = raceEvents / 8

  @Test(arguments: behindCreate, [true, false])
  func `1: an ill-mannered source does not get past the end`(_ pipeline: Pipeline, _ completes: Bool) {
    let probe = Probe<Int>()
    let (stream, sender) = pipeline.make()
    let subscription = stream.subscribe(probe)
    let observer = sender()
    observer.onNext(1)
    if completes { observer.onCompleted() } else { observer.onError(Broken()) }
    observer.onNext(2)
    observer.onError(Broken())
    observer.onCompleted()
    let handled = completes || pipeline.op?.has(.handlesErrors) == true
    #expect(probe.log.filter { $0 != "-1" } == ["1", handled ? "|" : "x", "."])
    subscription.dispose()
  }

  @Test(arguments: behindCreate)
  func `2, 3, 4: a stream has one end, nothing after it and no overlap under races`(_ pipeline: Pipeline) throws {
    let probe = Probe<Int>()
    let (stream, sender) = pipeline.make()
    let subscription = stream.subscribe(probe)
    let observer = sender()
    try race { [count] thread in
      for index in 0..<count { observer.onNext(index) }
      if thread.isMultiple(of: 2) { observer.onCompleted() } else { observer.onError(Broken()) }
      for index in 0..<100 { observer.onNext(index) }
    }
    #expect(probe.terminals == 1)
    #expect(probe.overlaps == 0)
    #expect(probe.late == 0)
    subscription.dispose()
  }

  @Test(arguments: Constant.all)
  func `1 to 5: a source that sends by itself sends the same to all`(_ constant: Constant) throws {
    let probes = (0..<80).map { _ in Probe<Int>() }
    let (bag, disposed) = (DisposeBag(), DispatchGroup())
    for _ in probes { disposed.enter() }
    try race { thread in
      for probe in probes[(thread * 10)...].prefix(10) {
        constant.stream.do(onDispose: { disposed.leave() }).subscribe(probe).disposed(by: bag)
      }
    }
    if constant.log.isEmpty { bag.dispose() }
    #expect(disposed.wait(timeout: .now() + 20) == .success)
    #expect(probes.allSatisfy { $0.log.filter { $0 != "." } == constant.log && $0.overlaps == 0 })
  }

  @Test(arguments: behindSubject)
  func `5: elements are not lost, and each producer's order is kept`(_ pipeline: Pipeline) throws {
    let probe = Probe<Int>()
    let (stream, sender) = pipeline.make()
    let subscription = stream.subscribe(probe)
    let observer = sender()
    try race { [count] thread in
      for index in 0..<count { observer.onNext(thread * raceEvents + index) }
    }
    observer.onCompleted()
    #expect(probe.log.suffix(2) == ["|", "."])
    #expect(probe.overlaps == 0)
    for thread in 0..<8 {
      let mine = probe.elements.filter { $0 / raceEvents == thread }.map { $0 % raceEvents }
      #expect(mine.elementsEqual(0..<count), "of producer \(thread)")
    }
    subscription.dispose()
  }

  @Test func `O1: elements of eight threads through all operators at once are not lost, and keep their order`() throws {
    let probe = Probe<Int>()
    let (total, count) = (100_000, 100_000 / 8)
    let subject = PublishSubject<Int>()
    let stream = Operator.lossless.reduce(subject.asObservable()) { stream, op in op(stream) }
    let subscription = stream.subscribe(probe)
    try race { thread in
      for index in 0..<count { subject.onNext(thread * total + index) }
    }
    subject.onCompleted()
    #expect(probe.log.suffix(2) == ["|", "."])
    #expect(probe.overlaps == 0)
    #expect(probe.late == 0)
    let events = Dictionary(grouping: probe.elements) { $0 / total }
    #expect(events.count == 8)
    for (thread, mine) in events {
      #expect(mine.elementsEqual((0..<count).map { thread * total + $0 }), "of producer \(thread)")
    }
    subscription.dispose()
  }

  @Test(arguments: behindSubject)
  func `6: a re-entrant emission is queued, and all see one order`(_ pipeline: Pipeline) {
    let (first, second) = (Probe<Int>(), Probe<Int>())
    let (stream, sender) = pipeline.make()
    let subscriptions = Disposables.create(
      stream.subscribe(first) { if $0 < 1000 { sender().onNext($0 + 1) } }, stream.subscribe(second))
    sender().onNext(0)
    #expect(first.elements == Array(0...1000))
    #expect(second.elements == (pipeline.source.isShared ? Array(0...1000) : []))
    #expect(first.overlaps == 0)
    subscriptions.dispose()
  }

  @Test(arguments: behindCreate)
  func `7: an emitter's calls do nothing after the end or dispose`(_ pipeline: Pipeline) {
    let (ended, disposed) = (Probe<Int>(), Probe<Int>())
    let calls = Counter()
    let lines = (0..<2).map { _ in pipeline.make { _ in calls.increment() } }
    let subscriptions = zip(lines, [ended, disposed]).map { $0.stream.subscribe($1) }
    let observers = lines.map { $0.sender() }
    observers[0].onCompleted()
    subscriptions[1].dispose()
    for observer in observers {
      observer.onNext(1)
      observer.onError(Broken())
      observer.onCompleted()
    }
    #expect(ended.log == ["|", "."])
    #expect(disposed.log == ["."])
    #expect(calls.count == 0)
  }
}
