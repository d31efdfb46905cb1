import Foundation
import HTTPClientCore
import StoresTestSupport
import Streams
import TestSupport
import Testing

@testable import Stores

/// What a storage of records that takes its time costs Swift's tasks.
@Suite(.timeLimit(.minutes(2))) struct NormalizedWaitingTests {
  private let count = max(8, ProcessInfo.processInfo.activeProcessorCount + 2)

  /// A call of a store during which its storage waits.
  enum Call: CaseIterable { case clear, signOut, refusal }

  @Test(arguments: Call.allCases)
  func `E2: a storage that takes its time keeps no thread of Swift's pool`(call: Call) async throws {
    let storage = SlowRecords()
    let worlds = try (0..<count).map { _ in try NormalizedWorld(sharing: storage) }
    for world in worlds { await world.store.load() }
    let calls = worlds.map { world in
      Task {
        switch call {
        case .clear: try? await world.store.clear()
        case .signOut: try? await world.store.signOut()
        case .refusal:
          let get = Recorder(world.store.get(GetIssue("1"), .networkOnly))
          world.server.last.answer("", status: 401)
          try? await get.waitForCompletion()
        }
      }
    }
    try await storage.entered.wait(within: .seconds(100)) { $0 == count }
    let begin = ContinuousClock.now
    for _ in 0..<8 { await Task { await Task.yield() }.value }
    #expect(.now - begin < .seconds(15))
    #expect(storage.isTimedOut.value == false)
    for _ in worlds { storage.gate.signal() }
    for call in calls { await call.value }
  }
}

/// An empty storage, whose changes wait.
private final class SlowRecords: RecordStorage {
  let gate = DispatchSemaphore(value: 0)
  let entered = Monitor(0)
  let isTimedOut = Mutable(false)

  private func waitForGate() {
    entered.update { $0 += 1 }
    if gate.wait(timeout: .now() + 20) == .timedOut { isTimedOut.update { $0 = true } }
  }

  func read(after position: RecordPosition?) -> RecordTail { RecordTail(last: nil, entries: []) }
  func append(_ entry: RecordEntry, after position: RecordPosition) -> Bool { true }
  func replaceAll(with entry: RecordEntry, after position: RecordPosition?) -> Bool { true }
  func removeAll() { waitForGate() }
  func signOut(leaving mark: RecordEntry) { waitForGate() }
  func setRefused(_ isRefused: Bool) { waitForGate() }
}
