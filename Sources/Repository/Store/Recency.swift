import Streams

/// What was done to keys since the oldest of what is under way began. By that an answer is told from what is newer, also
/// where the value itself is in memory no longer.
///
/// Where nothing is under way nothing is remembered. What is forgotten is given back: its last release may run the user's
/// code.
struct Recency<Key: Hashable & Sendable> {
  /// What was done to one key, by number; 0 where nothing was.
  struct Marks {
    fileprivate let key: Key
    fileprivate var notedAt: UInt64 = 0
    /// The latest write of a whole value, or the request that it answers.
    var writtenOrAskedAt: UInt64 = 0
    /// The latest change of the value on this side.
    var changedAt: UInt64 = 0
    var invalidatedAt: UInt64 = 0
  }

  /// The numbers of the requests and changes under way, in their order.
  private var underWay: [UInt64] = []
  /// How much of it is of one key only, and how much may be of any.
  private var countOfKey: [Key: Int] = [:]
  private var countOfAny = 0
  /// In the order of the notes.
  private var marks = LRUCache<Key, Marks>(countLimit: .max, costLimit: .max)

  var isEmpty: Bool { underWay.isEmpty && count == 0 }

  /// The number of keys that something is known of.
  var count: Int { marks.statistics.count }

  subscript(key: Key) -> Marks { marks.peek(key) ?? Marks(key: key) }

  /// Remembers what is done from a number on, to one key or to any, until as many calls of `end`.
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

  /// Notes what is done to a key now, which has the greatest number so far.
  mutating func note(_ key: Key, at number: UInt64, _ change: (inout Marks) -> Void) -> Any? {
    if countOfAny == 0, countOfKey[key] == nil { return nil }
    var mark = self[key]
    mark.notedAt = number
    change(&mark)
    return marks.write(mark, for: key, cost: 0)
  }
}
