import Foundation
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import TestSupport
import Testing

@testable import Stores

/// When a normalised store calls and releases what is the user's.
@Suite(.timeLimit(.minutes(1))) struct NormalizedReleaseTests {
  /// What ends a mutation whose closure may have to be called again.
  enum End: CaseIterable { case response, clear, signOut, close }

  /// Uses the store when it is released, on a thread of its own, and says whether that has come to an end.
  private final class Probe: Sendable {
    private let store: NormalizedStore
    private let isAnswered: Monitor<Bool?>

    init(_ store: NormalizedStore, _ isAnswered: Monitor<Bool?>) { (self.store, self.isAnswered) = (store, isAnswered) }

    deinit { isAnswered.update { [isUsable = isUsable(store)] in $0 = isUsable } }
  }

  @Test(arguments: End.allCases)
  func `what a mutation's closure holds is released without a lock`(end: End) async throws {
    let (world, isAnswered) = (try NormalizedWorld(), Monitor(Bool?.none))
    let get = Recorder(world.store.get(GetIssue("1"), .networkOnly))
    do {
      let probe = Probe(world.store, isAnswered)
      let mutation = Recorder(world.store.mutate(RenameIssue("2", "x"), updates: { [probe] _, _ in _ = probe }))
      world.server[1].data(renamed("2", "x"))
      #expect(mutation.isCompleted.value)
      mutation.dispose()
    }
    #expect(isAnswered.value == nil)
    switch end {
    case .response: Thread.detachNewThread { world.server[0].data(issue("1", "a")) }
    case .clear: try await world.store.clear()
    case .signOut: try await world.store.signOut()
    case .close: await world.store.close()
    }
    #expect(try await isAnswered.wait { $0 != nil } == true)
    get.dispose()
  }

  @Test func `a clock is asked without a lock`() async throws {
    let reference = Mutable<NormalizedStore?>(nil)
    let answers = Mutable<[Bool]>([])
    let world = try NormalizedWorld {
      $0.clock = StoreClock {
        if let store = reference.value {
          let isAnswered = isUsable(store)
          answers.update { $0.append(isAnswered) }
        }
        return StoreTime(microseconds: 1)
      }
    }
    defer { reference.update { $0 = nil } }
    reference.update { $0 = world.store }
    try world.store.receive(["issue": ["id": "1", "title": "a", "state": "OPEN"]], of: GetIssue("1"))
    try await world.store.clear()
    await world.store.close()
    try await world.store.signOut()
    #expect(!answers.value.isEmpty)
    #expect(!answers.value.contains(false))
  }
}

/// Whether another thread gets an answer from the store in time.
private func isUsable(_ store: NormalizedStore) -> Bool {
  let answered = DispatchSemaphore(value: 0)
  Thread.detachNewThread {
    _ = store.size
    answered.signal()
  }
  return answered.wait(timeout: .now() + 5) == .success
}
