import Foundation
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct EventLoopTests {
  /// Reports everything that was added as ready, all at once.
  ///
  /// `@unchecked Sendable`: `wake` uses only a semaphore; everything else is used only on the loop's thread.
  private final class BatchPoller: Poller, @unchecked Sendable {
    private var tokens: [UInt64] = []
    private let woken = DispatchSemaphore(value: 0)

    func add(_ descriptor: Int32, token: UInt64) { tokens.append(token) }
    func wake() { woken.signal() }

    func wait(until instant: Instant?, into events: inout [PollEvent]) {
      events = tokens.map { PollEvent(token: $0, isReadable: true, isWritable: true, isOver: false) }
      tokens = []
      guard events.isEmpty else { return }
      _ = woken.wait(timeout: .now() + (instant.map { ($0 - .now) / .seconds(1) } ?? 60))
    }
  }

  /// Takes a millisecond for each event, as a handshake does.
  private final class SlowHandler: LoopHandler {
    private let handled: Locked<Int>

    init(_ handled: Locked<Int>) {
      self.handled = handled
    }

    func ready(_ event: PollEvent) {
      let end = Instant.now + .milliseconds(1)
      while Instant.now < end {}
      handled.withLock { $0 += 1 }
    }

    func loopStopped() {}
  }

  private func withLoop(_ body: (EventLoop) async throws -> Void) async throws {
    let loop = EventLoop(poller: BatchPoller(), unfinished: DispatchGroup())
    try loop.start()
    defer { loop.submit { loop.stop() } }
    try await body(loop)
  }

  @Test
  func `T6: a timer that is due amid hundreds of slow events fires before they are over, and so do its deliveries`()
    async throws
  {
    try await withLoop { loop in
      let (handled, delivered) = (Locked(0), Monitor<Int?>(nil))
      loop.submit {
        for _ in 0..<400 {
          do throws(SystemError) {
            _ = try loop.register(Socket(descriptor: -1), for: SlowHandler(handled))
          } catch {
            Issue.record(error)
          }
        }
        loop.schedule(at: .now + .milliseconds(50)) {
          loop.deliver(to: nil) { delivered.update { $0 = handled.withLock { $0 } } }
        }
      }
      let count = try await delivered.wait(for: "the timer", within: .seconds(30)) { $0 != nil }
      #expect(try #require(count) < 300)
    }
  }

  @Test func `the alarm rings once, at the earliest time that it was set to`() async throws {
    try await withLoop { loop in
      let (rung, counts) = (Monitor<[Int]>([]), Monitor<[Int]>([]))
      loop.submit {
        let start = Instant.now
        for number in 0..<3000 {
          loop.lowerAlarm(to: start + .seconds(3600 - number)) { rung.update { $0.append(number) } }
        }
        counts.update { $0.append(loop.timerCount) }
        loop.lowerAlarm(to: start) {
          rung.update { $0.append(3000) }
          counts.update { $0.append(loop.timerCount) }
        }
        loop.lowerAlarm(to: start + .seconds(1)) { rung.update { $0.append(3001) } }
      }
      try await counts.wait(for: "the alarm", within: .seconds(30)) { $0.count == 2 }
      #expect(rung.value == [3000])
      #expect(counts.value == [1, 0])
    }
  }

  @Test func `timers fire in the order of their times, and those that are cancelled do not`() async throws {
    try await withLoop { loop in
      let fired = Monitor<[Int]>([])
      loop.submit {
        let start = Instant.now
        var timers: [LoopTimer] = []
        for number in 0..<100 {
          let due = start + .milliseconds(100 - number / 2)
          timers.append(loop.schedule(at: due) { fired.update { $0.append(number) } })
        }
        for timer in timers where timer !== timers[10] && timer !== timers[11] && timer !== timers[40] {
          loop.cancel(timer)
          loop.cancel(timer)
        }
      }
      try await fired.wait(for: "the timers", within: .seconds(30)) { $0.count == 3 }
      #expect(fired.value == [40, 10, 11])
    }
  }
}
