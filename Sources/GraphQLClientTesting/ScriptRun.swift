import HTTPClientCore
import Streams
import SystemBase

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
  private let request: HTTPRequest?
  private let deadlines: Locked<ExchangeDeadlines>?

  /// Takes the steps, and the request whose deadlines the run keeps; `nil` for a run without deadlines.
  init(_ steps: [ScriptStep<Element>], keepingTimeoutsOf request: HTTPRequest?, scheduler: any Scheduler) {
    self.steps = Locked(steps[...])
    self.request = request
    self.scheduler = scheduler
    deadlines = request.map { request in
      var deadlines = ExchangeDeadlines(request.timeouts, start: scheduler.instant)
      // A script has its connection at once.
      deadlines.recordActivity(at: scheduler.instant)
      return Locked(deadlines)
    }
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
        wait(delay, observer)
        return
      case .send(let element):
        record(element)
        observer.onNext(element)
      case .hang:
        wait(nil, observer)
        return
      case .fail(let error): if stop() { observer.onError(error) }
      case nil: if stop() { observer.onCompleted() }
      }
    }
  }

  private func record(_ element: Element) {
    guard let request, let deadlines else { return }
    deadlines.withLock { deadlines in
      deadlines.recordActivity(at: scheduler.instant)
      if case .head(let head)? = element as? HTTPResponsePart { deadlines.record(head, for: request) }
    }
  }

  /// Waits for a time, or for ever, but at most until the request's next deadline, which fails it.
  private func wait(_ delay: Duration?, _ observer: AnyObserver<Element>) {
    let next = deadlines?.withLock { $0.next.map { ($0.phase, $0.instant - scheduler.instant) } }
    if let request, let deadlines, let (phase, left) = next, left < delay ?? .seconds(Int64.max) {
      waits.insert(
        scheduler.schedule(after: left) {
          let error = deadlines.withLock { $0.error(for: phase, request) }
          if self.stop() { observer.onError(error) }
        })
    } else if let delay {
      waits.insert(scheduler.schedule(after: delay) { self.advance(observer) })
    }
  }
}

extension Scheduler {
  fileprivate var instant: Instant { Instant(nanoseconds: 0) + now }
}
