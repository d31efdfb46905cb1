import Foundation
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct LateDeliveriesTests {
  @Test func `few threads are made for what is late, and twice as many where all of these are blocked`() async throws {
    let late = LateDeliveries { DispatchQueue.unshared().async(execute: $0) }
    let (gate, begun, group) = (DispatchSemaphore(value: 0), Monitor(0), DispatchGroup())
    defer { for _ in 0..<30 { gate.signal() } }
    late.add(
      (0..<30).map { _ in
        Delivery(nil, group) {
          begun.update { $0 += 1 }
          gate.wait()
        }
      })
    for expected in [4, 12, 28, 30] {
      late.startWorkers()
      try await begun.wait(for: "the workers", within: .seconds(30)) { $0 >= expected }
      #expect(begun.value == expected)
    }
  }

  @Test func `a worker takes all that there is, in order`() {
    let (workers, log) = (Locked<[@Sendable () -> Void]>([]), Locked<[Int]>([]))
    let (late, group) = (LateDeliveries { worker in workers.withLock { $0.append(worker) } }, DispatchGroup())
    late.add((0..<9).map { number in Delivery(nil, group) { log.withLock { $0.append(number) } } })
    late.startWorkers()
    workers.withLock { $0 }.first?()
    #expect(log.withLock { $0 } == Array(0..<9))
    #expect(late.isEmpty)
  }

  @Test func `no more workers are started than there are threads, however long jobs are late`() {
    let (started, group) = (Locked(0), DispatchGroup())
    let late = LateDeliveries { worker in
      started.withLock { $0 += 1 }
      worker()
    }
    for _ in 0..<100 {
      late.add([Delivery(nil, group) {}])
      late.startWorkers()
    }
    let before = started.withLock { $0 }
    late.add((0..<1_000).map { _ in Delivery(nil, group) {} })
    late.startWorkers()
    #expect(started.withLock { $0 } - before == 256)
    #expect(late.isEmpty)
  }
}
