import Foundation
import StoreConformance
import Stores
import StoresTestSupport
import Testing

@Suite("the conformance of sources of truth")
struct StoreConformanceTests {
  let folder = TemporaryFolder()

  @Test(arguments: StoreConformance.cases)
  func `a folder of files conforms`(_ test: StoreConformance.Case) throws {
    try test.check { [folder] in try DiskCache<String, String>(folder: folder.url, partition: $0) }
  }

  @Test func `a dictionary conforms`() {
    #expect(failures { $0 } == [])
  }

  @Test func `a source that keeps nothing does not conform`() {
    #expect(failures { _ in Forgetful() }.count > 8)
  }

  @Test func `a source that mixes partitions, or cuts keys, does not conform`() {
    let shared = MemoryTruth<String, String>()
    #expect(failures { _ in shared }.contains { $0.contains("partition") })
    #expect(failures { _ in Cutting() }.contains { $0.contains("a value of its own") })
  }

  @Test func `a source that loses a value for a moment does not conform`() {
    #expect(failures { Blinking(truth: $0) }.contains { $0.hasPrefix("readers see") })
  }

  @Test func `a source that lists keys twice, or cannot while others write, does not conform`() {
    #expect(failures { Repeating(truth: $0) }.contains { $0.hasSuffix("a key is listed twice") })
    #expect(failures { Busy(truth: $0) }.contains { $0.hasPrefix("keys are listed") && $0.hasSuffix("failure") })
  }

  @Test func `a source that returns texts in other bytes does not conform`() {
    let found = failures { Normalizing(truth: $0) }
    #expect(found.contains { $0.hasPrefix("any text is a value") })
    #expect(found.contains { $0.hasPrefix("every key") && $0.hasSuffix("the keys are not those that were written") })
  }

  /// The failures of a source that is made over the dictionary of each partition.
  private func failures(
    _ make: @escaping @Sendable (MemoryTruth<String, String>) -> any SourceOfTruth<String, String>
  ) -> [String] {
    let partitions = Mutable<[String: MemoryTruth<String, String>]>([:])
    return StoreConformance.cases.flatMap { test -> [String] in
      do {
        try test.check { partition in
          partitions.update { partitions in
            let truth = partitions[partition] ?? MemoryTruth()
            partitions[partition] = truth
            return make(truth)
          }
        }
        return []
      } catch {
        return "\(error)".split(separator: "\n").map { "\(test): \($0)" }
      }
    }
  }
}

/// A source of truth that removes the old value before it writes the new one, and is slow, so that a reader sees that.
private struct Blinking: SourceOfTruth {
  let truth: MemoryTruth<String, String>

  func read(_ key: String) -> StoredValue<String>? {
    usleep(100)
    return truth.read(key)
  }
  func write(_ stored: StoredValue<String>, for key: String) {
    truth.remove(key)
    usleep(500)
    truth.write(stored, for: key)
  }
  func remove(_ key: String) { truth.remove(key) }
  func removeAll() { truth.removeAll() }
  func keys() -> [String] { truth.keys() }
}

/// A source of truth that has its keys twice.
private struct Repeating: SourceOfTruth {
  let truth: MemoryTruth<String, String>

  func read(_ key: String) -> StoredValue<String>? { truth.read(key) }
  func write(_ stored: StoredValue<String>, for key: String) { truth.write(stored, for: key) }
  func remove(_ key: String) { truth.remove(key) }
  func removeAll() { truth.removeAll() }
  func keys() -> [String] { truth.keys() + truth.keys() }
}

/// A source of truth that cannot be listed while it is written to.
private struct Busy: SourceOfTruth {
  let truth: MemoryTruth<String, String>
  private let writers = Mutable(0)

  init(truth: MemoryTruth<String, String>) { self.truth = truth }

  func read(_ key: String) -> StoredValue<String>? { truth.read(key) }
  func write(_ stored: StoredValue<String>, for key: String) {
    writers.update { $0 += 1 }
    usleep(500)
    truth.write(stored, for: key)
    writers.update { $0 -= 1 }
  }
  func remove(_ key: String) { truth.remove(key) }
  func removeAll() { truth.removeAll() }
  func keys() throws -> [String] {
    if writers.value > 0 { throw Failure() }
    return truth.keys()
  }
}

/// A source of truth that gives texts that look the same, in other bytes.
private struct Normalizing: SourceOfTruth {
  let truth: MemoryTruth<String, String>

  func read(_ key: String) -> StoredValue<String>? {
    truth.read(key).map { stored in
      var stored = stored
      stored.value = normal(stored.value)
      return stored
    }
  }
  func write(_ stored: StoredValue<String>, for key: String) { truth.write(stored, for: key) }
  func remove(_ key: String) { truth.remove(key) }
  func removeAll() { truth.removeAll() }
  func keys() -> [String] { truth.keys().map(normal) }

  private func normal(_ text: String) -> String { text.precomposedStringWithCanonicalMapping }
}

/// A source of truth that keeps nothing.
private struct Forgetful: SourceOfTruth {
  func read(_ key: String) -> StoredValue<String>? { nil }
  func write(_ stored: StoredValue<String>, for key: String) {}
  func remove(_ key: String) {}
  func removeAll() {}
  func keys() -> [String] { [] }
}

/// A source of truth that takes long keys for equal.
private struct Cutting: SourceOfTruth {
  private let truth = MemoryTruth<String, String>()

  func read(_ key: String) -> StoredValue<String>? { truth.read(String(key.prefix(255))) }
  func write(_ stored: StoredValue<String>, for key: String) { truth.write(stored, for: String(key.prefix(255))) }
  func remove(_ key: String) { truth.remove(String(key.prefix(255))) }
  func removeAll() { truth.removeAll() }
  func keys() -> [String] { truth.keys() }
}
