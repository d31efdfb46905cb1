import Foundation
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct DeliveryQueueTests {
  private final class Witness: Sendable {}

  @Test func `a job that another thread runs while a worker is blocked is released at once`() async throws {
    let queue = DeliveryQueue(unfinished: DispatchGroup())
    let gate = DispatchSemaphore(value: 0)
    defer { gate.signal() }
    queue.add(nil) { gate.wait() }
    _ = queue.flush()
    let isDone = Latch()
    weak var witness: Witness?
    do {
      let strong = Witness()
      witness = strong
      queue.add(nil) {
        withExtendedLifetime(strong) {}
        isDone.open()
      }
    }
    let deadline = Instant.now + .seconds(10)
    while !isDone.isOpen, .now < deadline {
      _ = queue.flush()
      await Task.yield()
    }
    while witness != nil, .now < deadline { await Task.yield() }
    #expect(isDone.isOpen)
    #expect(witness == nil)
  }

  @Test func `a late job is handed over once, however long the workers take to begin`() {
    let started = Locked(0)
    let queue = DeliveryQueue(unfinished: DispatchGroup()) { _ in started.withLock { $0 += 1 } }
    let gate = DispatchSemaphore(value: 0)
    defer { gate.signal() }
    for _ in 0..<5 { queue.add(nil) { gate.wait() } }
    let end = Instant.now + DeliveryQueue.patience * 20
    while Instant.now < end { _ = queue.flush() }
    #expect(started.withLock { $0 } == 4)
  }

  @Test func `a job whose task has ended is run elsewhere, once`() async throws {
    let queue = DeliveryQueue(unfinished: DispatchGroup())
    let mailbox = TaskMailbox()
    let count = Monitor(0)
    queue.add(mailbox) { count.update { $0 += 1 } }
    _ = queue.flush()
    mailbox.close()
    let deadline = Instant.now + .seconds(10)
    while count.value == 0, .now < deadline {
      _ = queue.flush()
      await Task.yield()
    }
    await mailbox.run {}
    #expect(count.value == 1)
  }

  @Test func `a job is a part of the group until it has run, or is dropped`() async {
    let group = DispatchGroup()
    let isOver = Latch()
    do {
      let queue = DeliveryQueue(unfinished: group)
      queue.add(nil) {}
      _ = queue.flush()
      queue.add(nil) {}
      #expect(group.wait(timeout: .now()) == .timedOut)
    }
    group.notify(queue: .global()) { isOver.open() }
    await #expect(throws: Never.self) { try await isOver.wait(for: "the jobs", within: .seconds(30)) }
  }
}
