import Streams
import Testing

@Suite struct ReduceTests {
  private func sum(_ source: Observable<Int>) -> Observable<Int> {
    source.reduce(into: 0) {
      $0 += $1
    } finishing: {
      $0
    }
  }

  @Test func `all elements come to one, at completion`() {
    #expect(sum(.from(1...4)).recorded() == ["10", "|", "."])
    #expect(sum(.empty()).recorded() == ["0", "|", "."])
  }

  @Test func `each subscriber has a fold of its own`() {
    let sum = sum(.from([1, 2]))
    #expect(sum.recorded() == ["3", "|", "."])
    #expect(sum.recorded() == ["3", "|", "."])
  }

  @Test func `an error of the source is all that comes`() {
    #expect(sum(.from([1, 2]).concat(.error(Broken()))).recorded() == ["x", "."])
  }

  @Test func `an error of the closure ends the stream, and cancels the source`() {
    let teardowns = Counter()
    let source = Observable<Int>.create { observer in
      for element in 1...3 { observer.onNext(element) }
      return Disposables.create { teardowns.increment() }
    }
    let sum = source.reduce(into: 0) {
      if $1 == 2 { throw Broken() } else { $0 += $1 }
    } finishing: {
      $0
    }
    #expect(sum.recorded() == ["x", "."])
    #expect(teardowns.count == 1)
  }

  @Test func `events do not come after dispose in the handler of the one element`() {
    let (probe, handle) = (Probe<Int>(), Handle())
    let subject = PublishSubject<Int>()
    handle.set(sum(subject.asObservable()).subscribe(probe) { _ in handle.dispose() })
    subject.onNext(7)
    subject.onCompleted()
    #expect(probe.log == ["7", "."])
  }

  @Test func `the result of the finish is the element`() {
    #expect(
      Observable.from(1...3).reduce(into: 0) {
        $0 += $1
      } finishing: {
        "\($0)!"
      }.recorded() == ["6!", "|", "."])
  }

  @Test func `an error at the finish ends the stream with it`() {
    let sum = Observable.from(1...3).reduce(into: 0) {
      $0 += $1
    } finishing: { _ -> Int in
      throw Broken()
    }
    #expect(sum.recorded() == ["x", "."])
  }
}
