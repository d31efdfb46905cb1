public import Streams
import SystemBase

/// Records the events of a stream and their times.
///
/// Events may be delivered on any thread. Its checks return what is wrong as text, for the test framework of your
/// choice:
///
///     #expect(observer.difference(from: "--a-b|") == nil)
public final class TestObserver<Element: Sendable>: Disposable {
  private struct State {
    var events: [Recorded<Element>] = []
    var isDisposed = false
    var subscription: (any Disposable)?
  }

  private let scheduler: TestScheduler
  private let state = Locked(State())

  init(_ scheduler: TestScheduler) { self.scheduler = scheduler }

  func subscribe(to source: Observable<Element>) {
    let subscription = source.subscribe(
      onNext: { self.record(.next($0)) }, onError: { self.record(.error($0)) },
      onCompleted: { self.record(.completed) },
      onDisposed: { self.state.withLock { $0.isDisposed = true } })
    state.withLock { $0.subscription = subscription }
  }

  /// The events so far.
  public var events: [Recorded<Element>] { state.withLock { $0.events } }

  /// The elements so far.
  public var elements: [Element] {
    events.compactMap {
      if case .next(let element) = $0.event { element } else { nil }
    }
  }

  /// Whether the subscription has ended and been torn down.
  public var isDisposed: Bool { state.withLock { $0.isDisposed } }

  /// Disposes the subscription.
  public func dispose() { state.withLock { $0.subscription }?.dispose() }

  /// How the events so far differ from the marble string `line`, as two lines above each other; nil if they do not. If
  /// `line` is not well-formed, or `values` lacks one of its elements, the text says so. More than 100 frames without an
  /// event are shown as their number.
  public func difference(
    from line: String, values: [Character: Element], error: any Error = MarbleError()
  ) -> String? where Element: Equatable {
    let expected: [Recorded<Element>]
    do {
      expected = try Marbles(parsing: line, values: values, error: error, frame: scheduler.frame).events
    } catch {
      return error.description
    }
    let recorded = events
    if expected == recorded { return nil }
    func name(_ element: Element) -> Character { values.first { $0.value == element }?.key ?? "?" }
    let lines = [expected, recorded].map { marbleLine($0, frame: scheduler.frame, name: name) }
    let notes = recorded.filter { recorded in
      guard recorded.time.attoseconds.isMultiple(of: scheduler.frame.attoseconds) else { return true }
      return switch recorded.event {
      case .next(let element): name(element) == "?"
      case .error: !expected.contains(recorded)
      case .completed: false
      }
    }
    return "expected  \(lines[0])\nrecorded  \(lines[1])"
      + notes.map { "\n          \($0.event) at \($0.time)" }.joined()
  }

  private func record(_ event: Event<Element>) {
    let recorded = Recorded(scheduler.now, event)
    state.withLock { $0.events.append(recorded) }
  }
}

extension TestObserver where Element == String {
  /// How the events so far differ from the marble string `line`, as two lines above each other; nil if they do not.
  public func difference(from line: String, error: any Error = MarbleError()) -> String? {
    let names = line.filter { !" -()|#".contains($0) } + elements.compactMap { $0.count == 1 ? $0.first : nil }
    let values = Dictionary(names.map { ($0, String($0)) }, uniquingKeysWith: { first, _ in first })
    return difference(from: line, values: values, error: error)
  }
}

extension TestScheduler {
  /// Subscribes to `source` now, and records its events with this scheduler's times.
  public func observe<Element: Sendable>(_ source: Observable<Element>) -> TestObserver<Element> {
    let observer = TestObserver<Element>(self)
    observer.subscribe(to: source)
    return observer
  }
}
