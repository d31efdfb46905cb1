import Streams

/// Remembers what was done to each key since the oldest operation under way began. It tells whether a response has been
/// overtaken, even if the value has been evicted from memory.
///
/// Nothing is remembered while nothing is under way. If something stays under way for long, the oldest marks are
/// forgotten; responses to requests that began before then count as overtaken.
///
/// Methods return what they forget, for the caller to release outside the lock: the last release may run the user's
/// code.
struct Recency<Key: Hashable & Sendable> {
  /// The numbers of the latest operations on one key; 0 for none.
  struct Marks {
    fileprivate let key: Key
    fileprivate var notedAt: UInt64 = 0
    /// The latest write of a complete value; for a response, the number of its request.
    var writtenOrAskedAt: UInt64 = 0
    /// The latest local change of the value.
    var changedAt: UInt64 = 0
    var invalidatedAt: UInt64 = 0
  }

  /// The numbers of the requests and changes under way, in their order.
  private var underWay: [UInt64] = []
  /// How many of these operations affect one key only, and how many may affect any key.
  private var countOfKey: [Key: Int] = [:]
  private var countOfAny = 0
  /// Ordered by `notedAt`.
  private var marks = LRUCache<Key, Marks>(countLimit: Self.limit, costLimit: .max)
  /// The number of the latest operation whose mark was forgotten while something older was under way.
  private var forgottenThrough: UInt64 = 0

  /// How many keys may have marks: more than are changed during an ordinary request.
  static var limit: Int { 1 << 16 }

  var isEmpty: Bool { underWay.isEmpty && count == 0 }

  /// The number of keys with marks.
  var count: Int { marks.statistics.count }

  /// A key without marks may have been changed and invalidated when the marks that were forgotten were made.
  subscript(key: Key) -> Marks {
    marks.peek(key) ?? Marks(key: key, changedAt: forgottenThrough, invalidatedAt: forgottenThrough)
  }

  /// Remembers what is done from a number on, to the key or, if `nil`, to any key, until the matching `end`.
  mutating func begin(_ number: UInt64, for key: Key? = nil) {
    let place = underWay.lastIndex { $0 <= number }.map { $0 + 1 } ?? 0
    underWay.insert(number, at: place)
    if let key { countOfKey[key, default: 0] += 1 } else { countOfAny += 1 }
  }

  mutating func end(_ number: UInt64, for key: Key? = nil) -> Any? {
    guard let place = underWay.firstIndex(of: number) else { return nil }
    underWay.remove(at: place)
    if let key {
      countOfKey[key] = countOfKey[key].flatMap { $0 > 1 ? $0 - 1 : nil }
    } else {
      countOfAny -= 1
    }
    guard let oldest = underWay.first else { return exchange(&self, with: Recency()) }
    var gone: [Marks] = []
    while let mark = marks.oldestValue, mark.notedAt < oldest {
      gone.append(mark)
      _ = marks.remove(mark.key)
    }
    return gone
  }

  /// Records an operation on a key; its number must be greater than all before.
  mutating func note(_ key: Key, at number: UInt64, _ change: (inout Marks) -> Void) -> Any? {
    if countOfAny == 0, countOfKey[key] == nil { return nil }
    var mark = self[key]
    mark.notedAt = number
    change(&mark)
    if count >= Self.limit, marks.peek(key) == nil, let oldest = marks.oldestValue {
      forgottenThrough = oldest.notedAt
    }
    return marks.write(mark, for: key, cost: 0)
  }
}
