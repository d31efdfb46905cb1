import Foundation
import StoresTestSupport
import Streams
import StreamsTesting
import TestSupport
import Testing

@testable import Stores

@Suite("a store beside its model")
struct ModelTests {
  @Test(arguments: [false, true])
  func `random operations give what the model gives`(hasRoom: Bool) async throws {
    let seed =
      ProcessInfo.processInfo.environment["MOMENTS_TEST_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...(.max))
    print("MOMENTS_TEST_SEED=\(seed)")
    var run = ModelRun(seed: seed, hasRoom: hasRoom)
    for step in 0..<TestScale.count(10_000, long: 100_000) {
      let operation = try await run.step()
      guard run.difference() != nil else { continue }
      // A thread that a busy machine has stopped for some milliseconds has left what was to be done to another one.
      try? await eventually(within: .seconds(10)) { run.difference() == nil }
      guard let difference = run.difference() else { continue }
      Issue.record("seed \(seed), hasRoom \(hasRoom), step \(step), after \(operation): \(difference)")
      return
    }
    #expect(run.answers > 500)
    run.disposeAll()
    run.answerAll()
    #expect(run.isAtRest, "O2: seed \(seed), hasRoom \(hasRoom)")
  }
}

/// A store and its model, to which the same things happen.
private struct ModelRun {
  private static let keys = ["a", "b", "c", "d"]

  private var random: SplitMix
  /// Whether memory has room for all; else the source of truth is read again and again, and nothing is partial, since
  /// that would go with the memory.
  private let hasRoom: Bool
  private let scheduler = TestScheduler()
  private let truth = MemoryTruth<String, Int>()
  private var server = FakeServer<String, Int>()
  private var mutations = FakeServer<String, Int>()
  private var store: Store<String, Int>
  private var model = StoreModel()
  private var lastID = 0
  private var gets: [Int: Recorder<Snapshot<Int>>] = [:]
  private var streams: [Int: Recorder<Snapshot<Int>>] = [:]
  private var changes: [(id: Int, key: String, recorder: Recorder<Int>, request: Int)] = []
  private(set) var answers = 0

  init(seed: UInt64, hasRoom: Bool) {
    random = SplitMix(seed: seed)
    self.hasRoom = hasRoom
    store = Self.store(server, truth, scheduler, hasRoom: hasRoom)
  }

  private static func store(
    _ server: FakeServer<String, Int>, _ truth: MemoryTruth<String, Int>, _ scheduler: TestScheduler, hasRoom: Bool
  ) -> Store<String, Int> {
    var configuration = StoreConfiguration<Int>()
    configuration.memoryCount = hasRoom ? 100 : 1
    configuration.clock = .scheduler(scheduler)
    configuration.isCacheable = { $0 % 10 != 7 }
    configuration.mayServeStale = { _ in true }
    configuration.freshness = Freshness(
      staleTime: .seconds(StoreModel.staleTime), partialTime: .seconds(StoreModel.partialTime),
      refreshAfterWrite: .seconds(StoreModel.refreshTime), staleIfError: .seconds(StoreModel.staleIfError))
    configuration.backoff = Backoff(
      initial: .seconds(StoreModel.delays[0]), maximum: .seconds(StoreModel.delays[2]), jitter: 0)
    configuration.idleTime = nil
    return Store(.ofPartial(server.fetch), storage: .source(truth), configuration: configuration)
  }

  /// Does one thing to both; says what.
  mutating func step() async throws -> String {
    guard let key = Self.keys.randomElement(using: &random) else { return "" }
    let policy = FetchPolicy.allCases.randomElement(using: &random) ?? .cacheFirst
    let value = Int.random(in: 0..<1_000, using: &random) * 10
    lastID += 1
    let id = lastID
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<15:
      gets[id] = Recorder(store.get(key, policy))
      model.get(id, key, policy)
      return "get \(key) \(policy)"
    case 15..<25:
      streams[id] = Recorder(store.stream(key, policy))
      model.watch(id, key, policy)
      return "stream \(key) \(policy)"
    case 25..<35: return dispose()
    case 35..<60: return answer(value)
    case 60..<66:
      await store.save(value, for: key)
      model.save(key, value)
      return "save \(key)"
    case 66..<70:
      await store.update(key) { $0 += 10 }
      model.update(key, adding: 10)
      return "update \(key)"
    case 70..<74:
      await store.invalidate(key)
      model.invalidate(key)
      return "invalidate \(key)"
    case 74..<77:
      await store.remove(key)
      model.remove(key)
      return "remove \(key)"
    case 77:
      try await store.clear()
      for key in Self.keys { model.remove(key) }
      return "clear"
    case 78..<84:
      let added = value + 1
      let isForAll = Bool.random(using: &random)
      let request = mutations.count
      let send = { @Sendable [mutations] in mutations.fetch(key).map(\.value) }
      let change =
        isForAll
        ? store.mutate(.ofAll(keyForResponse: { _ in key }) { $1 + added }, send: send)
        : store.mutate(.of(key) { $0.map { $0 + added } }, send: send)
      changes.append((id, key, Recorder(change), request))
      model.change(id, isForAll ? nil : key, adding: added)
      return isForAll ? "mutate all, answered with \(key)" : "mutate \(key)"
    case 84..<92: return settle(value)
    case 92..<99:
      let seconds = Int.random(in: 1...(Bool.random(using: &random) ? 3 : 30), using: &random)
      scheduler.advance(by: .seconds(seconds))
      model.now += seconds
      return "\(seconds) seconds"
    default: return reopen()
    }
  }

