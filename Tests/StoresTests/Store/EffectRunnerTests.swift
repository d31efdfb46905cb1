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
}
