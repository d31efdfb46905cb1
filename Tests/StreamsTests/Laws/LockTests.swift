import Foundation
import Streams
import Synchronization
import Testing

/// Law 23: another thread holds the user's lock while it calls in, and the thread that delivers waits for that lock.
@Suite struct LockTests {
  /// What of the user's is running, and wants the lock.
  enum Place: CaseIterable { case handler, closure, teardown }

  @Test(arguments: Operator.all, Place.allCases)
  func `23: no code of the user's runs under a lock of ours`(_ op: Operator, _ place: Place) {
    if place == .closure && !op.has(.hooked) { return }
    let lock = NSLock()
    let entered = DispatchSemaphore(value: 0)
    let isFirst = Atomic(true)
    let wantLock: @Sendable () -> Void = {
      if !isFirst.exchange(false, ordering: .relaxed) { return }
      entered.signal()
      lock.withLock {}
    }
    let subject = PublishSubject<Int>()
    let source = Observable<Int>.create { observer in
      let upstream = subject.asObservable().subscribe(observer)
      return Disposables.create {
        upstream.dispose()
        if place == .teardown { wantLock() }
      }
    }
    let stream = op(source) { if $0 == 1 && place == .closure { wantLock() } }
    let subscription = stream.subscribe(onNext: { if $0 == 1 && place == .handler { wantLock() } })
    subject.onNext(0)
    lock.lock()
    let delivered = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      if place == .teardown { subscription.dispose() } else { subject.onNext(1) }
      delivered.signal()
    }
    #expect(entered.wait(timeout: .now() + 20) == .success)
    let isFree = returns {
      subject.onNext(2)
      let other = stream.subscribe(onNext: { _ in })
      subscription.dispose()
      other.dispose()
      subject.onNext(3)
    }
    lock.unlock()
    #expect(isFree)
    #expect(delivered.wait(timeout: .now() + 20) == .success)
  }

  @Test(arguments: Operator.all) func `23: nor does a deinit of the user's`(_ op: Operator) {
    let lock = NSLock()
    let entered = DispatchSemaphore(value: 0)
    let subject = BehaviorSubject<Element?>(value: nil)
    let stream = subject.asObservable().compactMap { $0 == nil ? 0 : 1 }
    let subscription = op(stream).subscribe()
    subject.onNext(
      Element {
        entered.signal()
        lock.withLock {}
      })
    lock.lock()
    let delivered = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      subject.onNext(nil)
      delivered.signal()
    }
    #expect(entered.wait(timeout: .now() + 20) == .success)
    let isFree = returns {
      subject.onNext(nil)
      _ = subject.value
      subscription.dispose()
    }
    lock.unlock()
    #expect(isFree)
    #expect(delivered.wait(timeout: .now() + 20) == .success)
  }

  private final class Element: Sendable {
    let onDeinit: @Sendable () -> Void
    init(onDeinit: @escaping @Sendable () -> Void) { self.onDeinit = onDeinit }
    deinit { onDeinit() }
  }
}
