/// The keys whose values in the source of truth are not what they should be, since work on them has failed.
///
/// If there are very many such keys, all keys are suspected: that costs requests, and shows nothing wrong.
struct Suspicions<Key: Hashable & Sendable> {
  enum Suspicion: Int {
    /// The value was invalidated.
    case outOfDate
    /// The value was removed, or replaced by one that could not be written.
    case removed
  }

  private var keys: [Key: Suspicion] = [:]
  /// What holds for all other keys but those that were written since.
  private var others: Suspicion?
  private var written: Set<Key> = []
  /// The keys that were taken since all were.
  private var taken: Set<Key> = []
  private let limit: Int

  init(limit: Int = 1 << 16) {
    self.limit = limit
  }

  subscript(key: Key) -> Suspicion? { keys[key] ?? (written.contains(key) ? nil : others) }

  var isEmpty: Bool { keys.isEmpty && others == nil }

  /// How many keys are suspected by themselves: what could not be done to them can be tried again.
  var count: Int { keys.count }

  /// Takes some of these keys, each time others, until all had their turn: some that always fail keep no other from it.
  mutating func take(_ count: Int, where isFree: (Key) -> Bool) -> [(key: Key, suspicion: Suspicion)] {
    let free = keys.filter { isFree($0.key) }
    if free.keys.allSatisfy(taken.contains) { taken = [] }
    let next = free.filter { !taken.contains($0.key) }.prefix(count)
    taken.formUnion(next.map(\.key))
    return next.map { ($0.key, $0.value) }
  }

  mutating func insert(_ key: Key, _ suspicion: Suspicion) {
    if let known = self[key], known.rawValue >= suspicion.rawValue { return }
    guard keys.count < limit else { return insertAll(.removed) }
    keys[key] = suspicion
  }

  mutating func insertAll(_ suspicion: Suspicion) {
    if let others, others.rawValue > suspicion.rawValue {
      // Those that were written since are under this lesser suspicion.
      for key in written { keys[key] = suspicion }
    } else {
      others = suspicion
      written = []
      if suspicion == .removed { (keys, taken) = ([:], []) }
    }
  }

  /// Ends the suspicion of a key whose value was written or removed.
  mutating func remove(_ key: Key) {
    keys[key] = nil
    taken.remove(key)
    // Beyond the limit, keys that were written stay suspected, which costs requests.
    if others != nil, written.count < limit { written.insert(key) }
  }

  /// Ends the suspicion of all keys but those that are suspected by themselves.
  mutating func removeAll() { (others, written) = (nil, []) }
}
