import Dispatch
import Foundation
import Synchronization
import SystemBase
import TestSupport
import Testing

@testable import Streams

@Suite(.timeLimit(.minutes(2))) struct ElasticSchedulerTests {
  @Test func `hundreds of actions that block delay neither another action nor a timer for a second`() async throws {
    let scheduler = ElasticScheduler()
    let (gate, begun, done) = (DispatchSemaphore(value: 0), Monitor(0), Monitor(0))
    for _ in 0..<300 {
      _ = scheduler.schedule {
        begun.update { $0 += 1 }
        gate.wait()
        gate.signal()
        done.update { $0 += 1 }
      }
    }
    try await begun.wait(for: "all actions at once") { $0 == 300 }
    let (start, ran) = (ContinuousClock.now, Latch())
    _ = scheduler.schedule(after: .milliseconds(10)) { _ = scheduler.schedule { ran.open() } }
    try await ran.wait(for: "the action behind them")
    #expect(.now - start < .seconds(1))
    gate.signal()
    try await done.wait(for: "the rest") { $0 == 300 }
  }

  @Test func `actions that several threads submit run once each, and not once they are disposed`() async throws {
    let scheduler = ElasticScheduler()
    let runs = Monitor([Int](repeating: 0, count: 8000))
    try race { thread in
      for number in 0..<1000 { _ = scheduler.schedule { runs.update { $0[thread * 1000 + number] += 1 } } }
    }
    try await runs.wait(for: "all") { $0.allSatisfy { $0 == 1 } }
    let (gate, isDisposed) = (DispatchSemaphore(value: 0), Latch())
    _ = scheduler.schedule {
      gate.wait()
      isDisposed.open()
    }
    scheduler.schedule(after: .milliseconds(20)) { Issue.record("a disposed action ran") }.dispose()
    gate.signal()
    try await isDisposed.wait(for: "the action")
  }
}
