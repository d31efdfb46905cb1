/// A dictionary with limits: the least recently used value is evicted first. Reading, writing and evicting take
/// constant time.
///
/// Evicted values are returned to the caller, who may have to release them outside a lock.
@usableFromInline
struct LRUCache<Key: Hashable, Value> {
  @usableFromInline
  struct Node {
    let key: Key
    /// `nil` if the node is free; its key then means nothing.
    @usableFromInline var value: Value?
    let cost: Int
    @usableFromInline var older: Int
    @usableFromInline var newer: Int
    /// The number of sweeps before its last use.
    @usableFromInline var usedAfter: UInt32 = 0
  }

  @inlinable static var none: Int { -1 }

  private let countLimit: Int
  private let costLimit: Int
  @usableFromInline var places: [Key: Int] = [:]
  /// Linked from the least to the most recently used; the indices of unused nodes are in `free`.
  @usableFromInline var nodes: ContiguousArray<Node> = []
  private var free: [Int] = []
  @usableFromInline var oldest = Self.none
  @usableFromInline var newest = Self.none
  @usableFromInline var statistics = CacheStatistics()
  @usableFromInline var sweeps: UInt32 = 0

  init(countLimit: Int, costLimit: Int) {
    self.countLimit = max(0, countLimit)
    self.costLimit = max(0, costLimit)
  }

  var keys: Dictionary<Key, Int>.Keys { places.keys }

  var values: [Value] { places.values.compactMap { nodes[$0].value } }

  /// The value, which becomes the most recently used.
  mutating func read(_ key: Key) -> Value? {
    if use(key) { return nodes[newest].value }
    statistics.misses += 1
    return nil
  }

  /// Counts a hit, if there is a value, and makes it the most recently used; returns whether there is one.
  @inlinable
  mutating func use(_ key: Key) -> Bool {
    guard let place = places[key] else { return false }
    use(at: place)
    return true
  }

  /// The place of a key's value, until the next write or removal.
  @inlinable
  func place(of key: Key) -> Int? { places[key] }

  @inlinable
  func value(at place: Int) -> Value? { nodes[place].value }

  /// The same as ``use(_:)`` for a place.
  @inlinable
  mutating func use(at place: Int) {
    statistics.hits += 1
    if place != newest {
      unlink(place)
      link(place)
    }
    if nodes[place].usedAfter != sweeps { nodes[place].usedAfter = sweeps }
  }

  /// The least recently used value.
  var oldestValue: Value? { oldest == Self.none ? nil : nodes[oldest].value }

  /// The value, without counting it as used.
  @inlinable
  func peek(_ key: Key) -> Value? {
    places[key].flatMap { nodes[$0].value }
  }

  /// Stores a value as the most recently used, and returns the removed ones: the old value of the key, and what was
  /// evicted. A value that costs more than the limit is not kept, and returned, too.
  mutating func write(_ value: Value, for key: Key, cost: Int) -> [Value] {
    var gone = remove(key).map { [$0] } ?? []
    let cost = max(0, cost)
    guard cost <= costLimit, countLimit > 0 else {
      statistics.evictions += 1
      return gone + [value]
    }
    while statistics.count >= countLimit || statistics.cost > costLimit - cost {
      guard oldest != Self.none, let value = remove(nodes[oldest].key) else { break }
      gone.append(value)
      statistics.evictions += 1
    }
    let node = Node(key: key, value: value, cost: cost, older: Self.none, newer: Self.none, usedAfter: sweeps)
    let place = free.popLast() ?? nodes.count
    if place == nodes.count { nodes.append(node) } else { nodes[place] = node }
    places[key] = place
    link(place)
    statistics.count += 1
    statistics.cost += cost
    return gone
  }

  /// Changes a value in place, without counting it as used.
  @inlinable
  mutating func modify(_ key: Key, _ change: (inout Value) -> Void) {
    guard let place = places[key], var value = nodes[place].value else { return }
    change(&value)
    nodes[place].value = value
  }

  /// Removes a value.
  mutating func remove(_ key: Key) -> Value? {
    guard let place = places.removeValue(forKey: key) else { return nil }
    unlink(place)
    free.append(place)
    statistics.count -= 1
    statistics.cost -= nodes[place].cost
    return nodes[place].value.take()
  }

  /// Evicts the values that were not used since so many sweeps before this one. Called at regular times, it evicts what
  /// has been idle for long, without a clock.
  mutating func sweep(keeping count: UInt32) -> [Value] {
    sweeps &+= 1
    var gone: [Value] = []
    while oldest != Self.none, sweeps &- nodes[oldest].usedAfter > count, let value = remove(nodes[oldest].key) {
      gone.append(value)
      statistics.evictions += 1
    }
    return gone
  }

  /// Removes everything.
  mutating func removeAll() -> [Value] {
    let gone = nodes.compactMap(\.value)
    places = [:]
    nodes = []
    free = []
    (oldest, newest) = (Self.none, Self.none)
    (statistics.count, statistics.cost) = (0, 0)
    return gone
  }

  @inlinable
  mutating func unlink(_ place: Int) {
    let (older, newer) = (nodes[place].older, nodes[place].newer)
    if older == Self.none { oldest = newer } else { nodes[older].newer = newer }
    if newer == Self.none { newest = older } else { nodes[newer].older = older }
  }

  @inlinable
  mutating func link(_ place: Int) {
    nodes[place].older = newest
    nodes[place].newer = Self.none
    if newest == Self.none { oldest = place } else { nodes[newest].newer = place }
    newest = place
  }
}

/// What a cache in memory has done so far, and what it contains.
public struct CacheStatistics: Hashable, Sendable {
  /// Reads that found a value.
  public var hits = 0

  /// Reads that found none.
  public var misses = 0

  /// Values that were evicted to make room, or because they were idle.
  public var evictions = 0

  /// The number of values now.
  public var count = 0

  /// The sum of their costs.
  public var cost = 0

  /// Makes statistics of an empty cache.
  public init() {}

  /// Adds the numbers of another cache.
  static func += (sum: inout Self, other: Self) {
    sum.hits += other.hits
    sum.misses += other.misses
    sum.evictions += other.evictions
    sum.count += other.count
    sum.cost += other.cost
  }
}
