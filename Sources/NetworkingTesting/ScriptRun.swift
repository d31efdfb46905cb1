import HTTP
import Streams

/// What comes next on the way to an observer.
enum ScriptStep<Element: Sendable>: Sendable {
  case wait(Duration)
  case send(Element)
  case fail(RequestError)
  case hang
}

/// One response, or subscription, on its way to an observer.
final class ScriptRun<Element: Sendable>: Sendable {
  private let scheduler: any Scheduler
  private let steps: Locked<ArraySlice<ScriptStep<Element>>?>
  private let waits = DisposeBag()

  init(_ steps: [ScriptStep<Element>], scheduler: any Scheduler) {
    self.steps = Locked(steps[...])
    self.scheduler = scheduler
  }

  /// The elements, for one subscriber.
  var elements: Observable<Element> {
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
  private func advance(_ observer: AnyObserver<Element>) {
    while true {
      let (step, isStopped) = steps.withLock { ($0?.popFirst(), $0 == nil) }
      guard !isStopped else { return }
      switch step {
      case .wait(let delay):
        waits.insert(scheduler.schedule(after: delay) { self.advance(observer) })
        return
      case .send(let element): observer.onNext(element)
      case .hang: return
      case .fail(let error): if stop() { observer.onError(error) }
      case nil: if stop() { observer.onCompleted() }
      }
    }
  }
}
