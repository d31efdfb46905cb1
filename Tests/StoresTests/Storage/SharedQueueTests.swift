import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import TestSupport
import Testing

@testable import Stores

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

  @Test func `F1: a value that is read while its invalidation reaches the source is out of date`() async throws {
    let queue = queue()
    await make(.write(stored("old", 1), isResponse: false), in: queue)
    _ = queue.add(.invalidate(EntryVersion(time: 2, writer: 1)), for: "k", completion: nil)
    shared.readGate.hold()
    let readings = Monitor<[StorageReading<String>]>([])
    queue.read("k") { reading in readings.update { $0.append(reading) } }
    try await shared.readGate.held.wait { $0 == 1 }
    queue.begin("k")
    await withCheckedContinuation { continuation in queue.settle("k") { _ in continuation.resume() } }
    shared.readGate.release()
    guard case .found(let found)? = try await readings.wait(until: { !$0.isEmpty }).first else {
      Issue.record("there is no value")
      return
    }
    #expect(found.value == "old")
    #expect(found.isInvalidated)
  }

  @Test func `what has failed is tried again some at a time`() async {
    let truth = CountingTruth()
    let queue = SharedQueue(truth, scheduler: ConcurrentScheduler()) { _ in }
    truth.isAway.update { $0 = true }
    for number in 0..<1_000 {
      _ = queue.add(.remove(EntryVersion(time: 1, writer: 1)), for: number, completion: nil)
      queue.begin(number)
    }
    for number in 0..<1_000 {
      await withCheckedContinuation { continuation in queue.settle(number) { _ in continuation.resume() } }
    }
    truth.isAway.update { $0 = false }
    truth.counts.update { $0 = (0, 0) }
    let unwritten = await withCheckedContinuation { continuation in queue.flush { continuation.resume(returning: $0) } }
    #expect(unwritten == 0)
    #expect((2...64).contains(truth.counts.value.greatest))
  }

  @Test(arguments: [true, false])
  func `a source that ignores its cancellation keeps a flush and a close for twice its time limit at most`(
    isRemoval: Bool
  ) async throws {
    let errors = Mutable<[StoreError]>([])
    var configuration = StoreConfiguration<String>()
    configuration.onStorageError = { error in
      if let error = error as? StoreError { errors.update { $0.append(error) } }
    }
    let store = Store<String, String>(
      .ofStream { _ in .never()
      }, storage: .async(SharedTruth(shared)), configuration: configuration)
    shared.stall()
    if isRemoval { try? await store.clear() }
    await store.save("v", for: "k")
    #expect(await store.flush() == .unwritten(count: isRemoval ? 2 : 1))
    await store.close()
    #expect(errors.value == [.unwritten(count: isRemoval ? 2 : 1)])
    // What is missing is not given up.
    shared.resume()
    try await shared.wait { $0["k"]?.value == "v" }
  }

  @Test func `E3: a flush ends although more is outstanding than is tried at once, and the source ends nothing`()
    async throws
  {
    let store = Store<String, String>(.ofStream { _ in .never() }, storage: .async(SharedTruth(shared)))
    shared.isAway = true
    for number in 0..<65 { await store.save("v", for: "\(number)") }
    #expect(await store.flush() == .unwritten(count: 65))
    shared.isAway = false
    shared.stall()
    let ended = Monitor<StoreError?>(nil)
    Task {
      let error = await store.flush()
      ended.update { $0 = error }
    }
    #expect(try await ended.wait(within: .seconds(20)) { $0 != nil } == .unwritten(count: 65))
    shared.resume()
    try await shared.wait { $0.count == 65 }
  }

  @Test func `E3: a flush ends after twice the time limit, however much is outstanding`() async throws {
    let (truth, scheduler) = (CountingTruth(), TestScheduler())
    let queue = await queue(over: truth, scheduler, withOutstanding: 1_000)
    truth.isStalled.update { $0 = true }
    let unwritten = Monitor<Int?>(nil)
    queue.flush { count in unwritten.update { $0 = count } }
    scheduler.advance(by: truth.timeLimit * 2)
    #expect(try await unwritten.wait(within: .seconds(20)) { $0 != nil } == 1_000)
  }

  @Test func `E3: a flush waits for longer while the source takes what has failed before`() async throws {
    let (truth, scheduler) = (CountingTruth(), TestScheduler())
    let queue = await queue(over: truth, scheduler, withOutstanding: 100)
    truth.gate.hold()
    let unwritten = Monitor<Int?>(nil)
    queue.flush { count in unwritten.update { $0 = count } }
    try await truth.gate.held.wait { $0 == 64 }
    scheduler.advance(by: truth.timeLimit / 2)
    truth.gate.letThrough()
    try await truth.gate.held.wait { $0 == 100 }
    scheduler.advance(by: truth.timeLimit * 1.75)
    #expect(unwritten.value == nil)
    truth.gate.release()
    #expect(try await unwritten.wait { $0 != nil } == 0)
  }

  /// A queue over a source that has taken nothing so far.
  private func queue(
    over truth: CountingTruth, _ scheduler: any Scheduler, withOutstanding count: Int
  ) async -> SharedQueue<Int, String> {
    let queue = SharedQueue(truth, scheduler: scheduler) { _ in }
    truth.isAway.update { $0 = true }
    for number in 0..<count {
      _ = queue.add(.remove(EntryVersion(time: 1, writer: 1)), for: number, completion: nil)
      queue.begin(number)
    }
    for number in 0..<count {
      await withCheckedContinuation { continuation in queue.settle(number) { _ in continuation.resume() } }
    }
    truth.isAway.update { $0 = false }
    return queue
  }
}

/// A source of truth that counts the removals that run at the same time.
private final class CountingTruth: AsyncSourceOfTruth {
  /// Longer than a machine is busy with other things.
  let timeLimit = Duration.seconds(10)
  let isAway = Mutable(false)
  /// Whether removals take until they are cancelled.
  let isStalled = Mutable(false)
  let gate = TaskGate()
  let counts = Mutable((now: 0, greatest: 0))

  func read(_ key: Int) async throws -> StoredValue<String>? { nil }
  func write(_ stored: StoredValue<String>, for key: Int, isResponse: Bool) async throws -> SourceWriteResult { .done }
  func invalidate(_ key: Int, version: EntryVersion) async throws -> SourceWriteResult { .done }
  func removeAll(version: EntryVersion) async throws {}
  func keys() async throws -> [Int] { [] }

  func remove(_ key: Int, version: EntryVersion) async throws -> SourceWriteResult {
    if isAway.value { throw CancellationError() }
    await gate.pass()
    if isStalled.value {
      for await _ in AsyncStream(Never.self, { _ in }) {}
      throw CancellationError()
    }
    counts.update { $0 = ($0.now + 1, max($0.greatest, $0.now + 1)) }
    defer { counts.update { $0.now -= 1 } }
    for _ in 0..<10 { await Task.yield() }
    return .done
  }
}
