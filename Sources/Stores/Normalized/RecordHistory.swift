/// The latest entries of a journal that a process has read or written. By it, the process notices that the storage has lost
/// some of them, and may have others in their place: a server that has failed before it had written all, or a backup.
struct RecordHistory: Sendable {
  /// How many entries are known, or up to twice as many.
  private static let limit = 2_048

  /// The place of the latest.
  private(set) var last: RecordPosition?
  /// The hashes of the latest, which follow each other.
  private var hashes: [Int] = []

  mutating func note(_ entry: RecordEntry) {
    if entry.position != last?.next { hashes = [] }
    hashes.append(Self.hash(entry))
    if hashes.count > 2 * Self.limit { hashes.removeFirst(Self.limit) }
    last = entry.position
  }

  /// What follows the last entry that is still there, of all entries that are; `nil` if none is known.
  func rest(of entries: [RecordEntry]) -> [RecordEntry]? {
    guard let last else { return nil }
    let first = last.number &- UInt64(hashes.count - 1)
    var isAnyKnown = false
    for (place, entry) in entries.enumerated() {
      guard entry.position.journal == last.journal else { return nil }
      let index = entry.position.number &- first
      if index >= UInt64(hashes.count) {
        // Those of before are not known any more.
        if entry.position.number < first { continue }
        return isAnyKnown ? Array(entries[place...]) : nil
      }
      if hashes[Int(index)] != Self.hash(entry) { return isAnyKnown ? Array(entries[place...]) : nil }
      isAnyKnown = true
    }
    return isAnyKnown ? [] : nil
  }

  private static func hash(_ entry: RecordEntry) -> Int {
    var hasher = Hasher()
    entry.bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    return hasher.finalize()
  }
}
