import Streams
import SystemBase
import Testing

@Suite struct RetryTests {
  @Test(arguments: [Duration.zero, .seconds(1)])
  func `31: an attempt that fails later is torn down before the next one, also after a delay`(_ delay: Duration) {
    let (probe, starts, observers) = (Probe<Int>(), Counter(), Locked<[AnyObserver<Int>]>([]))
    let source = Observable<Int>.create { observer in
      starts.increment()
      let number = starts.count
      probe.note("start \(number)")
      observers.withLock { $0.append(observer) }
      return Disposables.create { probe.note("stop \(number)") }
    }
    let policy = RetryPolicy { attempt, _ in attempt < 3 ? delay : nil }
    _ = source.retry(when: policy, scheduler: Hasty()).subscribe(probe)
    for index in 0..<3 { observers.withLock { $0[index] }.onError(Broken()) }
    #expect(probe.log == ["start 1", "stop 1", "start 2", "stop 2", "start 3", "x", "stop 3", "."])
  }

  @Test(arguments: [0, -1, .min]) func `31: retry makes one attempt at least`(_ count: Int) {
    let attempts = Counter()
    let source = Observable<Int>.error(Broken()).do(onSubscribe: { attempts.increment() })
    #expect(source.retry(count).recorded() == ["x", "."])
    #expect(attempts.count == 1)
  }
}
