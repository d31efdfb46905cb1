import HTTP
import Streams

/// One response on its way to an observer.
final class ScriptRun: Sendable {
  private let scheduler: any Scheduler
  private let steps: Locked<ArraySlice<ScriptedResponse.Step>?>
  private let waits = DisposeBag()

  init(_ steps: [ScriptedResponse.Step], scheduler: any Scheduler) {
    self.steps = Locked(steps[...])
    self.scheduler = scheduler
  }

  /// The response, for one subscriber.
  var parts: Observable<HTTPResponsePart> {
    .create { observer in
      self.advance(observer)
      return self.waits
    }
  }

  /// Takes no more steps. Returns whether the run had not ended.
  func stop() -> Bool {
    steps.withLock { steps in
      defer { steps = nil }
      return steps != nil
    }
  }

  /// Takes the steps up to the next wait or the end.
  private func advance(_ observer: AnyObserver<HTTPResponsePart>) {
    while true {
      let (step, isStopped) = steps.withLock { ($0?.popFirst(), $0 == nil) }
      guard !isStopped else { return }
      switch step {
      case .wait(let delay):
        waits.insert(scheduler.schedule(after: delay) { self.advance(observer) })
        return
      case .send(let part): observer.onNext(part)
      case .hang: return
      case .fail(let error): if stop() { observer.onError(error) }
      case nil: if stop() { observer.onCompleted() }
      }
    }
  }
}
