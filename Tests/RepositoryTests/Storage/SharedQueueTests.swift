import HTTP
import Streams
import TestSupport
import Testing

@testable import Repository

/// What becomes of changes that an asynchronous source of truth did not take at first.
@Suite(.timeLimit(.minutes(1))) struct SharedQueueTests {
  private let shared = SharedTruth.Server()

  private func queue() -> SharedQueue<String, String> {
    let queue = SharedQueue(SharedTruth(shared), scheduler: ConcurrentScheduler()) { _ in }
    // As a store does: a change that is given a new version wins over what the source has.
    queue.setNotice { _, notice in
      if case .renamed(_, let greater) = notice { EntryVersion(time: greater.time + 1, writer: 1) } else { nil }
    }
    return queue
  }

  private func stored(_ value: String, _ version: Int64) -> StoredValue<String> {
    StoredValue(value, writtenAt: .now(), version: EntryVersion(time: version, writer: 1))
  }

  private func make(_ work: SharedQueue<String, String>.Work, in queue: SharedQueue<String, String>) async {
    _ = queue.add(work, for: "k", completion: nil)
    queue.begin("k")
    await withCheckedContinuation { continuation in queue.settle("k") { _ in continuation.resume() } }
  }

  @Test func `F1: an invalidation does not bring back what was written before others wrote`() async {
    let (late, other) = (queue(), queue())
    shared.refused.update { $0["k"] = 2 }
    await make(.write(stored("old", 1), isResponse: false), in: late)
    shared.refused.update { $0 = [:] }
    await make(.write(stored("new", 2), isResponse: false), in: other)
    await make(.invalidate(EntryVersion(time: 3, writer: 1)), in: late)
    #expect(shared.value("k")?.value == "new")
    #expect(shared.value("k")?.isInvalidated == true)
  }

  @Test func `F1: a change that the source has not refused wins over what this process had not seen`() async {
    let (one, other) = (queue(), queue())
    await make(.write(stored("new", 2), isResponse: false), in: other)
    await make(.write(stored("newer", 1), isResponse: false), in: one)
    #expect(shared.value("k")?.value == "newer")
  }
}
