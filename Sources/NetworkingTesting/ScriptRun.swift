import HTTP
import Streams

/// One answer on its way to an observer.
final class ScriptRun: Sendable {
  private let schedule: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void
  private let steps: Locked<ArraySlice<ScriptedAnswer.Step>?>

  init(_ steps: [ScriptedAnswer.Step], schedule: @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> Void)
  {
    self.steps = Locked(steps[...])
    self.schedule = schedule
  }

  /// The answer, for one subscriber.
  var parts: Observable<HTTPResponsePart> {
    .create { observer in
      self.advance(observer)
      return Disposables.create()
    }
  }

  /// Takes no more steps; whether there was something left to do.
  func stop() -> Bool {
    steps.withLock { steps in
      defer { steps = nil }
      return steps != nil
    }
  }

  /// Takes the steps up to the next wait, or to the end.
  private func advance(_ observer: AnyObserver<HTTPResponsePart>) {
    while true {
      let (step, isStopped) = steps.withLock { ($0?.popFirst(), $0 == nil) }
      guard !isStopped else { return }
      switch step {
      case .wait(let delay): return schedule(delay) { self.advance(observer) }
      case .send(let part): observer.onNext(part)
      case .hang: return
      case .fail(let error): if stop() { observer.onError(error) }
      case nil: if stop() { observer.onCompleted() }
      }
    }
  }
}
