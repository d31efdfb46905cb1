import Streams
import SystemBase
import Testing

/// One entry of the compliance suite: a source that sends what it is told to.
struct Source: Sendable, CustomTestStringConvertible {
  /// A stream, and what sends its subscribers events, which may be there only once there is a subscriber.
  ///
  /// A subject is called as it is: its `asObserver()` would put in order what races.
  typealias Line = (stream: Observable<Int>, sender: @Sendable () -> any ObserverType<Int>)

  let name: String
  /// Whether all subscribers of a stream have the same run.
  let isShared: Bool
  let make: @Sendable () -> Line

  init(_ name: String, isShared: Bool = true, make: @escaping @Sendable () -> Line) {
    self.name = name
    self.isShared = isShared
    self.make = make
  }

  var testDescription: String { name }
}

extension Source {
  /// Every source of the surface that is told what to send. One that is missing here, and in ``Constant``, fails
  /// ``SurfaceTests``.
  static let all = [create, deferred, publish, behavior, replay, replayOfNone, replayOfAll]

  static let create = Source("create", isShared: false) {
    let observers = Locked<[AnyObserver<Int>]>([])
    let stream = Observable<Int>.create { observer in
      observers.withLock { $0.append(observer) }
      return Disposables.create { observer.onNext(.min) }
    }
    return (stream, { observers.withLock { $0[0] } })
  }

  static let publish = Source("PublishSubject") {
    let subject = PublishSubject<Int>()
    return (subject.asObservable(), { subject })
  }

  private static let deferred = Source("deferred", isShared: false) {
    let (stream, sender) = create.make()
    return (.deferred { stream }, sender)
  }

  /// Without the value that it begins with.
  private static let behavior = Source("BehaviorSubject") {
    let subject = BehaviorSubject(value: 0)
    return (subject.asObservable().skip(1), { subject })
  }

  private static let replay = replaying("ReplaySubject", .create(bufferSize: 2))
  private static let replayOfNone = replaying("ReplaySubject, of none", .create(bufferSize: 0))
  private static let replayOfAll = replaying("ReplaySubject, of all", .createUnbounded())

  private static func replaying(
    _ name: String, _ make: @autoclosure @escaping @Sendable () -> ReplaySubject<Int>
  ) -> Source {
    Source(name) {
      let subject = make()
      return (subject.asObservable(), { subject })
    }
  }
}

/// One entry of the compliance suite: a source that sends each subscriber the same, by itself.
struct Constant: Sendable, CustomTestStringConvertible {
  let name: String
  let stream: Observable<Int>
  /// What each subscriber is told, as a ``Probe`` logs it; nothing where there is no end.
  let log: [String]

  init(_ name: String, _ stream: Observable<Int>, _ log: [String]) {
    self.name = name
    self.stream = stream
    self.log = log
  }

  var testDescription: String { name }

  static let all = [
    Constant("just", .just(1), ["1", "|"]),
    Constant("from", .from(1...3), ["1", "2", "3", "|"]),
    Constant("from, asynchronous", .from(Async(1...3)), ["1", "2", "3", "|"]),
    Constant("empty", .empty(), ["|"]),
    Constant("error", .error(Broken()), ["x"]),
    Constant("never", .never(), []),
    Constant("async", .async { 1 }, ["1", "|"]),
    Constant("async, failing", .async { throw Broken() }, ["x"]),
  ]
}

/// What laws are tested on: a source, alone or with an operator behind it.
struct Pipeline: Sendable, CustomTestStringConvertible {
  let source: Source
  let op: Operator?

  var testDescription: String { [source.name, op?.name].compactMap { $0 }.joined(separator: " → ") }

  /// Each operator behind one source, and each source alone.
  static func all(_ operators: [Operator], behind source: Source) -> [Pipeline] {
    operators.map { Pipeline(source: source, op: $0) } + Source.all.map { Pipeline(source: $0, op: nil) }
  }

  /// Makes one.
  func make(hook: @escaping Operator.Hook = { _ in }) -> Source.Line {
    let (stream, sender) = source.make()
    return (op?(stream, hook: hook) ?? stream, sender)
  }
}

/// A sequence as an asynchronous one.
private struct Async<Base: Sequence & Sendable>: AsyncSequence, Sendable where Base.Element: Sendable {
  let base: Base

  init(_ base: Base) { self.base = base }

  struct Iterator: AsyncIteratorProtocol {
    var base: Base.Iterator
    mutating func next() async -> Base.Element? { base.next() }
  }

  func makeAsyncIterator() -> Iterator { Iterator(base: base.makeIterator()) }
}
