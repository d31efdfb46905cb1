import Streams
import Testing

@Suite struct TransformTests {
  /// The elements in pairs, with the last one alone if their number is odd.
  private func pairs(_ source: Observable<Int>) -> Observable<String> {
    source.transform(Int?.none) { waiting, element, emit in
      if let first = waiting.take() { emit("\(first)\(element)") } else { waiting = element }
    } finishing: { waiting, emit in
      if let last = waiting { emit("\(last)") }
    }
  }

  @Test func `a step and the finish emit any elements, for each subscriber separately`() {
    let pairs = pairs(.from(1...5))
    #expect(pairs.recorded() == ["12", "34", "5", "|", "."])
    #expect(pairs.recorded() == ["12", "34", "5", "|", "."])
  }

  @Test func `an error of the source comes without the finish`() {
    #expect(pairs(Observable.from(1...3).concat(.error(Broken()))).recorded() == ["12", "x", "."])
  }

  @Test func `an error of the step ends the stream, and cancels the source`() {
    let teardowns = Counter()
    let source = Observable<Int>.create { observer in
      for element in 1...3 { observer.onNext(element) }
      return Disposables.create { teardowns.increment() }
    }
    let stream = source.transform(()) { _, element, emit in
      if element == 2 { throw Broken() }
      emit(element)
    } finishing: { _, _ in
    }
    #expect(stream.recorded() == ["1", "x", "."])
    #expect(teardowns.count == 1)
  }

  @Test func `an error of the finish is the end`() {
    let stream = Observable.from(1...2).transform(()) { _, element, emit in
      emit(element)
    } finishing: { _, _ in
      throw Broken()
    }
    #expect(stream.recorded() == ["1", "2", "x", "."])
  }

  @Test func `elements do not come after dispose, though the step continues to emit`() {
    let (probe, handle, emitted) = (Probe<Int>(), Handle(), Counter())
    let subject = PublishSubject<Int>()
    let stream = subject.asObservable().transform(()) { _, element, emit in
      for copy in 0..<3 { emit(element + copy) }
    } finishing: { _, _ in
    }
    let counted = stream.do(onNext: { _ in emitted.increment() })
    handle.set(counted.subscribe(probe) { _ in handle.dispose() })
    subject.onNext(7)
    #expect(probe.log == ["7", "."])
    #expect(emitted.count == 1)
  }
}
