import TestSupport
import Testing

struct MonitorTests {
  @Test func `a wait ends with the first value that fulfils its condition`() async throws {
    let monitor = Monitor(0)
    async let value = monitor.wait { $0 > 2 }
    for _ in 1...4 { monitor.update { $0 += 1 } }
    #expect(try await value >= 3)
    #expect(try await monitor.wait { $0 == 4 } == 4)
  }

  @Test func `a wait past its limit throws, and says for what and where`() async throws {
    let monitor = Monitor("idle")
    let error = await #expect(throws: TimedOut.self) {
      try await monitor.wait(for: "work", within: .milliseconds(5)) { $0 == "busy" }
    }
    #expect(error?.description.contains("work") == true)
    #expect(error?.description.contains("MonitorTests.swift") == true)
    #expect(error?.description.contains("idle") == true)
    #expect(monitor.update { _ in 7 } == 7)
  }

  @Test(arguments: [true, false])
  func `a cancelled wait throws, whether it was cancelled before or after it began`(before: Bool) async throws {
    let monitor = Monitor(0)
    let started = Latch()
    let task = Task {
      if before { try? await Latch().wait(within: .seconds(60)) }
      started.open()
      try await monitor.wait(within: .seconds(60)) { $0 == 1 }
    }
    if !before { try await started.wait() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `a callback runs once, from the update that fulfils its condition`() {
    let monitor = Monitor(0)
    let calls = Monitor<[Int]>([])
    monitor.when({ $0 > 1 }, then: { value in calls.update { $0.append(value) } })
    for _ in 1...4 { monitor.update { $0 += 1 } }
    #expect(calls.value == [2])
  }

  @Test func `an update wakes every waiter from many threads`() async throws {
    let latch = Latch()
    try await withThrowingTaskGroup { group in
      for _ in 0..<200 { group.addTask { try await latch.wait() } }
      group.addTask { latch.open() }
      try await group.waitForAll()
    }
    #expect(latch.isOpen)
  }
}
