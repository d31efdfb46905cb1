import Streams
import SystemBase
import Testing

@Suite struct SerializerTests {
  @Test func `9: elements that were queued before a dispose in a handler are not delivered`() {
    let (probe, handle, passed) = (Probe<Int>(), Handle(), Counter())
    let observer = Locked<AnyObserver<Int>?>(nil)
    let source = Observable<Int>.create { sent in
      observer.withLock { $0 = sent }
      return Disposables.create()
    }
    let stream = source.map { element in
      passed.increment()
      return element
    }
    handle.set(
      stream.subscribe(probe) { element in
        if element == 1 { for next in 2...4 { observer.withLock { $0 }?.onNext(next) } }
        if element == 2 { handle.dispose() }
      })
    observer.withLock { $0 }?.onNext(1)
    #expect(probe.log == ["1", "2", "."])
    #expect(passed.count == 2)
  }
}
