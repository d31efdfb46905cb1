import Streams
import StreamsTesting
import Testing

/// A suite on a clock of its own.
protocol VirtualTime {
  var scheduler: TestScheduler { get }
}

extension VirtualTime {
  /// Subscribes to `stream` now, and expects it to say what `line` shows and to leave nothing behind.
  func expect<Element>(
    _ stream: Observable<Element>, _ line: String, error: any Error = MarbleError(),
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let start = String(repeating: "-", count: Int(scheduler.now / scheduler.frame))
    let observer = scheduler.observe(stream.map { "\($0)" })
    scheduler.run()
    #expect(observer.difference(from: start + line, error: error) == nil, sourceLocation: sourceLocation)
    #expect(scheduler.pendingCount == 0, sourceLocation: sourceLocation)
  }

  func cold(_ line: String) -> Observable<String> { scheduler.cold(line).asObservable() }
}

/// A scheduler that runs at once what is to wait, too.
struct Hasty: Scheduler {
  var now: Duration { .zero }

  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    action()
    return Disposables.create()
  }

  func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable { schedule(action) }
}
