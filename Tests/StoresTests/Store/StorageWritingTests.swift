import Dispatch
import Foundation
import StoresTestSupport
import Streams
import TestSupport
import Testing

@testable import Stores

/// When a store's source of truth is written to, and what becomes of what it has to be told.
@Suite("a store that writes to a source of truth")
struct StorageWritingTests {
  let folder = TemporaryFolder()
  let server = FakeServer<String, String>()

  @Test func `a change of all values is made in what waits to be written, too`() async {
    let truth = GatedTruth()
    var configuration = StoreConfiguration<String>()
    configuration.writing = .behind
    configuration.memoryCount = 1
    let store = Store(.ofPartial(server.fetch), storage: .source(truth), configuration: configuration)
    for key in ["a", "b", "c"] { await store.save(key, for: key) }
    await store.remove("b")
    let change = Recorder(
      store.mutate(.ofAll(keyForResponse: { _ in "c" }) { $1 + "!" }, send: { .just("answer") }))
    truth.gate.signal()
    await store.flush()
    #expect(change.isCompleted.value)
    #expect(["a", "b", "c"].map { truth.read($0)?.value } == ["a!", nil, "answer"])
  }

  @Test func `D8, S1: written behind too, a clear and a sign-out return when the files are gone`() async throws {
    let store = try folder.store(server) { $0.writing = .behind }
    for isSignOut in [false, true] {
      for index in 0..<100 { await store.save("v", for: "\(index)") }
      if isSignOut { try await store.signOut() } else { try await store.clear() }
      #expect(folder.records == [])
    }
    // What is on disk now is the next session's, and the old one does not touch it.
    try await folder.store(server).save("next", for: "k")
    try await store.clear()
    await store.remove("k")
    #expect(folder.records.count == 1)
  }

