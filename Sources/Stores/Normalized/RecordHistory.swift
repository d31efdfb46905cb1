/// The latest entries of a journal that a process has read or written. By it, the process notices that the storage has lost
/// some of them, and may have others in their place: a server that has failed before it had written all, or a backup.
struct RecordHistory: Sendable {
  /// How many entries are known, or up to twice as many.
  private static let limit = 2_048

  /// The place of the latest.
  private(set) var last: RecordPosition?
  /// The hashes of the latest of its journal, by number. Those that were lost stay: they may be lost again, or come back.
  private var hashes: [UInt64: Int] = [:]

  mutating func note(_ entry: RecordEntry) {
    if entry.position.journal != last?.journal { hashes = [:] }
    hashes[entry.position.number] = Self.hash(entry)
    last = entry.position
    if hashes.count > 2 * Self.limit {
      for number in hashes.keys.sorted().prefix(Self.limit) { hashes[number] = nil }
    }
  }

  /// What follows the last entry that is still there, of all entries that are; `nil` if none is known.
  func rest(of entries: [RecordEntry]) -> [RecordEntry]? {
    var isAnyKnown = false
    for (place, entry) in entries.enumerated() {
      guard entry.position.journal == last?.journal else { return nil }
      let known = hashes[entry.position.number]
      if known == Self.hash(entry) {
        isAnyKnown = true
      } else if isAnyKnown {
        return Array(entries[place...])
      } else if known != nil {
        return nil
      }
      // Those of before are not known any more.
    }
    return isAnyKnown ? [] : nil
  }

  private static func hash(_ entry: RecordEntry) -> Int {
    var hasher = Hasher()
    entry.bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    return hasher.finalize()
  }
}
