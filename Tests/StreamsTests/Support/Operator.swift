import Streams
import Testing

/// One entry of the compliance suite: an operator, built so that it passes the integers of its source on unchanged.
struct Operator: Sendable, CustomTestStringConvertible {
  /// Called with each element by the operator's closure, where it has one that sees elements.
  typealias Hook = @Sendable (Int) throws -> Void

  enum Trait: Sendable {
    /// Has a closure that sees the elements: the hook is called.
    case hooked
    /// Has a closure that sees the error: the hook is called with ``Operator/atError``.
    case hookedAtError
    /// Does something else with errors than to pass them on.
    case handlesErrors
    /// Tears a source down before what follows from its end is sent on.
    case tearsDownFirst
    /// Does that at an error.
    case tearsDownFirstAtError
    /// May leave elements out when they come fast.
    case thins
  }

  /// What the hook is called with at an error.
  static let atError = -1

  let name: String
  let traits: Set<Trait>
  let build: @Sendable (Observable<Int>, @escaping Hook) -> Observable<Int>

  init(
    _ name: String, _ traits: Set<Trait> = [],
    build: @escaping @Sendable (Observable<Int>, @escaping Hook) -> Observable<Int>
  ) {
    self.name = name
    self.traits = traits
    self.build = build
  }

  var testDescription: String { name }

  func has(_ trait: Trait) -> Bool { traits.contains(trait) }

  func callAsFunction(_ source: Observable<Int>) -> Observable<Int> { build(source) { _ in } }

  func callAsFunction(_ source: Observable<Int>, hook: @escaping Hook) -> Observable<Int> { build(source, hook) }
}

struct Broken: Error {}

extension Operator {
  /// Every operator of the surface. One that is missing here fails ``SurfaceTests``.
  static let all = linear + errors + [handled] + combining + scheduling

  static let hooked = all.filter { $0.has(.hooked) }
  static let lossless = all.filter { !$0.has(.thins) }

  private static let now = ImmediateScheduler()

  private static let linear: [Operator] = [
    Operator("map", [.hooked]) { source, hook in
      source.map {
        try hook($0)
        return $0
      }
    },
    Operator("compactMap", [.hooked]) { source, hook in
      source.compactMap {
        try hook($0)
        return $0
      }
    },
    Operator("filter", [.hooked]) { source, hook in
      source.filter {
        try hook($0)
        return true
      }
    },
    Operator("scan", [.hooked]) { source, hook in
      source.scan(0) {
        try hook($1)
        return $1
      }
    },
    Operator("distinctUntilChanged", [.hooked]) { source, hook in
      source.distinctUntilChanged {
        try hook($1)
        return false
      }
    },
    Operator("distinctUntilChanged, of equals") { source, _ in source.distinctUntilChanged() },
    Operator("do", [.hooked, .hookedAtError]) { source, hook in
      source.do(onNext: { try hook($0) }, onError: { _ in try hook(atError) })
    },
    Operator("take") { source, _ in source.take(.max) },
    Operator("take, until") { source, _ in source.take(until: Observable<Int>.never()) },
    Operator("skip") { source, _ in source.skip(0) },
    Operator("startWith") { source, _ in source.startWith() },
    Operator("asSingle, of each") { source, _ in source.flatMap { Observable.just($0).asSingle() } },
  ]

  private static let errors: [Operator] = [
    Operator("catch", [.hookedAtError, .tearsDownFirstAtError]) { source, hook in
      source.catch {
        try hook(atError)
        throw $0
      }
    },
    Operator("catch, again", [.tearsDownFirstAtError]) { source, _ in
      source.catch { .error($0) }.catch { throw $0 }
    },
    Operator("catchAndReturn", [.handlesErrors, .tearsDownFirstAtError]) { source, _ in source.catchAndReturn(-1) },
    Operator("retry") { source, _ in source.retry(1) },
    Operator("retry, when", [.hookedAtError]) { source, hook in
      let policy = RetryPolicy { _, _ in
        try? hook(atError)
        return nil
      }
      return source.retry(when: policy, scheduler: now)
    },
  ]

