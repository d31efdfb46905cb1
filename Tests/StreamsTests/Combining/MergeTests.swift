import Synchronization
import TestSupport
import Testing

@testable import Streams

@Suite struct MergeTests {
  @Test func `29: an error is not lost where another stream completes at the same time`() throws {
    let count = 200_000
    let errors = Atomic(0)
    let completions = Atomic(0)
    let merges = (0..<count).map { _ in
      let lifetime = Lifetime()
      let end: @Sendable ((any Error)?) -> Void = { error in
        guard lifetime.claim() else { return }
        if error == nil { completions.add(1, ordering: .relaxed) } else { errors.add(1, ordering: .relaxed) }
        lifetime.close()
      }
      let merge = Merge<Int>(Sink(next: { _ in }, end: end, lifetime: lifetime))
      merge.add(.never())
      return merge
    }
    try raceInStep(count) { index, thread in merges[index].end(thread == 0 ? Broken() : nil) }
    #expect(errors.load(ordering: .relaxed) == count)
    #expect(completions.load(ordering: .relaxed) == 0)
  }
}
