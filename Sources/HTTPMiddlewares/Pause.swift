import Streams

extension Scheduler {
  /// The stream that a closure gives after a pause, on the scheduler.
  func pause<Element>(
    _ delay: Duration, _ stream: @escaping @Sendable () throws -> Observable<Element>
  ) -> Observable<Element> {
    Observable<Void>.create { observer in
      schedule(after: delay) {
        observer.onNext(())
        observer.onCompleted()
      }
    }.flatMap(stream)
  }
}