  private static let handled = Operator("handled", [.hooked, .hookedAtError, .tearsDownFirstAtError]) { source, hook in
    .handled { PassingHandler(first: source, onNext: hook) }
  }

  private static let combining: [Operator] = [
    Operator("flatMap", [.hooked]) { source, hook in
      source.flatMap {
        try hook($0)
        return .just($0)
      }
    },
    Operator("flatMap, as inner") { source, _ in Observable.just(0).flatMap { _ in source } },
    Operator("flatMapLatest", [.hooked]) { source, hook in
      source.flatMapLatest {
        try hook($0)
        return .just($0)
      }
    },
    Operator("flatMapLatest, as inner") { source, _ in Observable.just(0).flatMapLatest { _ in source } },
    Operator("concatMap", [.hooked]) { source, hook in
      source.concatMap {
        try hook($0)
        return .just($0)
      }
    },
    Operator("concatMap, as inner", [.tearsDownFirst]) { source, _ in Observable.just(0).concatMap { _ in source } },
    Operator("merge") { source, _ in .merge(.empty(), source) },
    Operator("concat, first", [.tearsDownFirst]) { source, _ in source.concat(.empty()) },
    Operator("concat, last") { source, _ in .concat(.empty(), source) },
    Operator("zip", [.hooked]) { source, hook in
      zipped(source) { partners, source in
        .zip(partners, source) { _, element in
          try hook(element)
          return element
        }
      }
    },
    Operator("zip, of three") { source, _ in zipped(source) { Observable.zip($0, $0, $1).map(\.2) } },
    Operator("zip, of four") { source, _ in zipped(source) { Observable.zip($0, $0, $0, $1).map(\.3) } },
    Operator("zip, of many") { source, _ in zipped(source) { Observable.zip([$0, $0, $0, $1]).map { $0[3] } } },
    Operator("combineLatest", [.hooked]) { source, hook in
      Observable.combineLatest(.just(0), source) { _, element in
        try hook(element)
        return element
      }
    },
    Operator("combineLatest, of three") { source, _ in
      Observable.combineLatest(.just(0), source, .just(0)).map(\.1)
    },
    Operator("combineLatest, of four") { source, _ in
      Observable.combineLatest(.just(0), .just(0), source, .just(0)).map(\.2)
    },
    Operator("withLatestFrom", [.hooked]) { source, hook in
      source.withLatestFrom(Observable.just(0)) { element, _ in
        try hook(element)
        return element
      }
    },
    Operator("withLatestFrom, alone") { source, _ in
      .deferred {
        let latest = BehaviorSubject(value: 0)
        return source.do(onNext: { latest.onNext($0) }).withLatestFrom(latest.asObservable())
      }
    },
    Operator("share") { source, _ in source.share() },
    Operator("share, with replay") { source, _ in source.share(replay: 1) },
  ]

  /// What `zip` makes of `source`, and of partners that have an element for each one of it.
  private static func zipped(
    _ source: Observable<Int>, _ zip: @escaping @Sendable (Observable<Int>, Observable<Int>) -> Observable<Int>
  ) -> Observable<Int> {
    .deferred {
      let partners = PublishSubject<Int>()
      return zip(partners.asObservable(), source.do(onNext: { partners.onNext($0) }))
    }
  }

  private static let scheduling: [Operator] = [
    Operator("subscribe, on") { source, _ in source.subscribe(on: now) },
    Operator("observe, on") { source, _ in source.observe(on: now) },
    Operator("delay") { source, _ in source.delay(.zero, scheduler: now) },
    Operator("debounce", [.thins]) { source, _ in source.debounce(.zero, scheduler: now) },
    Operator("throttle") { source, _ in source.throttle(.zero, scheduler: now) },
    Operator("timeout") { source, _ in source.timeout(.seconds(1000), scheduler: now) },
  ]
}
