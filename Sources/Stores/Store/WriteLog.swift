import Streams
import SystemBase

/// A log of what was done to each key since the oldest open operation, a request or a change, began. It shows whether a
/// response is superseded, even if the value has been evicted from memory.
///
/// Nothing is logged while no operation is open. If one stays open for long, the oldest records are dropped; responses
/// to requests that began before then count as superseded.
///
/// Methods return what they drop, for the caller to release outside the lock: the last release may run the user's
/// code.
struct WriteLog<Key: Hashable & Sendable> {
  /// The numbers of the latest operations on one key; 0 for none.
  struct Record {
    fileprivate let key: Key
    fileprivate var loggedAt: UInt64 = 0
    /// The latest write of a complete value; for a response, the number of its request.
    var writtenOrRequestedAt: UInt64 = 0
    /// The latest local change of the value.
    var changedAt: UInt64 = 0
    /// The latest change that a server has pushed, and that the responses to requests in flight get, too.
    var pushedAt: UInt64 = 0
    var invalidatedAt: UInt64 = 0
    var removedAt: UInt64 = 0
  }

  /// The numbers of the open operations, in their order.
  private var open: [UInt64] = []
  /// How many of these operations affect one key only, and how many may affect any key.
  private var countOfKey: [Key: Int] = [:]
  private var countOfAny = 0
  /// Ordered by `loggedAt`.
  private var records = LRUCache<Key, Record>(countLimit: Self.limit, costLimit: .max)
  /// The number of the latest operation whose record was dropped while something older was open.
  private var droppedThrough: UInt64 = 0
  /// The number of the latest removal of everything while something older was open.
  private var allRemovedAt: UInt64 = 0

  /// How many keys may have records: more than are changed during an ordinary request.
  static var limit: Int { 1 << 16 }

  var isEmpty: Bool { open.isEmpty && count == 0 }

  /// The number of keys with records.
  var count: Int { records.statistics.count }

  /// A key without a record may have been changed and invalidated when the records that were dropped were made.
  subscript(key: Key) -> Record {
    var record = records.peek(key) ?? Record(key: key, changedAt: droppedThrough, invalidatedAt: droppedThrough)
    record.removedAt = max(record.removedAt, allRemovedAt)
    return record
  }

  /// Records a removal of everything; its number must be greater than all before.
  mutating func logRemovalOfAll(at number: UInt64) {
    if !open.isEmpty { allRemovedAt = number }
  }

  /// Logs what is done from a number on, to the key or, if `nil`, to any key, until the matching
  /// `end`; the number must be greater than all before.
  mutating func begin(_ number: UInt64, for key: Key? = nil) {
    open.append(number)
    if let key { countOfKey[key, default: 0] += 1 } else { countOfAny += 1 }
  }

  mutating func end(_ number: UInt64, for key: Key? = nil) -> Any? {
    guard let place = open.firstIndex(of: number) else { return nil }
    open.remove(at: place)
    if let key {
      countOfKey[key] = countOfKey[key].flatMap { $0 > 1 ? $0 - 1 : nil }
    } else {
      countOfAny -= 1
    }
    guard let oldest = open.first else {
      (droppedThrough, allRemovedAt) = (0, 0)
      return count == 0 ? nil : records.removeAll()
    }
    var gone: [Record] = []
    while let record = records.oldestValue, record.loggedAt < oldest {
      gone.append(record)
      _ = records.remove(record.key)
    }
    return gone
  }

  /// Records an operation on a key; its number must be greater than all before.
  mutating func log(_ key: Key, at number: UInt64, _ change: (inout Record) -> Void) -> Any? {
    if countOfAny == 0, countOfKey[key] == nil { return nil }
    var record = self[key]
    record.loggedAt = number
    change(&record)
    if count >= Self.limit, records.peek(key) == nil, let oldest = records.oldestValue {
      droppedThrough = oldest.loggedAt
    }
    return records.write(record, for: key, cost: 0)
  }
}
