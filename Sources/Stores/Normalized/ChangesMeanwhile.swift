import SystemBase

/// What was changed while mutations waited to be sent, by mutations that did not wait, edits, pushes and other processes: the
/// server may have done that before it did what has waited, or after it.
struct ChangesMeanwhile: Sendable {
  /// The latest change of each field: its number, and the hash of the value.
  private var latest = LRUCache<RecordChange, Latest>(countLimit: 1 << 14, costLimit: .max)

  private struct Latest: Sendable {
    let number: UInt64
    let hash: Int
  }

  /// Notes fields that have these values now.
  mutating func note(_ fields: [RecordChange], at number: UInt64, in cache: RecordCache) {
    for field in fields {
      _ = latest.write(Latest(number: number, hash: Self.hash(field, in: cache)), for: field, cost: 1)
    }
  }

  /// Those of some fields that have other values now than they were given since a number.
  func others(than fields: [RecordChange], since number: UInt64, in cache: RecordCache) -> [RecordChange] {
    fields.filter { field in
      latest.peek(field).map { $0.number > number && $0.hash != Self.hash(field, in: cache) } ?? false
    }
  }

  private static func hash(_ field: RecordChange, in cache: RecordCache) -> Int {
    var bytes: [UInt8] = []
    cache.encode([field], into: &bytes)
    var hasher = Hasher()
    bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    return hasher.finalize()
  }
}
