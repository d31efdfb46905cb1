import HTTP
import Streams

/// One answer on its way to an observer.
final class ScriptRun: Sendable {
  private let observer: AnyObserver<HTTPResponsePart>
  private let schedule: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void
  private let steps: Locked<ArraySlice<ScriptedAnswer.Step>?>

  init(
    _ steps: [ScriptedAnswer.Step], observer: AnyObserver<HTTPResponsePart>,
    schedule: @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> Void
  ) {
    self.steps = Locked(steps[...])
    self.observer = observer
    self.schedule = schedule
  }

  /// Takes the steps up to the next wait, or to the end.
  func advance() {
    while true {
      let (step, isStopped) = steps.withLock { ($0?.popFirst(), $0 == nil) }
      guard !isStopped else { return }
      switch step {
      case .wait(let delay): return schedule(delay) { self.advance() }
      case .send(let part): observer.onNext(part)
      case .hang: return
      case .fail(let error): return end { $0.onError(error) }
      case nil: return end { $0.onCompleted() }
      }
    }
  }

  /// Takes no more steps; whether there was something left to do.
  func stop() -> Bool {
    steps.withLock { steps in
      defer { steps = nil }
      return steps != nil
    }
  }

  private func end(_ send: (AnyObserver<HTTPResponsePart>) -> Void) {
    if stop() { send(observer) }
  }
}