  @Test func `D8: two sign-outs at once both return when the files are gone`() {
    let truth = SlowlyRemoved()
    let store = Store(.ofPartial(server.fetch), storage: .source(truth))
    let ended = DispatchSemaphore(value: 0)
    func signOut() { store.perform { $0.signOut { _ in ended.signal() } } }
    signOut()
    #expect(truth.isRemoving.wait(timeout: .now() + 30) == .success)
    signOut()
    #expect(ended.wait(timeout: .now() + 0.05) == .timedOut)
    truth.gate.signal()
    for _ in 0..<2 { #expect(ended.wait(timeout: .now() + 30) == .success) }
  }

  @Test func `D7: a thread that brings a response does not wait for another process's lock`() async throws {
    let store = try folder.store(server)
    let (files, name) = (SystemFileSystem(), try #require(folder.files.first { $0.hasSuffix("/lock") }))
    let lock = try files.open(folder.path(name), .lock)
    #expect(try files.tryLock(lock))
    let get = Recorder(store.get("k", .networkOnly))
    let change = Recorder(store.mutate(.of("l") { $0 }, send: { .just("w") }))
    server[0].answer("v")
    #expect(!get.isCompleted.value)
    #expect(!change.isCompleted.value)
    #expect(folder.records.isEmpty)
    // Nor does any number of tasks.
    let others = (0..<8).map { number in Task { try await store.get("\(number)", .networkOnly).value } }
    try await server.wait(forCount: 9)
    for number in 1...8 { server[number].answer("v") }
    #expect(await Task { 1 }.value == 1)
    try files.close(lock)
    try await get.waitForCompletion()
    try await change.waitForCompletion()
    for other in others { #expect(try await other.value.value == "v") }
    #expect(folder.records.count == 10)
  }

  @Test func `a source of truth does not wait for a lock held by its own process`() async throws {
    let store = try folder.store(server)
    let (inside, outside) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let get = Recorder(
      store.get("k", .networkOnly).do(onNext: { _ in
        // As if another thread held a lock that this callback takes, and wrote meanwhile.
        inside.signal()
        #expect(outside.wait(timeout: .now() + 30) == .success)
      }))
    Thread.detachNewThread {
      inside.wait()
      store.save("other", for: "l")
      outside.signal()
    }
    server[0].answer("v")
    try await get.waitForCompletion()
    #expect(folder.records.count == 2)
  }

  @Test func `a reader that blocks the response to one request delays no other's`() throws {
    let truth = GatedTruth()
    let store = Store(.ofPartial(server.fetch), storage: .source(truth))
    let (isFirstWritten, isSecondKept, isThirdKept, isThirdAnswered) = (
      truth.isWriting, DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
    )
    let isInTime = Mutable(false)
    let subscriptions = [
      store.stream("b", .cacheOnly).subscribe(onNext: { if $0.value != nil { isSecondKept.signal() } }),
      store.stream("c", .cacheOnly).subscribe(onNext: { if $0.value != nil { isThirdKept.signal() } }),
      store.get("a", .networkOnly).subscribe(onNext: { _ in }),
      store.get("b", .networkOnly).subscribe(onNext: { _ in
        isInTime.update { $0 = isThirdAnswered.wait(timeout: .now() + 5) == .success }
      }),
      store.get("c", .networkOnly).subscribe(onNext: { _ in isThirdAnswered.signal() }),
    ]
    try race(4) { [server] thread in
      // Each when the one before has put its work in; the first is held up in writing its own.
      [nil, isFirstWritten, isSecondKept, isThirdKept][thread]?.wait()
      if thread < 3 { server[thread].answer("v") } else { truth.gate.signal() }
    }
    #expect(isInTime.value)
    for subscription in subscriptions { subscription.dispose() }
  }

  @Test func `a value that is written through is on disk before its reader gets it`() async throws {
    let store = try folder.store(server)
    let found = Mutable<[String]>([])
    let get = Recorder(
      store.get("k", .networkOnly).do(onNext: { [folder] _ in
        found.update { $0 = folder.records }
      }))
    server[0].answer("v")
    try await get.waitForCompletion()
    #expect(found.value.count == 1)
  }

  @Test func `a value that cannot be written through is still delivered to its reader, and to the live streams`() {
    let store = Store<String, String>(.ofPartial(server.fetch), storage: .source(Broken()))
    let watch = Recorder(store.stream("k", .cacheOnly))
    let get = Recorder(store.get("k", .networkOnly))
    server[0].answer("v")
    #expect(get.brief() == ["v network"])
    #expect(watch.brief().last == "v network")
  }

  @Test func `written behind, a value is on disk after a flush, and is read meanwhile`() async throws {
    let store = try folder.store(server) {
      $0.writing = .behind
      $0.memoryCount = 1
    }
    for index in 0..<100 {
      await store.save("\(index)", for: "\(index % 10)")
      let earlier = max(0, index - 3)
      #expect(Recorder(store.get("\(earlier % 10)", .cacheOnly)).take().first?.value == "\(earlier)")
    }
    await store.flush()
    #expect(folder.records.count == 10)
    #expect(Recorder(try folder.store(server).get("7", .cacheOnly)).brief() == ["97 disk"])
  }

  @Test(arguments: [StoreConfiguration<Int>.Writing.through, .behind])
  func `memory, watchers and the source of truth agree after a race of reads and writes`(
    writing: StoreConfiguration<Int>.Writing
  ) async throws {
    for round in 0..<TestScale.count(20, long: 500) {
      let truth = MemoryTruth<Int, Int>()
      var configuration = StoreConfiguration<Int>()
      configuration.writing = writing
      configuration.memoryCount = 2
      let store = Store(.ofStream { key in .just(key * 1_000) }, storage: .source(truth), configuration: configuration)
      let watchers = (0..<4).map { Recorder(store.stream($0, .cacheOnly)) }
      try race(6) { thread in
        var random = SplitMix(seed: UInt64(round * 6 + thread))
        for value in 0..<50 {
          let key = Int.random(in: 0..<4, using: &random)
          switch Int.random(in: 0..<10, using: &random) {
          case 0: store.remove(key)
          case 1: store.perform { $0.removeAll { _ in } }
          case 2: store.invalidate(key)
          case 3: store.update(key) { $0 += 1 }
          case 4: Recorder(store.get(key, .networkOnly)).dispose()
          case 5: Recorder(store.mutate(.of(key) { _ in -1 }, send: { .just(value) })).dispose()
          case 6, 7: Recorder(store.get(key, .cacheFirst)).dispose()
          default: store.save(thread * 100 + value, for: key)
          }
        }
      }
      await store.flush()
      for (key, watcher) in watchers.enumerated() {
        let kept = Recorder(store.get(key, .cacheOnly)).take().first?.value
        #expect(truth.read(key)?.value == kept, "round \(round), key \(key)")
        #expect(watcher.take().last?.value == kept, "round \(round), key \(key)")
      }
    }
  }

  @Test func `a disk that fails is reported, and reads still work`() async throws {
    let errors = Mutable<[String]>([])
    var configuration = StoreConfiguration<String>()
    configuration.writing = .behind
    configuration.onStorageError = { error in errors.update { $0.append("\(error)") } }
    let store = Store<String, String>(
      .ofPartial(server.fetch), storage: .source(Broken()), configuration: configuration)
    let get = Recorder(store.get("k", .cacheFirst))
    server[0].answer("v")
    #expect(get.brief() == ["v network"])
    #expect(Recorder(store.get("k", .cacheFirst)).brief() == ["v memory"])
    await store.flush()
    #expect(errors.value == ["failure", "failure"])
  }
}

/// A source of truth whose first write waits for the gate.
private final class GatedTruth: SourceOfTruth {
  let gate = DispatchSemaphore(value: 0)
  let isWriting = DispatchSemaphore(value: 0)
  private let truth = MemoryTruth<String, String>()

  func read(_ key: String) -> StoredValue<String>? { truth.read(key) }
  func write(_ stored: StoredValue<String>, for key: String) {
    isWriting.signal()
    gate.wait()
    truth.write(stored, for: key)
    gate.signal()
  }
  func remove(_ key: String) { truth.remove(key) }
  func removeAll() { truth.removeAll() }
  func keys() -> [String] { truth.keys() }
}

/// Empty, and slow to remove everything.
private struct SlowlyRemoved: SourceOfTruth {
  let gate = DispatchSemaphore(value: 0)
  let isRemoving = DispatchSemaphore(value: 0)

  var waitsForOtherProcesses: Bool { true }
  func read(_ key: String) -> StoredValue<String>? { nil }
  func write(_ stored: StoredValue<String>, for key: String) {}
  func remove(_ key: String) {}
  func removeAll() {
    isRemoving.signal()
    gate.wait()
  }
  func keys() -> [String] { [] }
}

private struct Broken: SourceOfTruth {
  func read(_ key: String) throws -> StoredValue<String>? { throw Failure() }
  func write(_ stored: StoredValue<String>, for key: String) throws { throw Failure() }
  func remove(_ key: String) throws { throw Failure() }
  func removeAll() throws { throw Failure() }
  func keys() throws -> [String] { throw Failure() }
}
