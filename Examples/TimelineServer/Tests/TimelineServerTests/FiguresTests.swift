import Streams
import StreamsTesting
import Synchronization
import Testing

@testable import TimelineServer

@Suite final class FiguresTests: Sendable {
  private let scheduler = TestScheduler()
  private let looks = Mutex(0)

  private func count() -> Int {
    looks.withLock { looks in
      looks += 1
      return looks
    }
  }

  @Test func `what is looked at is looked at once an interval, and only while somebody is subscribed`() {
    let seconds = Observable.every(.seconds(1), by: scheduler) { [self] in count() }.share(replay: 1)
    #expect(looks.withLock { $0 } == 0)
    let one = Mutex<[Int]>([])
    let other = Mutex<[Int]>([])
    let first = seconds.subscribe(onNext: { look in one.withLock { $0.append(look) } })
    scheduler.advance(by: .milliseconds(2500))
    let second = seconds.subscribe(onNext: { look in other.withLock { $0.append(look) } })
    scheduler.advance(by: .milliseconds(500))
    #expect(one.withLock { $0 } == [1, 2, 3, 4])
    #expect(other.withLock { $0 } == [3, 4])
    first.dispose()
    second.dispose()
    #expect(scheduler.pendingCount == 0)
    scheduler.advance(by: .seconds(60))
    #expect(looks.withLock { $0 } == 4)
  }

  @Test func `a hundred thousand looks leave nothing behind`() {
    let looking = Observable.every(.milliseconds(1), by: scheduler) { [self] in count() }
    let subscription = looking.subscribe(onNext: { _ in })
    scheduler.advance(by: .seconds(100))
    #expect(looks.withLock { $0 } == 100_001)
    #expect(scheduler.pendingCount == 1)
    subscription.dispose()
    #expect(scheduler.pendingCount == 0)
  }
}
