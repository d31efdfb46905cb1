/// A dictionary with limits: the least recently used value is evicted first. Reading, writing and evicting take
/// constant time.
///
/// Evicted values are returned to the caller, who may have to release them outside a lock.
@usableFromInline
package struct LRUCache<Key: Hashable, Value> {
  @usableFromInline
  struct Node {
    @usableFromInline let key: Key
    /// `nil` if the node is free; its key then means nothing.
    @usableFromInline var value: Value?
    @usableFromInline let cost: Int
    @usableFromInline var older: Int
    @usableFromInline var newer: Int
    /// The number of sweeps before its last use.
    @usableFromInline var usedAfter: UInt32

    @inlinable init(key: Key, value: Value, cost: Int, usedAfter: UInt32) {
      (self.key, self.value, self.cost, self.usedAfter) = (key, value, cost, usedAfter)
      (older, newer) = (LRUCache.none, LRUCache.none)
    }
  }

  @inlinable static var none: Int { -1 }

  @usableFromInline let countLimit: Int
  @usableFromInline let costLimit: Int
  @usableFromInline var places: [Key: Int] = [:]
  /// Linked from the least to the most recently used; the indices of unused nodes are in `free`.
  @usableFromInline var nodes: ContiguousArray<Node> = []
  @usableFromInline var free: [Int] = []
  @usableFromInline var oldest = Self.none
  @usableFromInline var newest = Self.none
  @usableFromInline package var statistics = LRUStatistics()
  @usableFromInline var sweeps: UInt32 = 0

  @inlinable package init(countLimit: Int, costLimit: Int) {
    self.countLimit = max(0, countLimit)
    self.costLimit = max(0, costLimit)
  }

  @inlinable package var keys: Dictionary<Key, Int>.Keys { places.keys }

  @inlinable package var values: [Value] { places.values.compactMap { nodes[$0].value } }

  /// The value, which becomes the most recently used.
  @inlinable package mutating func read(_ key: Key) -> Value? {
    if use(key) { return nodes[newest].value }
    statistics.misses += 1
    return nil
  }

  /// Counts a hit, if there is a value, and makes it the most recently used; returns whether there is one.
  @inlinable package mutating func use(_ key: Key) -> Bool {
    guard let place = places[key] else { return false }
    use(at: place)
    return true
  }

  /// The place of a key's value, until the next write or removal.
  @inlinable package func place(of key: Key) -> Int? { places[key] }

  /// The place of the most recently used value, if it is of this key, which is compared and not hashed.
  @inlinable package func newestPlace(of key: Key) -> Int? {
    newest != Self.none && nodes.withUnsafeBufferPointer { $0[newest].key == key } ? newest : nil
  }

  @inlinable package func value(at place: Int) -> Value? { nodes[place].value }

  /// Counts a hit of the value at a place, and makes it the most recently used.
  @inlinable package mutating func use(at place: Int) {
    statistics.hits += 1
    if place != newest {
      unlink(place)
      link(place)
    }
    if nodes[place].usedAfter != sweeps { nodes[place].usedAfter = sweeps }
  }

  /// The least recently used value.
  @inlinable package var oldestValue: Value? { oldest == Self.none ? nil : nodes[oldest].value }

  /// The value, without counting it as used.
  @inlinable package func peek(_ key: Key) -> Value? {
    places[key].flatMap { nodes[$0].value }
  }

  /// Stores a value as the most recently used, and returns the removed ones: the old value of the key, and what was
  /// evicted. A value that costs more than the limit is not kept, and returned, too.
  @inlinable package mutating func write(_ value: Value, for key: Key, cost: Int) -> [Value] {
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
    let node = Node(key: key, value: value, cost: cost, usedAfter: sweeps)
    let place = free.popLast() ?? nodes.count
    if place == nodes.count { nodes.append(node) } else { nodes[place] = node }
    places[key] = place
    link(place)
    statistics.count += 1
    statistics.cost += cost
    return gone
  }

  /// Changes a value in place, without counting it as used; `nil` if there is none.
  @discardableResult @inlinable
  package mutating func modify<Result>(_ key: Key, _ change: (inout Value) -> Result) -> Result? {
    places[key].flatMap { modify(at: $0, change) }
  }

  /// Changes the value at a place in the same way.
  @inlinable package mutating func modify<Result>(at place: Int, _ change: (inout Value) -> Result) -> Result? {
    guard var value = nodes[place].value.take() else { return nil }
    defer { nodes[place].value = value }
    return change(&value)
  }

  /// Removes a value.
  @inlinable package mutating func remove(_ key: Key) -> Value? {
    guard let place = places.removeValue(forKey: key) else { return nil }
    unlink(place)
    free.append(place)
    statistics.count -= 1
    statistics.cost -= nodes[place].cost
    return nodes[place].value.take()
  }

  /// Evicts the values that were not used since so many sweeps before this one. Called at regular times, it evicts what
  /// has been idle for long, without a clock.
  @inlinable package mutating func sweep(keeping count: UInt32) -> [Value] {
    sweeps &+= 1
    var gone: [Value] = []
    while oldest != Self.none, sweeps &- nodes[oldest].usedAfter > count, let value = remove(nodes[oldest].key) {
      gone.append(value)
      statistics.evictions += 1
    }
    return gone
  }

  /// Removes everything.
  @inlinable package mutating func removeAll() -> [Value] {
    let gone = nodes.compactMap(\.value)
    places = [:]
    nodes = []
    free = []
    (oldest, newest) = (Self.none, Self.none)
    (statistics.count, statistics.cost) = (0, 0)
    return gone
  }

  @inlinable mutating func unlink(_ place: Int) {
    let (older, newer) = (nodes[place].older, nodes[place].newer)
    if older == Self.none { oldest = newer } else { nodes[older].newer = newer }
    if newer == Self.none { newest = older } else { nodes[newer].older = older }
  }

  @inlinable mutating func link(_ place: Int) {
    nodes[place].older = newest
    nodes[place].newer = Self.none
    if newest == Self.none { oldest = place } else { nodes[newest].newer = place }
    newest = place
  }
}

extension LRUCache: Sendable where Key: Sendable, Value: Sendable {}

extension LRUCache.Node: Sendable where Key: Sendable, Value: Sendable {}

/// What a cache has done so far, and what it contains.
@usableFromInline
package struct LRUStatistics: Sendable {
  /// Reads that found a value, and those that found none.
  @usableFromInline package var hits = 0
  @usableFromInline package var misses = 0

  /// Values that were removed to make room, or because they were idle.
  @usableFromInline package var evictions = 0

  /// How many values there are, and the sum of their costs.
  @usableFromInline package var count = 0
  @usableFromInline package var cost = 0

  @inlinable package init() {}
}
