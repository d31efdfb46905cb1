import Foundation
import HTTPClientCore
import StoresTestSupport
import Streams
import TestSupport
import Testing

@testable import Stores

/// What stays of a store when it is released, for the next one of its account.
@Suite(.timeLimit(.minutes(2))) struct AccountStorageTests {
  private let folder = TemporaryFolder()
  private let server = FakeServer<String, String>()

  /// Holds the lock of the only partition in the folder, as another process does.
  private func lock() throws -> @Sendable () -> Void {
    let files = SystemFileSystem()
    let name = try #require(folder.files.first { $0.hasSuffix("/lock") })
    let lock = try files.open(folder.path(name), .lock)
    try #require(try files.tryLock(lock))
    return { try? files.close(lock) }
  }

  private func store(
    _ fileSystem: some FileSystem = SystemFileSystem(), writing: StoreConfiguration<String>.Writing = .through,
    onError: @escaping @Sendable (any Error) -> Void = { _ in }
  ) throws -> Store<String, String> {
    var configuration = StoreConfiguration<String>()
    configuration.writing = writing
    configuration.onStorageError = onError
    return Store(
      .ofPartial(server.fetch),
      storage: .source(try DiskCache(folder: folder.url, coder: .json, fileSystem: fileSystem)),
      configuration: configuration)
  }

  @Test func `D3: a value that is read while its invalidation reaches the source is out of date`() throws {
    let source = ObservedSource()
    let queue = StorageQueue(source, writesBehind: true) { _ in }
    try source.write(StoredValue("old", writtenAt: .now()), for: "k")
    let job = queue.enqueue(.invalidate("k")).job
    source.afterReading.update { $0 = { queue.finish(job) { _ in } } }
    guard case .found(let found) = queue.read("k") else {
      Issue.record("there is no value")
      return
    }
    #expect(found.value == "old")
    #expect(found.isInvalidated)
    #expect(try source.read("k")?.isInvalidated == true)
  }

  @Test(arguments: [false, true])
  func `a source of truth whose work another one of its account takes over may use that as it is released`(
    hasFailed: Bool
  ) async throws {
    let memory = MemoryTruth<String, String>()
    let identity = UUID().uuidString
    let next = StorageQueue(HeldSource(memory, identity), writesBehind: true) { _ in }
    let isReleased = Latch()
    do {
      let source = HeldSource(memory, identity, fails: true) {
        _ = next.isBusy
        isReleased.open()
      }
      let first = StorageQueue(source, writesBehind: true) { _ in }
      let job = first.enqueue(.write(StoredValue("v", writtenAt: .now()), "k")).job
      if hasFailed { first.finish(job) { _ in } }
    }
    // On a thread of its own, which would wait for ever.
    Thread.detachNewThread {
      let (job, garbage) = next.enqueue(.write(StoredValue("w", writtenAt: .now()), "k"))
      withExtendedLifetime(garbage) {}
      next.finish(job) { _ in }
    }
    try await isReleased.wait(for: "the source to be released", within: .seconds(20))
    try await eventually(within: .seconds(20)) { memory.read("k")?.value == "w" }
  }

  @Test func `S1: a store that is made during its account's sign-out shows nothing of before, and loses no write`()
    async throws
  {
    let source = SlowlyEmptied()
    func store() -> Store<String, String> { Store(.ofPartial(server.fetch), storage: .source(source)) }
    let first = store()
    await first.save("secret", for: "k")
    let signingOut = Task { try await first.signOut() }
    try await source.isBeingEmptied.wait()
    let next = store()
    await #expect(throws: StoreError.notCached) { try await next.get("k", .cacheOnly).value }
    let saving = Task { await next.save("new", for: "l") }
    try await eventually { next.peek("l") != nil }
    source.gate.signal()
    try await signingOut.value
    await saving.value
    #expect(next.peek("k") == nil)
    #expect(source.memory.read("l")?.value == "new")
  }

  @Test func `S1: a store shows nothing of a session whose sign-out has failed, and that removes none of its writes`()
    async throws
  {
    let source = SlowlyEmptied()
    func store() -> Store<String, String> { Store(.ofPartial(server.fetch), storage: .source(source)) }
    let first = store()
    await first.save("secret", for: "k")
    source.fails.update { $0 = true }
    await #expect(throws: Failure.self) { try await first.signOut() }
    let next = store()
    await #expect(throws: StoreError.notCached) { try await next.get("k", .cacheOnly).value }
    await next.save("new", for: "l")
    #expect(next.peek("l")?.value == "new")
    source.fails.update { $0 = false }
    source.gate.signal()
    // The sign-out is tried again after a pause.
    try await eventually {
      await next.save("newer", for: "l")
      return source.memory.read("l")?.value == "newer"
    }
    #expect(source.memory.read("k") == nil)
    await next.flush()
    #expect(source.memory.read("l")?.value == "newer")
    withExtendedLifetime(first) {}
  }

  @Test func `the next store of a folder finds what the one before has not written yet`() async throws {
    var first: Store<String, String>? = try store(writing: .behind)
    let next = try store()
    let unlock = try lock()
    await first?.save("v", for: "k")
    await first?.save("w", for: "l")
    await first?.remove("l")
    first = nil
    #expect(Recorder(next.get("k", .cacheOnly)).take().first?.value == "v")
    #expect(Recorder(next.get("l", .cacheOnly)).error.value as? StoreError == .notCached)
    unlock()
    await next.update("k") { $0 += "2" }
    #expect(try DiskCache<String, String>(folder: folder.url).read("k")?.value == "v2")
  }

  @Test(arguments: [false, true])
  func `D3: what could not be removed, replaced or invalidated is not current in the next store, either`(
    isReopened: Bool
  ) async throws {
    let files = FaultyFileSystem()
    let errors = Mutable(0)
    var first: Store<String, String>? = try store(files) { _ in errors.update { $0 += 1 } }
    for key in ["removed", "replaced", "invalidated"] { await first?.save("old", for: key) }
    files.fail(call: 0, isLasting: true)
    await first?.remove("removed")
    await first?.save("new", for: "replaced")
    await first?.invalidate("invalidated")
    #expect(errors.value == 3)
    first = nil
    files.fail(call: nil)
    let next = try store()
    #expect(Recorder(next.get("removed", .cacheOnly)).error.value as? StoreError == .notCached)
    #expect(Recorder(next.get("replaced", .cacheOnly)).error.value as? StoreError == .notCached)
    #expect(Recorder(next.get("invalidated", .cacheOnly)).brief() == ["old disk ~"])
    // It is done when the device works again, and then nothing is suspected any more.
    await next.save("v", for: "other")
    let cache = try DiskCache<String, String>(folder: folder.url)
    #expect(try Set(cache.keys()) == ["invalidated", "other"])
    #expect(try cache.read("invalidated")?.isInvalidated == true)
  }

  @Test func `D3: what the device refused is done when it works again, also if nothing else is written`() async throws {
    let files = FaultyFileSystem()
    let store = try store(files)
    for key in ["removed", "invalidated"] { await store.save("v", for: key) }
    files.fail(call: 0, isLasting: true)
    await store.remove("removed")
    await store.invalidate("invalidated")
    files.fail(call: nil)
    let cache = try DiskCache<String, String>(folder: folder.url)
    while try cache.keys().contains("removed") { try await Task.sleep(for: .milliseconds(10)) }
    while try cache.read("invalidated")?.isInvalidated == false { try await Task.sleep(for: .milliseconds(10)) }
    #expect(await store.flush() == nil)
  }

  @Test(arguments: ["clear", "remove", "replace"])
  func `D3: what another process writes after a change that the device refused stays`(change: String) async throws {
    let files = FaultyFileSystem()
    let store = try store(files)
    for key in ["a", "b"] { await store.save("old", for: key) }
    files.fail(call: 0, isLasting: true)
    switch change {
    case "clear": await #expect(throws: (any Error).self) { try await store.clear() }
    case "remove": for key in ["a", "b"] { await store.remove(key) }
    default: for key in ["a", "b"] { await store.save("lost", for: key) }
    }
    // A process of its own would read and write nothing but files, as this does.
    let cache = try DiskCache<String, String>(folder: folder.url)
    let later = EntryVersion(time: StoreTime.now().microseconds, writer: 1)
    try cache.write(StoredValue("new", writtenAt: .now(), version: later), for: "b")
    files.fail(call: nil)
    while try cache.keys().contains("a") { try await Task.sleep(for: .milliseconds(10)) }
    #expect(await store.flush() == nil)
    #expect(try cache.read("b")?.value == "new")
    if change != "replace" { #expect(try await store.get("b", .cacheOnly).value.value == "new") }
  }

  @Test func `D3: what always fails does not keep other work from being tried again`() async throws {
    let truth = StubbornTruth()
    let store = Store<String, String>(.ofPartial(server.fetch), storage: .source(truth))
    let keys = (0..<100).map { "stubborn \($0)" } + (0..<30).map { "\($0)" }
    for key in keys { await store.save("v", for: key) }
    truth.isAway.update { $0 = true }
    for key in keys { await store.remove(key) }
    truth.isAway.update { $0 = false }
    #expect(await store.flush() != nil)
    while !truth.keys().allSatisfy({ $0.hasPrefix("stubborn") }) { try await Task.sleep(for: .milliseconds(10)) }
    // Without an identity, a source of truth is tried again for as long as its store is there.
    #expect(await store.flush() != nil)
  }

  @Test func `D7: removals and invalidations that meet a lock count at once, and are done when it is free`()
    async throws
  {
    let files = SystemFileSystem(lockTimeout: .milliseconds(20))
    let errors = Monitor(0)
    var first: Store<String, String>? = try store(files) { _ in errors.update { $0 += 1 } }
    for key in ["a", "b"] { await first?.save("v", for: key) }
    let unlock = try lock()
    await first?.remove("a")
    await first?.invalidate("b")
    first = nil
    #expect(try await errors.wait { $0 >= 2 } >= 2)
    unlock()
    let cache = try DiskCache<String, String>(folder: folder.url)
    while try cache.read("b")?.isInvalidated == false { try await Task.sleep(for: .milliseconds(10)) }
    while try cache.keys().contains("a") { try await Task.sleep(for: .milliseconds(10)) }
  }

  @Test func `S1: a sign-out whose lock is busy is an error, and is carried out when it is free`() async throws {
    let files = SystemFileSystem(lockTimeout: .milliseconds(20))
    let first = try store(files)
    await first.save("secret", for: "k")
    let unlock = try lock()
    await #expect(throws: FileError.self) { try await first.signOut() }
    unlock()
    // Whoever opens the folder first: the next session, or this one's next attempt.
    let next = try store()
    #expect(Recorder(next.get("k", .cacheOnly)).error.value as? StoreError == .notCached)
    await next.save("next", for: "k")
    try await first.signOut()
    await next.save("next", for: "l")
    #expect(Recorder(next.get("k", .cacheOnly)).take().first?.value == "next")
    #expect(folder.records.count == 2)
  }

  @Test func `A2: a sign-out ends all stores of the folder, whatever they have queued`() async throws {
    let (first, second) = (try store(writing: .behind), try store())
    await second.save("v", for: "k")
    let watch = Recorder(second.stream("k", .cacheOnly))
    let get = Recorder(second.get("l", .networkOnly))
    let unlock = try lock()
    for number in 0..<20 { await first.save("secret", for: "\(number)") }
    async let signOut: Void = first.signOut()
    unlock()
    try await signOut
    #expect(folder.records == [])
    #expect(watch.isCompleted.value)
    #expect(get.error.value as? StoreError == .signedOut)
    server[0].answer("late")
    await second.save("late", for: "k")
    await second.flush()
    #expect(folder.records == [])
    try await store().save("next", for: "k")
    #expect(folder.records.count == 1)
  }

  @Test func `A2: a store of another process ends as signed out at its next write`() async throws {
    let mine = try store()
    await mine.save("v", for: "k")
    let watch = Recorder(mine.stream("k", .cacheOnly))
    // As another process does, which has a generation of its own.
    try DiskCache<String, String>(folder: folder.url).signOut()
    await mine.save("late", for: "k")
    #expect(watch.isCompleted.value)
    #expect(folder.records == [])
    #expect(Recorder(mine.get("k")).error.value as? StoreError == .signedOut)
    // The next session in this process is none of its business.
    let next = try store()
    await next.save("next", for: "k")
    #expect(mine.hasEnded)
    #expect(!next.hasEnded)
    #expect(folder.records.count == 1)
    try await mine.signOut()
    #expect(folder.records.count == 1)
  }

  @Test func `A3: what a refusal hides stays hidden in the next store and process, until a request succeeds`()
    async throws
  {
    var first: Store<String, String>? = try store()
    await first?.save("hidden", for: "k")
    let read = Recorder(try #require(first).get("l", .networkOnly))
    server[0].fail(RequestError(.httpStatus, "", status: 401))
    try await eventually { read.error.value != nil }
    #expect(
      folder.files.contains { $0.hasSuffix("/refused") }, "A reader gets the refusal when the next process has it")
    first = nil
    for _ in 0..<2 {
      let next = try store()
      #expect(next.peek("k") == nil)
      #expect(Recorder(next.get("k", .cacheOnly)).error.value as? StoreError == .notCached)
    }
    let next = try store()
    let get = Recorder(next.get("k", .cacheFirst))
    #expect(server.count == 2)
    server[1].answer("new")
    try await get.waitForCompletion()
    await next.save("v", for: "m")
    await next.flush()
    #expect(!folder.files.contains { $0.hasSuffix("/refused") })
    #expect(Recorder(try store().get("m", .cacheOnly)).take().first?.value == "v")
  }

  @Test func `D3: a record that cannot be read is reported by a change of all, and is out of date`() async throws {
    let files = FaultyFileSystem()
    let cache = try DiskCache<String, String>(folder: folder.url)
    for key in ["a", "b", "c"] { try cache.write(StoredValue("v", writtenAt: .now()), for: key) }
    let errors = Mutable(0)
    let mine = try store(files) { _ in errors.update { $0 += 1 } }
    let broken = try #require(folder.records.first)
    files.failReading(ofFilesEndingWith: String(broken.suffix(20)))
    await mine.invalidateAll()
    files.failReading(ofFilesEndingWith: nil)
    #expect(errors.value == 1)
    for key in ["a", "b", "c"] { #expect(Recorder(mine.get(key, .cacheOnly)).brief() == ["v disk ~"]) }
    let marked = try ["a", "b", "c"].filter { try cache.read($0)?.isInvalidated == true }
    #expect(marked.count == 2)
  }

  @Test func `an invalidation reaches what another process has written`() async throws {
    let mine = try store()
    let other = try DiskCache<String, String>(folder: folder.url)
    for key in ["a", "b", "c"] { try other.write(StoredValue("v", writtenAt: .now()), for: key) }
    await mine.invalidate("a")
    #expect(try other.read("a")?.isInvalidated == true)
    #expect(try other.read("b")?.isInvalidated == false)
    await mine.invalidateAll { $0 != "c" }
    #expect(try other.read("b")?.isInvalidated == true)
    #expect(try other.read("c")?.isInvalidated == false)
    let change = Recorder(mine.mutate(.ofAll(keyForResponse: { _ in "w" }) { $1 + "!" }, send: { .just("w") }))
    try await change.waitForCompletion()
    #expect(try other.read("c")?.value == "v!")
  }

  @Test func `a store without a source that has an identity is busy as long as it alone knows something`() async {
    let truth = FlakyTruth()
    let store = Store(.ofPartial(server.fetch), storage: .source(truth))
    await store.save("old", for: "k")
    #expect(!store.isBusy)
    truth.failing.update { $0 = [.remove] }
    await store.remove("k")
    #expect(store.isBusy)
    truth.failing.update { $0 = [] }
    await store.save("v", for: "l")
    #expect(!store.isBusy)
    #expect(truth.read(unconditionally: "k") == nil)
  }
}

/// A source of truth that never removes some of its values, and none while it is away.
private final class StubbornTruth: SourceOfTruth {
  let isAway = Mutable(false)
  private let truth = MemoryTruth<String, String>()

  func read(_ key: String) throws -> StoredValue<String>? { truth.read(key) }
  func write(_ stored: StoredValue<String>, for key: String) throws { truth.write(stored, for: key) }
  func remove(_ key: String) throws {
    if isAway.value || key.hasPrefix("stubborn") { throw CancellationError() }
    truth.remove(key)
  }
  func removeAll() throws { truth.removeAll() }
  func keys() -> [String] { truth.keys() }
}

/// Values in memory; a closure is called once, when a value has been read and is not returned yet.
private final class ObservedSource: SourceOfTruth {
  let afterReading = Mutable<(@Sendable () -> Void)?>(nil)
  private let values = Mutable<[String: StoredValue<String>]>([:])

  func read(_ key: String) throws -> StoredValue<String>? {
    let value = values.value[key]
    afterReading.update { exchange(&$0, with: nil) }?()
    return value
  }

  func write(_ stored: StoredValue<String>, for key: String) throws { values.update { $0[key] = stored } }
  func remove(_ key: String) throws { values.update { $0[key] = nil } }
  func removeAll() throws { values.update { $0 = [:] } }
  func keys() throws -> [String] { Array(values.value.keys) }
}

/// A source of truth over a memory, which tells when it is released.
private final class HeldSource: SourceOfTruth {
  private let memory: MemoryTruth<String, String>
  let identity: String?
  private let fails: Bool
  private let onRelease: @Sendable () -> Void

  init(
    _ memory: MemoryTruth<String, String>, _ identity: String, fails: Bool = false,
    onRelease: @escaping @Sendable () -> Void = {}
  ) {
    (self.memory, self.identity, self.fails, self.onRelease) = (memory, identity, fails, onRelease)
  }

  deinit { onRelease() }

  func read(_ key: String) -> StoredValue<String>? { memory.read(key) }

  func write(_ stored: StoredValue<String>, for key: String) throws {
    if fails { throw CocoaError(.fileWriteUnknown) }
    memory.write(stored, for: key)
  }

  func remove(_ key: String) throws {
    if fails { throw CocoaError(.fileWriteUnknown) }
    memory.remove(key)
  }

  func removeAll() { memory.removeAll() }
  func keys() -> [String] { memory.keys() }
}

/// A source of truth that takes its time to be emptied.
private final class SlowlyEmptied: SourceOfTruth {
  let memory = MemoryTruth<String, String>()
  let isBeingEmptied = Latch()
  let gate = DispatchSemaphore(value: 0)
  let fails = Mutable(false)
  let identity: String? = UUID().uuidString

  var waitsForOtherProcesses: Bool { true }

  func read(_ key: String) -> StoredValue<String>? { memory.read(key) }
  func write(_ stored: StoredValue<String>, for key: String) { memory.write(stored, for: key) }
  func remove(_ key: String) { memory.remove(key) }
  func keys() -> [String] { memory.keys() }
  func removeAll() throws {
    if fails.value { throw Failure() }
    isBeingEmptied.open()
    gate.wait()
    memory.removeAll()
  }
}
