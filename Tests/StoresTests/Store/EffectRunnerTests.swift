import Foundation
import StoresTestSupport
import Streams
import TestSupport
import Testing

@testable import Stores

@Suite struct EffectRunnerTests {
  @Test func `who waits for actions stands on no thread that these need`() async throws {
    let (runner, threads, isDone) = (EffectRunner(), Mutable<[String]>([]), Latch())
    let action = EffectRunner.Action(mayStall: true) {
      let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
      threads.update { $0.append(name?.trimmingCharacters(in: .newlines) ?? "-") }
    }
    // As events of subscriptions do, which come on these threads.
    _ = ElasticScheduler().schedule {
      runner.runElsewhere([action])
      isDone.open()
    }
    try await isDone.wait()
    #expect(threads.value == ["StoreWorker"])
  }

  @Test func `what is awaited is done when a call returns, though an action before it has taken long`() async throws {
    let (runner, isBegun, isDone) = (EffectRunner(), DispatchSemaphore(value: 0), Mutable(false))
    let (slow, awaited) = (
      EffectRunner.Action(mayStall: true) { isBegun.wait() },
      EffectRunner.Action(mayStall: false, isAwaited: true) {
        isBegun.signal()
        Thread.sleep(forTimeInterval: 0.05)
        isDone.update { $0 = true }
      }
    )
    let wasDone = Mutable<Bool?>(nil)
    let isOver = Latch()
    _ = ElasticScheduler().schedule {
      runner.run([slow, awaited])
      wasDone.update { $0 = isDone.value }
      isOver.open()
    }
    try await isOver.wait()
    #expect(wasDone.value == true)
  }

  /// A machine that stands still for a second counts as one look.
  @Test func `a thread has stalled once an action has not returned at several looks in a row`() throws {
    var state = EffectRunner.State()
    let (number, worker) = state.begin(Array(repeating: EffectRunner.Action(mayStall: true) {}, count: 3))
    for _ in 0..<2 {
      _ = state.next(number, for: worker)
      for _ in 0..<EffectRunner.mostIdleLooks {
        let early = state.takeStalled()
        #expect(early.isEmpty)
      }
    }
    let stalled = state.takeStalled()
    #expect(stalled.map(\.number) == [number])
    let (gone, next) = (state.next(number, for: worker), state.next(number, for: try #require(stalled.first).worker))
    #expect(gone == nil)
    #expect(next != nil)
  }
}
