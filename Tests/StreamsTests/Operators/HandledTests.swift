import StreamsTesting
import SystemBase
import Testing

@testable import Streams

@Suite("handled: an operator whose state is one object")
struct HandledTests {
  /// A handler that keeps its interruption.
  private final class Interruptible: SourceHandler {
    let interruption = Locked<Interruption?>(nil)
    private let sources: @Sendable (Int) -> Observable<Int>?
    private let onStart: @Sendable (Interruptible) -> Void
    private let count = Locked(0)

    /// Takes the sources by their numbers; the one after an error, if there is none, is the end.
    init(
      onStart: @escaping @Sendable (Interruptible) -> Void = { _ in },
      _ sources: @escaping @Sendable (Int) -> Observable<Int>?
    ) {
      self.sources = sources
      self.onStart = onStart
    }

    func interrupt(_ error: (any Error)? = Interrupted()) { interruption.withLock { $0 }? { error } }

    func start(_ interruption: @escaping Interruption) throws -> Observable<Int> {
      self.interruption.withLock { $0 = interruption }
      onStart(self)
      return sources(0) ?? .empty()
    }

    func next(_ element: Int, _ emit: (Int) -> Void) { emit(element) }

    func end(
      _ error: (any Error)?, _ interruption: @escaping Interruption, _ emit: (Int) -> Void
    ) throws -> Observable<Int>? {
      guard let error else { return nil }
      let number = count.withLock { count in
        count += 1
        return count
      }
      guard let source = sources(number) else { throw error }
      return source
    }

    func dispose() { interruption.withLock { $0 = nil } }
  }

  private func record(
    _ stream: Observable<Int>, onNext: @escaping @Sendable (Int) -> Void = { _ in }
  ) -> (events: Locked<[String]>, subscription: any Disposable) {
    let events = Locked<[String]>([])
    let subscription = stream.subscribe(
      onNext: { element in
        events.withLock { $0.append("\(element)") }
        onNext(element)
      }, onError: { error in events.withLock { $0.append("\(error)") } },
      onCompleted: { events.withLock { $0.append("completed") } },
      onDisposed: { events.withLock { $0.append("disposed") } })
    return (events, subscription)
  }

  @Test func `an interruption ends the source, which is torn down, and the stream`() {
    let tornDown = Counter()
    let handler = Interruptible { number in
      number > 0
        ? nil
        : .create { observer in
          observer.onNext(1)
          return Disposables.create { tornDown.increment() }
        }
    }
    let (events, _) = record(.handled { handler })
    #expect(tornDown.count == 0)
    handler.interrupt()
    #expect(events.withLock { $0 } == ["1", "Interrupted()", "disposed"])
    #expect(tornDown.count == 1)
    handler.interrupt()
    #expect(events.withLock { $0.count } == 3)
  }

  @Test func `an interruption without an error changes nothing`() {
    let subject = PublishSubject<Int>()
    let handler = Interruptible { $0 == 0 ? subject.asObservable() : nil }
    let (events, _) = record(.handled { handler })
    handler.interrupt(nil)
    subject.onNext(1)
    subject.onCompleted()
    #expect(events.withLock { $0 } == ["1", "completed", "disposed"])
  }

  @Test func `an interruption before there is a source is not lost, and that source is not started`() {
    let starts = Counter()
    let handler = Interruptible(onStart: { $0.interrupt() }) { number in
      guard number == 0 else { return nil }
      return .deferred {
        starts.increment()
        return .never()
      }
    }
    let (events, _) = record(.handled { handler })
    #expect(events.withLock { $0 } == ["Interrupted()", "disposed"])
    #expect(starts.count == 0)
  }

  @Test func `an interruption during an event comes after it`() {
    let subject = PublishSubject<Int>()
    let handler = Interruptible { $0 == 0 ? subject.asObservable() : nil }
    let (events, _) = record(.handled { handler }) { _ in handler.interrupt() }
    subject.onNext(1)
    subject.onNext(2)
    #expect(events.withLock { $0 } == ["1", "Interrupted()", "disposed"])
  }

  @Test func `what follows an interruption takes the place of the source`() {
    let (first, second) = (PublishSubject<Int>(), PublishSubject<Int>())
    let handler = Interruptible { [first, second].indices.contains($0) ? [first, second][$0].asObservable() : nil }
    let (events, subscription) = record(.handled { handler })
    first.onNext(1)
    handler.interrupt()
    first.onNext(2)
    second.onNext(3)
    subscription.dispose()
    second.onNext(4)
    #expect(events.withLock { $0 } == ["1", "3", "disposed"])
  }

  @Test func `sources that fail at once use up no stack, one after the other`() {
    let handler = Interruptible { $0 < 100_000 ? .error(Broken()) : .just(7) }
    let (events, _) = record(.handled { handler })
    #expect(events.withLock { $0 } == ["7", "completed", "disposed"])
  }

  @Test func `interruptions and events of several threads come one at a time, and end it once`() async {
    for _ in 0..<200 {
      let subject = PublishSubject<Int>()
      let handler = Interruptible { $0 == 0 ? subject.asObservable() : nil }
      let (running, overlaps, ends) = (Locked(false), Counter(), Counter())
      let subscription = Observable.handled { handler }.subscribe(
        onNext: { _ in
          let isRunning = running.withLock { exchange(&$0, with: true) }
          if isRunning { overlaps.increment() }
          running.withLock { $0 = false }
        }, onError: { _ in ends.increment() })
      await withTaskGroup(of: Void.self) { group in
        group.addTask { for number in 0..<50 { subject.onNext(number) } }
        group.addTask { handler.interrupt() }
        group.addTask { handler.interrupt() }
      }
      #expect(overlaps.count == 0)
      #expect(ends.count == 1)
      subscription.dispose()
    }
  }
}
