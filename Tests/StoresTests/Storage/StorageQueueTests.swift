import Foundation
import Glibc
import StoresTestSupport
import Testing

@testable import Stores

/// The writes that wait for a source of truth that is slow, or fails.
@Suite(.timeLimit(.minutes(1))) struct StorageQueueTests {
  private func stored<Value>(_ value: Value) -> StoredValue<Value> {
    StoredValue(value, writtenAt: StoreTime(microseconds: 0), isInvalidated: false)
  }

  @Test func `D3: a write that another one supersedes ends when a value of the key is written`() {
    let truth = SlowTruth<String>()
    let queue = StorageQueue(truth, writesBehind: false, onError: { _ in })
    let (found, ended) = (Mutable<String?>(nil), DispatchSemaphore(value: 0))
    _ = queue.enqueue(.write(stored("other"), "other"))
    let (job, _) = queue.enqueue(.write(stored("1"), "k"))
    Thread.detachNewThread {
      queue.finish(job) { _ in found.update { $0 = truth.value(of: "k") } }
      ended.signal()
    }
    truth.entered.wait()
    // Enqueued while the other key is written, by a thread that has not had its turn yet.
    let (later, _) = queue.enqueue(.write(stored("2"), "k"))
    truth.gate.signal()
    ended.wait()
    #expect(found.value != nil)
    queue.finish(later) { #expect($0 == nil) }
    #expect(truth.value(of: "k") == "2")
  }

  @Test func `D3: a write that another one supersedes before it is begun ends with that one's error`() {
    let truth = SlowTruth<String>()
    truth.gate.signal()
    let queue = StorageQueue(truth, writesBehind: false, onError: { _ in })
    let (first, _) = queue.enqueue(.write(stored("1"), "k"))
    let (second, _) = queue.enqueue(.write(stored("fails"), "k"))
    for job in [first, second] { queue.finish(job) { #expect($0 is Failure) } }
    #expect(truth.attempts == ["fails"])
    let (third, _) = queue.enqueue(.write(stored("3"), "k"))
    let (removal, _) = queue.enqueue(.removeAll(.zero))
    for job in [third, removal] { queue.finish(job) { #expect($0 == nil) } }
    #expect(truth.attempts == ["fails"])
    #expect(truth.value(of: "k") == nil)
  }

  @Test func `what is invalidated while it is being written is not the value before`() {
    let truth = SlowTruth<String>()
    truth.store("old", for: "k")
    let queue = StorageQueue(truth, writesBehind: true, onError: { _ in })
    let ended = DispatchSemaphore(value: 0)
    queue.finishLater(queue.enqueue(.write(stored("new"), "k")).job)
    truth.entered.wait()
    queue.finishLater(queue.enqueue(.invalidate("k")).job)
    #expect(queue.current("k")?.value == "new")
    #expect(queue.current("k")?.isInvalidated == true)
    truth.gate.signal()
    queue.flush { _ in ended.signal() }
    ended.wait()
    #expect(queue.current("k")?.value == "new")
    #expect(queue.current("k")?.isInvalidated == true)
  }

  @Test func `the writes that wait are one value of each key`() {
    let (truth, live) = (SlowTruth<Counted>(), Mutable(0))
    let queue = StorageQueue(truth, writesBehind: true, onError: { _ in })
    let ended = DispatchSemaphore(value: 0)
    queue.finishLater(queue.enqueue(.write(stored(Counted(0, live)), "other")).job)
    truth.entered.wait()
    for number in 1...1_000 { queue.finishLater(queue.enqueue(.write(stored(Counted(number, live)), "k")).job) }
    #expect(live.value == 2)
    truth.gate.signal()
    queue.flush { _ in ended.signal() }
    ended.wait()
    #expect(truth.value(of: "k")?.number == 1_000)
    #expect(live.value == 2)
  }

  @Test func `D7: writes that wait for a lock that is not given back fail together`() {
    let truth = SlowTruth<String>()
    let errors = Mutable(0)
    let queue = StorageQueue(truth, writesBehind: false, onError: { _ in errors.update { $0 += 1 } })
    let ended = DispatchSemaphore(value: 0)
    for number in 0..<4 {
      let (job, _) = queue.enqueue(.write(stored("locked"), "\(number)"))
      Thread.detachNewThread {
        queue.finish(job) { error in #expect((error as? FileError)?.isLockTimeout == true) }
        ended.signal()
      }
    }
    truth.entered.wait()
    // Those that were enqueued while the first one waited have waited as long, too.
    let (job, _) = queue.enqueue(.write(stored("locked"), "late"))
    truth.gate.signal()
    for _ in 0..<4 { ended.wait() }
    queue.finish(job) { error in #expect((error as? FileError)?.isLockTimeout == true) }
    #expect(truth.attempts == ["locked"])
    #expect(errors.value == 5)
    let (next, _) = queue.enqueue(.write(stored("v"), "k"))
    queue.finish(next) { #expect($0 == nil) }
    #expect(truth.value(of: "k") == "v")
  }

  @Test func `all keys are suspected if there are more than can be remembered, until they are written`() {
    var suspicions = Suspicions<Int>(limit: 3)
    suspicions.insert(0, .outOfDate)
    suspicions.insert(1, .removed(.zero))
    suspicions.insert(1, .outOfDate)
    #expect(suspicions[0] == .outOfDate)
    #expect(suspicions[1] == .removed(.zero))
    #expect(suspicions[2] == nil)
    suspicions.remove(1)
    #expect(suspicions[1] == nil)
    suspicions.insertAll(.outOfDate)
    #expect(suspicions[0] == .outOfDate)
    #expect(suspicions[9] == .outOfDate)
    suspicions.remove(9)
    #expect(suspicions[9] == nil)
    #expect(suspicions[8] == .outOfDate)
    suspicions.insertAll(.removed(.zero))
    suspicions.remove(9)
    suspicions.insertAll(.outOfDate)
    #expect(suspicions[9] == .outOfDate)
    #expect(suspicions[8] == .removed(.zero))
    for key in 20..<25 { suspicions.insert(key, .removed(.zero)) }
    suspicions.insertAll(.removed(.zero))
    #expect(suspicions[9] == .removed(.zero))
    #expect(suspicions[24] == .removed(.zero))
  }

  @Test(arguments: [true, false])
  func `an invalidation beside a removal of what has expired concerns what another process has written`(
    isFirst: Bool
  ) {
    let truth = MemoryTruth<String, String>()
    let queue = StorageQueue(truth, writesBehind: false, onError: { _ in })
    truth.write(stored("newer"), for: "k")
    var versions = VersionClock()
    let works: [StorageQueue<String, String>.Work] = [.expire("k", versions.next()), .invalidate("k")]
    let jobs = (isFirst ? works.reversed() : works).map { queue.enqueue($0).job }
    for job in jobs { queue.finish(job) { #expect($0 == nil) } }
    #expect(truth.read("k")?.isInvalidated == true)
  }
}

/// A source of truth whose first write waits for the gate; a text says how its write fails.
private final class SlowTruth<Value: Sendable>: SourceOfTruth {
  let (entered, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
  private let truth = MemoryTruth<String, Value>()
  private let tried = Mutable<[String]>([])
  private let isFirst = Mutable(true)

  var attempts: [String] { tried.value }

  func value(of key: String) -> Value? { truth.read(key)?.value }

  func store(_ value: Value, for key: String) {
    truth.write(StoredValue(value, writtenAt: StoreTime(microseconds: 0)), for: key)
  }

  func read(_ key: String) -> StoredValue<Value>? { truth.read(key) }

  func write(_ stored: StoredValue<Value>, for key: String) throws {
    let isFirst = isFirst.update { first in
      defer { first = false }
      return first
    }
    if let text = stored.value as? String { tried.update { $0.append(text) } }
    if isFirst {
      entered.signal()
      gate.wait()
    }
    switch stored.value as? String {
    case "fails": throw Failure()
    case "locked": throw FileError(code: ETIMEDOUT, call: "flock", file: "lock")
    default: truth.write(stored, for: key)
    }
  }

  func remove(_ key: String) { truth.remove(key) }
  func removeAll() { truth.removeAll() }
  func keys() -> [String] { truth.keys() }
}