  private mutating func dispose() -> String {
    let ids = (Array(gets.keys) + Array(streams.keys) + changes.map(\.id)).sorted()
    guard let id = ids.randomElement(using: &random) else { return "nothing" }
    gets.removeValue(forKey: id)?.dispose()
    streams.removeValue(forKey: id)?.dispose()
    if let place = changes.firstIndex(where: { $0.id == id }) { changes.remove(at: place).recorder.dispose() }
    model.dispose(id)
    model.outcomes[id] = nil
    return "dispose \(id)"
  }

  private mutating func answer(_ value: Int) -> String {
    guard let request = open.randomElement(using: &random) else { return "nothing" }
    answers += 1
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<2:
      model.fail(request.key)
      request.fail()
      return "failure \(request.key)"
    case 2..<4 where hasRoom:
      model.answer(request.key, value, isPartial: true, isCacheable: true)
      request.answer(value, errors: [Failure()])
      return "partial answer \(request.key)"
    case 4:
      model.answer(request.key, value + 7, isPartial: false, isCacheable: false)
      request.answer(value + 7)
      return "answer that may not be kept \(request.key)"
    default:
      model.answer(request.key, value, isPartial: false, isCacheable: true)
      request.answer(value)
      return "answer \(request.key)"
    }
  }

  private mutating func settle(_ value: Int) -> String {
    guard let place = changes.indices.randomElement(using: &random) else { return "nothing" }
    let change = changes.remove(at: place)
    if Bool.random(using: &random) {
      model.dispose(change.id)
      mutations[change.request].fail()
      return "failed change of \(change.key)"
    }
    model.settle(change.id, change.key, value)
    mutations[change.request].answer(value)
    return "change of \(change.key)"
  }

  mutating func disposeAll() {
    for recorder in gets.values { recorder.dispose() }
    for recorder in streams.values { recorder.dispose() }
    for change in changes { change.recorder.dispose() }
    (gets, streams, changes) = ([:], [:], [])
  }

  /// Ends what the store itself has asked for.
  func answerAll() {
    for request in open { request.answer(0) }
  }

  /// Whether the store has nothing left but what is kept.
  var isAtRest: Bool {
    store.perform { $0.entries.isEmpty && $0.layers.isEmpty && $0.writes.isEmpty && $0.localWrites.isEmpty }
  }

  private mutating func reopen() -> String {
    disposeAll()
    (server, mutations) = (FakeServer(), FakeServer())
    store = Self.store(server, truth, scheduler, hasRoom: hasRoom)
    model.reopen()
    model.outcomes = [:]
    return "reopening"
  }

  private var open: [FakeServer<String, Int>.Request] { server.requests.value.filter { !$0.isCancelled.value } }

  /// What store and model do not agree on.
  mutating func difference() -> String? {
    if open.map(\.key).sorted() != model.requests.keys.sorted() {
      return "requests: \(open.map(\.key)), not \(model.requests)"
    }
    for key in Self.keys {
      let snapshot = Recorder(store.get(key, .cacheOnly)).take().first
      if snapshot?.value != model.rendered(key) { return "\(key) is \(String(describing: snapshot))" }
      guard let snapshot else { continue }
      if snapshot.isStale != model.isStale(key) { return "\(key) is stale: \(snapshot.isStale)" }
      if snapshot.isFetching != (model.requests[key] != nil) { return "\(key) is fetched: \(snapshot.isFetching)" }
      if (snapshot.source == .optimistic) != model.isChanged(key) {
        return "\(key) is from \(String(describing: snapshot.source))"
      }
    }
    for (id, recorder) in streams {
      let shown = recorder.elements.value.last
      if shown?.value != model.shown(id) {
        return "stream \(id) shows \(String(describing: shown)), not \(String(describing: model.shown(id)))"
      }
      let isFetching = model.watchers[id].map { model.requests[$0.key] != nil }
      if shown?.isFetching != isFetching { return "stream \(id) is fetched: \(String(describing: shown))" }
    }
    for (id, recorder) in gets {
      let value = recorder.elements.value.last?.value
      let outcome = value.map { StoreModel.Outcome.value($0) } ?? (recorder.error.value == nil ? nil : .failure)
      if outcome != model.outcomes[id] { return "get \(id) has ended: \(String(describing: outcome))" }
      if outcome != nil { gets[id] = nil }
    }
    return nil
  }
}
