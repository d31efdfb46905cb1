import Streams
import StreamsTesting
import Testing

@Suite struct ObserveOnTests {
  @Test func `11: dispose in a handler stops a turn at once`() {
    let (scheduler, probe, handle, passed) = (TestScheduler(), Probe<Int>(), Handle(), Counter())
    let stream = Observable.from(1...5).observe(on: scheduler).map { element in
      passed.increment()
      return element
    }
    handle.set(stream.subscribe(probe) { if $0 == 2 { handle.dispose() } })
    scheduler.run()
    #expect(probe.log == ["1", "2", "."])
    #expect(passed.count == 2)
  }
}
