import Streams
import SystemBase
import Testing

/// Laws 21 and 22.
@Suite(.serialized) struct ErrorTests {
  @Test(arguments: Operator.hooked) func `21: a closure that throws gives one error and cancels`(
    _ op: Operator
  ) {
    let (probe, teardowns) = (Probe<Int>(), Counter())
    let observers = Locked<AnyObserver<Int>?>(nil)
    let source = Observable<Int>.create { observer in
      observers.withLock { $0 = observer }
      return Disposables.create { teardowns.increment() }
    }
    let subscription = op(source) { if $0 == 2 { throw Broken() } }.subscribe(probe)
    let observer = observers.withLock { $0 }
    for element in 1...3 { observer?.onNext(element) }
    observer?.onCompleted()
    #expect(probe.log == ["1", "x", "."])
    #expect(teardowns.count == 1)
    subscription.dispose()
  }

  @Test func `21: a factory that throws gives one error`() {
    let (probe, disposed) = (Probe<Int>(), Counter())
    let stream = Observable<Int>.deferred { throw Broken() }.do(onDispose: { disposed.increment() })
    _ = stream.subscribe(probe)
    #expect(probe.log == ["x", "."])
    #expect(disposed.count == 1)
  }

  @Test(arguments: Operator.all.filter { $0.has(.hookedAtError) && !$0.name.hasPrefix("retry") })
  func `21: a closure that throws at an error gives its own one, once`(_ op: Operator) {
    let errors = Locked<[any Error]>([])
    let teardowns = Counter()
    let source = Observable<Int>.create { observer in
      observer.onError(Broken())
      return Disposables.create { teardowns.increment() }
    }
    _ = op(source) { if $0 == Operator.atError { throw Another() } }
      .subscribe(onError: { error in errors.withLock { $0.append(error) } })
    #expect(errors.withLock { $0.map { $0 is Another } } == [true])
    #expect(teardowns.count == 1)
  }

  private struct Another: Error {}

  @Test func `22: an error without a handler is passed to the hook`() {
    let errors = Counter()
    let before = Hooks.defaultErrorHandler
    Hooks.defaultErrorHandler = { if $0 is Unhandled { errors.increment() } }
    defer { Hooks.defaultErrorHandler = before }
    _ = Observable<Int>.error(Unhandled()).subscribe(onNext: { _ in })
    #expect(errors.count == 1)
  }

  /// Optimized code released the old handler under the lock.
  @Test func `22, 23: a handler that is replaced is released under no lock of ours`() {
    let (contended, before) = (Contended(), Hooks.defaultErrorHandler)
    Hooks.defaultErrorHandler = Self.handler(holding: Token { contended.want() })
    contended.expectNoLock(over: { Hooks.defaultErrorHandler = before }) { _ = Hooks.defaultErrorHandler }
  }

  private static func handler(holding token: Token) -> @Sendable (any Error) -> Void {
    { _ in withExtendedLifetime(token) {} }
  }

  @Test func `22: an unhandled error does nothing without a hook`() {
    let disposed = Counter()
    _ = Observable<Int>.error(Broken()).subscribe(onDisposed: { disposed.increment() })
    #expect(disposed.count == 1)
  }

  private struct Unhandled: Error {}
}
