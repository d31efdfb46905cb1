import Foundation
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct ThreadPoolTests {
  @Test func `each job has a thread to itself, up to the limit, and the next one gets the first that is free`()
    async throws
  {
    let (pool, gate, begun) = (ThreadPool(limit: 3), DispatchSemaphore(value: 0), Monitor(0))
    let last = Latch()
    for _ in 0..<3 {
      pool.run {
        begun.update { $0 += 1 }
        gate.wait()
      }
    }
    pool.run { last.open() }
    try await begun.wait(for: "the threads", within: .seconds(30)) { $0 == 3 }
    #expect(!last.isOpen && pool.count == 3)
    gate.signal()
    try await last.wait(for: "the job behind them", within: .seconds(30))
    for _ in 0..<2 { gate.signal() }
  }

  @Test func `a thread that is free is used again`() async throws {
    let (pool, done) = (ThreadPool(limit: 100), Monitor(0))
    for count in 1...200 {
      pool.run { done.update { $0 += 1 } }
      try await done.wait { $0 == count }
    }
    // One more where the last job is over, and its thread is not yet back.
    #expect(pool.count < 20)
  }

  @Test func `no job is lost, whichever threads give it`() async throws {
    let (pool, done) = (ThreadPool(limit: 4), Monitor(0))
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      for _ in 0..<2000 { pool.run { done.update { $0 += 1 } } }
    }
    try await done.wait(for: "all jobs", within: .seconds(30)) { $0 == 16_000 }
    #expect(pool.count <= 4)
  }
}
