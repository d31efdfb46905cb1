import Streams

extension Scheduler {
  /// The stream that a closure gives after a pause; without one, at once.
  func pause<Element>(
    _ delay: Duration, _ stream: @escaping @Sendable () throws -> Observable<Element>
  ) -> Observable<Element> {
    guard delay > .zero else { return .deferred(stream) }
    return Observable<Void>.create { observer in
      schedule(after: delay) {
        observer.onNext(())
        observer.onCompleted()
      }
    }.flatMap(stream)
  }
}
