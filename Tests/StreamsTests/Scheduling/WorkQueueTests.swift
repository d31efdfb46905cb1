import Foundation
import TestSupport
import Testing

@testable import Streams

@Suite struct WorkQueueTests {
  private func scheduler(_ queue: DispatchQueue, isSerial: Bool) -> any Scheduler {
    isSerial ? SerialScheduler(queue: queue) : ConcurrentScheduler(queue: queue)
  }

  @Test func `4, 5: a serial scheduler on a concurrent queue runs one action at a time, in the order of each thread`()
    throws
  {
    let scheduler = SerialScheduler(queue: .global())
    let (probe, group, count) = (Probe<Int>(), DispatchGroup(), raceEvents / 16)
    for _ in 0..<(8 * count) { group.enter() }
    try race { thread in
      for index in 0..<count {
        _ = scheduler.schedule {
          probe.onNext(thread * count + index)
          group.leave()
        }
      }
    }
    #expect(group.wait(timeout: .now() + 60) == .success)
    #expect(probe.overlaps == 0)
    for thread in 0..<8 {
      #expect(probe.elements.filter { $0 / count == thread } == Array(thread * count..<(thread + 1) * count))
    }
  }

  @Test(arguments: [true, false]) func `37: work that is disposed while its queue is busy is not done`(
    _ isSerial: Bool
  ) {
    let queue = DispatchQueue(label: "busy")
    let scheduler = scheduler(queue, isSerial: isSerial)
    let (mayGoOn, done, runs) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), Counter())
    queue.async { mayGoOn.wait() }
    scheduler.schedule { runs.increment() }.dispose()
    _ = scheduler.schedule { done.signal() }
    mayGoOn.signal()
    #expect(done.wait(timeout: .now() + 20) == .success)
    #expect(runs.count == 0)
  }

  @Test(arguments: [true, false])
  func `37: a delayed action that is disposed after its time, while its queue is busy, is not run`(
    _ isSerial: Bool
  ) {
    let queue = DispatchQueue(label: "busy")
    let scheduler = scheduler(queue, isSerial: isSerial)
    let (mayGoOn, isDue, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let runs = Counter()
    queue.async { mayGoOn.wait() }
    let action = scheduler.schedule(after: .zero) { runs.increment() }
    _ = ConcurrentScheduler().schedule(after: .milliseconds(1)) { isDue.signal() }
    #expect(isDue.wait(timeout: .now() + 20) == .success)
    action.dispose()
    _ = scheduler.schedule { done.signal() }
    mayGoOn.signal()
    #expect(done.wait(timeout: .now() + 20) == .success)
    #expect(runs.count == 0)
  }

  @Test func `an action runs although the one that the timer was set for was disposed`() {
    let scheduler = ConcurrentScheduler()
    let done = DispatchSemaphore(value: 0)
    let first = scheduler.schedule(after: .milliseconds(5)) {}
    _ = scheduler.schedule(after: .milliseconds(20)) { done.signal() }
    first.dispose()
    #expect(done.wait(timeout: .now() + 20) == .success)
  }

  @Test(arguments: [true, false]) func `16: a delayed action that is disposed releases its closure at once`(
    _ isSerial: Bool
  ) {
    let isFree = DispatchSemaphore(value: 0)
    let action: any Disposable
    do {
      let token = Token { isFree.signal() }
      action = scheduler(.global(), isSerial: isSerial).schedule(after: .seconds(3600)) { token.touch() }
    }
    action.dispose()
    #expect(isFree.wait(timeout: .now()) == .success)
  }

  @Test func `16: an action that is disposed is no longer in the heap`() {
    weak var disposed: TimedAction?
    do {
      let action = TimerQueue.shared.schedule(at: .now() + 3600, on: DispatchQueue.global()) {}
      disposed = action
      action.dispose()
    }
    #expect(disposed == nil)
  }

  @Test func `23: a value that an action held may dispose another action in its deinit`() {
    let scheduler = ConcurrentScheduler()
    let other = scheduler.schedule(after: .seconds(3600)) {}
    let action: any Disposable
    do {
      let token = Token { other.dispose() }
      action = scheduler.schedule(after: .seconds(3600)) { token.touch() }
    }
    #expect(returns { action.dispose() })
  }

  @Test(arguments: [true, false]) func `16: a timer of a queue releases its closure when it has fired`(
    _ isSerial: Bool
  ) {
    let isFree = DispatchSemaphore(value: 0)
    do {
      let token = Token { isFree.signal() }
      _ = scheduler(.global(), isSerial: isSerial).schedule(after: .milliseconds(1)) { token.touch() }
    }
    #expect(isFree.wait(timeout: .now() + 20) == .success)
  }
}
