public import Streams
import SystemBase

/// A stream that plays events on a ``TestScheduler``, and records when it was subscribed to.
public struct Recording<Element: Sendable>: Sendable {
  /// The time span of a subscription.
  public struct Subscription: Hashable, Sendable {
    /// When it began.
    public let subscribed: Duration
    /// When it ended or was disposed; nil as long as it lasts.
    public fileprivate(set) var disposed: Duration?

    /// A subscription from `subscribed` to `disposed`.
    public init(_ subscribed: Duration, _ disposed: Duration?) {
      self.subscribed = subscribed
      self.disposed = disposed
    }
  }

  private let source: Observable<Element>
  private let log: Locked<[Subscription]>

  fileprivate init(_ source: Observable<Element>, scheduler: TestScheduler) {
    let log = Locked<[Subscription]>([])
    self.log = log
    self.source = .deferred {
      let index = log.withLock { log in
        log.append(Subscription(scheduler.now, nil))
        return log.count - 1
      }
      return source.do(onDispose: { log.withLock { $0[index].disposed = scheduler.now } })
    }
  }

  /// The subscriptions so far, in the order in which they began.
  public var subscriptions: [Subscription] { log.withLock { $0 } }

  /// The stream.
  public func asObservable() -> Observable<Element> { source }
}

extension TestScheduler {
  /// A stream that plays `marbles` to each subscriber, starting at its subscription.
  public func cold<Element: Sendable>(_ marbles: Marbles<Element>) -> Recording<Element> {
    let source = Observable<Element>.create { observer in
      Disposables.create(
        marbles.events.map { recorded in self.schedule(after: recorded.time) { observer.on(recorded.event) } })
    }
    return Recording(source, scheduler: self)
  }

  /// A stream that plays `marbles` once, starting now, to everyone who is subscribed. Without an end in `marbles`,
  /// subscriptions last until they are disposed.
  public func hot<Element: Sendable>(_ marbles: Marbles<Element>) -> Recording<Element> {
    let subject = PublishSubject<Element>()
    // Else its end is the last of its events.
    if marbles.events.allSatisfy({ if case .next = $0.event { true } else { false } }) { keep(subject) }
    let observer = subject.asObserver()
    for recorded in marbles.events { _ = schedule(after: recorded.time) { observer.on(recorded.event) } }
    return Recording(subject.asObservable(), scheduler: self)
  }

  /// A stream that plays `line` to each subscriber, starting at its subscription.
  public func cold<Element: Sendable>(
    _ line: String, values: [Character: Element], error: any Error = MarbleError()
  ) -> Recording<Element> {
    cold(Marbles(line, values: values, error: error, frame: frame))
  }

  /// A stream that plays `line` to each subscriber; each element is its own character.
  public func cold(_ line: String, error: any Error = MarbleError()) -> Recording<String> {
    cold(Marbles(line, error: error, frame: frame))
  }

  /// A stream that plays `line` once, starting now, to everyone who is subscribed.
  public func hot<Element: Sendable>(
    _ line: String, values: [Character: Element], error: any Error = MarbleError()
  ) -> Recording<Element> {
    hot(Marbles(line, values: values, error: error, frame: frame))
  }

  /// A stream that plays `line` once, starting now; each element is its own character.
  public func hot(_ line: String, error: any Error = MarbleError()) -> Recording<String> {
    hot(Marbles(line, error: error, frame: frame))
  }
}

/// An event, and the time at which it came.
public struct Recorded<Element: Sendable>: Sendable {
  /// The time by the scheduler's clock.
  public let time: Duration
  /// The event.
  public let event: Event<Element>

  /// `event` at `time`.
  public init(_ time: Duration, _ event: Event<Element>) {
    self.time = time
    self.event = event
  }
}

extension Recorded: Equatable where Element: Equatable {}
