import Streams
import StreamsTesting
import SystemBase
import Testing

@Suite struct VirtualTimeTests {
  private struct Broken: Error {}

  @Test func `a retry that a task schedules takes its turn before the deadline, a thousand times`() async throws {
    for _ in 0..<1000 {
      let scheduler = TestScheduler()
      let attempts = Attempts()
      let value = try await scheduler.withTasks { time in
        let stream = Observable.async { () async throws -> Int in
          await Task.yield()
          guard attempts.next() == 3 else { throw Broken() }
          return 7
        }
        async let value =
          stream
          .retry(when: .exponential(attempts: 3, initial: .seconds(2), jitter: 0), scheduler: scheduler)
          .timeout(.seconds(60), scheduler: scheduler).value
        await time.advance(by: .seconds(6))
        return try await value
      }
      #expect(value == 7)
      #expect(scheduler.now == .seconds(6))
      #expect(scheduler.pendingCount == 0)
    }
  }

  @Test func `a task sees the time of each job, and the clock ends where it was moved to`() async {
    let scheduler = TestScheduler()
    let log = TestLog()
    await scheduler.withTasks { time in
      async let ticks: Void = {
        let ticks = Observable.from(1...3).concatMap { Observable.just($0).delay(.seconds($0), scheduler: scheduler) }
        guard let numbers = try? await Array(ticks.values) else { return }
        log.add("\(numbers) at \(scheduler.now)")
      }()
      await time.advance(by: .seconds(5))
      log.add("5 seconds")
      await time.advance(to: .seconds(10))
      log.add("\(scheduler.now)")
      await ticks
    }
    #expect(log.lines == ["5 seconds", "[1, 2, 3] at 6.0 seconds", "10.0 seconds"])
  }

  @Test func `a task that is given the executor is waited for, too`() async {
    let scheduler = TestScheduler()
    let log = TestLog()
    await scheduler.withTasks { time in
      let task = Task(executorPreference: time.executor) {
        for _ in 0..<50 { await Task.yield() }
        _ = scheduler.schedule(after: .seconds(1)) { log.add("done") }
      }
      await time.advance(by: .seconds(1))
      #expect(log.lines == ["done"])
      await task.value
    }
  }
}

private final class Attempts: Sendable {
  private let count = Locked(0)
  func next() -> Int {
    count.withLock {
      $0 += 1
      return $0
    }
  }
}

extension Array where Element: Sendable {
  fileprivate init(_ values: AsyncValues<Element>) async throws {
    self = []
    for try await element in values { append(element) }
  }
}
