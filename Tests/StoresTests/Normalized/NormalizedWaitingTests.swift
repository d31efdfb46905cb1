import Foundation
import GraphQLClient
import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import SystemBase
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

  @Test(arguments: [false, true])
  func `E1: a watcher that stalls keeps no mutation that is awaited`(isCancelled: Bool) async throws {
    let (world, gate) = (try NormalizedWorld(), DispatchSemaphore(value: 0))
    try await world.request(GetIssue("1"), issue("1", "a"))
    let isFirst = Mutable(true)
    let stalled = world.store.stream(GetIssue("1"), .cacheOnly).subscribe(
      onNext: { _ in if !isFirst.update({ exchange(&$0, with: false) }) { gate.wait() } })
    let changing = Task {
      try await world.store.mutate(
        RenameIssue("1", "A"), optimisticResponse: ["rename": ["id": "1", "title": "A"]]
      ).value
    }
    try await world.server.wait(for: 2)
    if isCancelled { changing.cancel() } else { world.server.last.data(renamed("1", "A")) }
    _ = await changing.result
    for _ in 0..<3 { gate.signal() }
    stalled.dispose()
  }

  @Test func `E1: a watcher that stalls at what waits in an outbox does not keep the removal of everything`()
    async throws
  {
    struct Title: Codable, Sendable {
      static let fragment: GraphQLDocument = "fragment title on Issue { id title }"
      var title: String?
    }
    let (world, gate, folder) = (try NormalizedWorld(), DispatchSemaphore(value: 0), TemporaryFolder())
    let client = world.store.client
    let schema = try RecordSchema(NormalizedWorld.schema)
    let outbox = try Outbox<String, NormalizedResponse<RenameIssue.ResponseData>>(
      folder: folder.url, partition: "account", isIdempotent: { _ in true }
    ) { title, _ in
      RenameIssue("1", title).post(on: client, for: schema)
    }
    world.store.show(outbox) { title in
      .of(RenameIssue("1", title), optimisticResponse: ["rename": ["id": "1", "title": .string(title)]])
    }
    let submission = Recorder(outbox.submit("waits"))
    try await world.server.wait(for: 1)
    world.server.last.observer.onError(RequestError(.cannotConnect, "There is no network."))
    try await submission.waitForEnd()
    let (isClearing, stalls) = (Mutable(false), Monitor(0))
    let entity = EntityID("Issue", id: "1")
    let watching = world.store.values(Title.self, Title.fragment, of: entity).subscribe()
    let key = NormalizedKey(FragmentSource<Title>(document: Title.fragment, entity: entity))
    let stalled = world.store.store.stream(key, .cacheOnly).subscribe(onNext: { snapshot in
      guard snapshot.value != nil, isClearing.value else { return }
      stalls.update { $0 += 1 }
      gate.wait()
    })
    isClearing.update { $0 = true }
    try await world.store.clear()
    try await stalls.wait { $0 == 1 }
    for _ in 0..<3 { gate.signal() }
    for subscription in [watching, stalled] { subscription.dispose() }
    await outbox.close()
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
