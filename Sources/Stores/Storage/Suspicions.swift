/// The keys whose values in the source of truth are not what they should be, since work on them has failed.
///
/// If there are very many such keys, all keys are suspected: that costs requests, and shows nothing wrong.
struct Suspicions<Key: Hashable & Sendable> {
  enum Suspicion: Equatable {
    /// The value was invalidated.
    case outOfDate
    /// The value was removed, or replaced by one that could not be written: all values of up to this version.
    case removed(EntryVersion)

    var isRemoved: Bool { self != .outOfDate }

    /// The greatest version that was removed.
    var version: EntryVersion { if case .removed(let version) = self { version } else { .zero } }

    /// What holds for a value of which both hold.
    func and(_ other: Self?) -> Self {
      guard let other, isRemoved || other.isRemoved else { return self }
      return .removed(max(version, other.version))
    }
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
    let known = self[key]
    let suspicion = suspicion.and(known)
    if known == suspicion { return }
    guard keys.count < limit else { return insertAll(.removed(suspicion.version)) }
    keys[key] = suspicion
  }

  mutating func insertAll(_ suspicion: Suspicion) {
    if let others, others.isRemoved, !suspicion.isRemoved {
      // Those that were written since are under this lesser suspicion.
      for key in written { keys[key] = suspicion }
    } else {
      others = suspicion.and(others)
      written = []
      if !suspicion.isRemoved { return }
      for single in keys.values { others = single.and(others) }
      (keys, taken) = ([:], [])
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
