import Foundation
import Synchronization
import TestSupport
import Testing

@testable import SystemBase

@Suite struct ThreadPoolTests {
  @Test func `each job has a thread to itself, up to the limit, and the next one gets the first that is free`()
    async throws
  {
    let (pool, gate, begun) = (ThreadPool(named: "test", limit: 3), DispatchSemaphore(value: 0), Monitor(0))
    let last = Latch()
    for _ in 0..<3 {
      pool.run {
        begun.update { $0 += 1 }
        gate.wait()
      }
    }
    pool.run { last.open() }
    try await begun.wait(for: "the threads", within: .seconds(30)) { $0 == 3 }
    #expect(!last.isOpen)
    #expect(pool.threadCount == 3)
    gate.signal()
    try await last.wait(for: "the job behind them", within: .seconds(30))
    for _ in 0..<2 { gate.signal() }
  }

  @Test func `a thread that is free is used again`() async throws {
    let (pool, done) = (ThreadPool(named: "test", limit: 100), Monitor(0))
    for count in 1...200 {
      pool.run { done.update { $0 += 1 } }
      try await done.wait { $0 == count }
      // The job is over before its thread is back.
      try await eventually { pool.idleCount == 1 }
    }
    #expect(pool.threadCount == 1)
  }

  @Test func `no job is lost, whichever threads give it`() async throws {
    let (pool, done) = (ThreadPool(named: "test", limit: 4), Monitor(0))
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      for _ in 0..<2000 { pool.run { done.update { $0 += 1 } } }
    }
    try await done.wait(for: "all jobs", within: .seconds(30)) { $0 == 16_000 }
    #expect(pool.threadCount <= 4)
  }

  @Test func `there are no more threads than the limit, and they end when there is nothing left to do`() async throws {
    let pool = ThreadPool(named: "test", limit: 5, eagerCount: 1, idleTime: .milliseconds(10)) {
      body throws(SystemError) in
      try startThread(named: "test", body)
    }
    let (gate, done) = (DispatchSemaphore(value: 0), Monitor(0))
    let count = 1000
    for _ in 0..<count {
      pool.run {
        gate.wait()
        gate.signal()
        done.update { $0 += 1 }
      }
    }
    let end = ContinuousClock.now + .seconds(30)
    while pool.threadCount < 5, .now < end { await Task.yield() }
    #expect(pool.threadCount == 5)
    gate.signal()
    try await done.wait(for: "all") { $0 == count }
    while pool.threadCount > 0, .now < end { await Task.yield() }
    #expect(pool.threadCount == 0)
  }

  @Test(arguments: [1, 5])
  func `a job runs although the system had no thread for it at first`(eagerCount: Int) async throws {
    let attempts = Atomic(0)
    let pool = ThreadPool(named: "test", limit: 5, eagerCount: eagerCount, idleTime: .milliseconds(10)) {
      body throws(SystemError) in
      if attempts.add(1, ordering: .relaxed).newValue <= 3 { throw SystemError(code: EAGAIN) }
      try startThread(named: "test", body)
    }
    let ran = Latch()
    pool.run { ran.open() }
    try await ran.wait(for: "the job")
    #expect(attempts.load(ordering: .relaxed) >= 4)
  }
}
