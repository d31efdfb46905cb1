import Repository
import StoreConformance
import Testing

@Suite("the conformance of sources of truth")
struct StoreConformanceTests {
  let folder = TemporaryFolder()

  @Test func `a folder of files conforms`() {
    let conformance = StoreConformance { [folder] in
      try DiskCache<String, String>(folder: folder.url, partition: $0)
    }
    #expect(conformance.failures() == [])
    #expect(StoreConformance.names.count > 8)
  }

  @Test func `a dictionary conforms`() {
    let partitions = Mutable<[String: MemoryTruth<String, String>]>([:])
    let conformance = StoreConformance { partition in
      partitions.update { partitions in
        let truth = partitions[partition] ?? MemoryTruth()
        partitions[partition] = truth
        return truth
      }
    }
    #expect(conformance.failures() == [])
  }

  @Test func `what keeps nothing does not conform`() {
    #expect(StoreConformance { _ in Forgetful() }.failures().count > 8)
  }

  @Test func `what mixes partitions, or cuts keys, does not conform`() {
    let shared = MemoryTruth<String, String>()
    #expect(StoreConformance { _ in shared }.failures().contains { $0.contains("partition") })
    #expect(StoreConformance { _ in Cutting() }.failures().contains { $0.contains("a value of its own") })
  }
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
