import Foundation
import Streams
import Synchronization
import Testing

/// Law 23: another thread holds the user's lock while it calls in, and the thread that runs the user's code waits for
/// that lock.
@Suite struct LockTests {
  /// What of the user's is running, and wants the lock.
  enum Place: CaseIterable { case handler, closure, errorClosure, teardown, subscribe }

  @Test(arguments: Operator.all, Place.allCases)
  func `23: no code of the user's runs under a lock of ours`(_ op: Operator, _ place: Place) {
    if place == .closure && !op.has(.hooked) || place == .errorClosure && !op.has(.hookedAtError) { return }
    let (contended, subject, handle) = (Contended(), PublishSubject<Int>(), Handle())
    let source = Observable<Int>.create { observer in
      if place == .subscribe { contended.want() }
      let upstream = subject.asObservable().subscribe(observer)
      return Disposables.create {
        upstream.dispose()
        if place == .teardown { contended.want() }
      }
    }
    let stream = op(source) {
      if $0 == 1 && place == .closure || $0 == Operator.atError && place == .errorClosure { contended.want() }
    }
    let subscribe: @Sendable () -> Void = {
      handle.set(stream.subscribe(onNext: { if $0 == 1 && place == .handler { contended.want() } }))
    }
    if place != .subscribe { subscribe() }
    subject.onNext(0)
    contended.expectNoLock(over: {
      switch place {
      case .handler, .closure: subject.onNext(1)
      case .errorClosure: subject.onError(Broken())
      case .teardown: handle.dispose()
      case .subscribe: subscribe()
      }
    }) {
      subject.onNext(2)
      let other = stream.subscribe(onNext: { _ in })
      handle.dispose()
      other.dispose()
      subject.onNext(3)
    }
    handle.dispose()
  }

  /// What `do` and `subscribe` tell their closures of, besides elements.
  enum Occasion: CaseIterable { case subscription, error, completion, disposal }

  @Test(arguments: Occasion.allCases, [true, false])
  func `23: the closures of do and subscribe run under no lock, whatever the event`(_ occasion: Occasion, _ isDo: Bool)
  {
    if occasion == .subscription && !isDo { return }
    let (contended, subject, handle) = (Contended(), PublishSubject<Int>(), Handle())
    let tell: @Sendable (Occasion) -> Void = { if $0 == occasion { contended.want() } }
    let source = subject.asObservable()
    let stream =
      isDo
      ? source.do(
        onError: { _ in tell(.error) }, onCompleted: { tell(.completion) }, onSubscribe: { tell(.subscription) },
        onDispose: { tell(.disposal) }) : source
    let subscribe: @Sendable () -> Void = {
      handle.set(
        isDo
          ? stream.subscribe()
          : stream.subscribe(
            onError: { _ in tell(.error) }, onCompleted: { tell(.completion) }, onDisposed: { tell(.disposal) }))
    }
    if occasion != .subscription { subscribe() }
    contended.expectNoLock(over: {
      switch occasion {
      case .subscription: subscribe()
      case .error: subject.onError(Broken())
      case .completion: subject.onCompleted()
      case .disposal: handle.dispose()
      }
    }) {
      subject.onNext(1)
      stream.subscribe().dispose()
      handle.dispose()
    }
    handle.dispose()
  }

  @Test(arguments: Operator.all) func `23: nor does a deinit of the user's`(_ op: Operator) {
    let contended = Contended()
    let subject = BehaviorSubject<Token?>(value: nil)
    let stream = subject.asObservable().compactMap { $0 == nil ? 0 : 1 }
    let subscription = op(stream).subscribe()
    subject.onNext(Token { contended.want() })
    contended.expectNoLock(over: { subject.onNext(nil) }) {
      subject.onNext(nil)
      _ = subject.value
      subscription.dispose()
    }
  }
}
