/// A dictionary with bounds: what was not used for longest goes first. Reading, writing and evicting take constant
/// time.
///
/// What goes is given back to the caller, who may have to let go of it outside of a lock.
struct LRUCache<Key: Hashable, Value> {
  private struct Node {
    var key: Key
    var value: Value
    var cost: Int
    var older: Int
    var newer: Int
  }

  private static var none: Int { -1 }

  private let countLimit: Int
  private let costLimit: Int
  private var places: [Key: Int] = [:]
  /// The nodes of a list from the least to the most recently used; the empty ones are in `free`.
  private var nodes: ContiguousArray<Node?> = []
  private var free: [Int] = []
  private var oldest = Self.none
  private var newest = Self.none
  private(set) var statistics = CacheStatistics()

  init(countLimit: Int, costLimit: Int) {
    self.countLimit = max(0, countLimit)
    self.costLimit = max(0, costLimit)
  }

  var keys: Dictionary<Key, Int>.Keys { places.keys }

  /// The value, which becomes the most recently used.
  mutating func read(_ key: Key) -> Value? {
    guard let place = places[key] else {
      statistics.misses += 1
      return nil
    }
    statistics.hits += 1
    unlink(place)
    link(place)
    return nodes[place]?.value
  }

  /// The least recently used value.
  var oldestValue: Value? { nodes.indices.contains(oldest) ? nodes[oldest]?.value : nil }

  /// The value, without counting it as used.
  func peek(_ key: Key) -> Value? {
    places[key].flatMap { nodes[$0]?.value }
  }

  /// Puts a value in, as the most recently used, and gives back what went: the one before, and what had to make room.
  /// A value that costs more than the limit is not kept.
  mutating func write(_ value: Value, for key: Key, cost: Int) -> [Value] {
    var gone = remove(key).map { [$0] } ?? []
    let cost = max(0, cost)
    guard cost <= costLimit, countLimit > 0 else {
      statistics.evictions += 1
      return gone + [value]
    }
    while statistics.count >= countLimit || statistics.cost > costLimit - cost {
      guard let node = nodes.indices.contains(oldest) ? nodes[oldest] : nil else { break }
      if let value = remove(node.key) { gone.append(value) }
      statistics.evictions += 1
    }
    let node = Node(key: key, value: value, cost: cost, older: Self.none, newer: Self.none)
    let place = free.popLast() ?? nodes.count
    if place == nodes.count { nodes.append(node) } else { nodes[place] = node }
    places[key] = place
    link(place)
    statistics.count += 1
    statistics.cost += cost
    return gone
  }

  /// Changes a value where it is, without counting it as used.
  mutating func modify(_ key: Key, _ change: (inout Value) -> Void) {
    guard let place = places[key], var node = nodes[place] else { return }
    change(&node.value)
    nodes[place] = node
  }

  /// Takes a value out.
  mutating func remove(_ key: Key) -> Value? {
    guard let place = places.removeValue(forKey: key) else { return nil }
    unlink(place)
    let node = nodes[place]
    nodes[place] = nil
    free.append(place)
    statistics.count -= 1
    statistics.cost -= node?.cost ?? 0
    return node?.value
  }

  /// Takes everything out.
  mutating func removeAll() -> [Value] {
    let gone = nodes.compactMap { $0?.value }
    places = [:]
    nodes = []
    free = []
    (oldest, newest) = (Self.none, Self.none)
    (statistics.count, statistics.cost) = (0, 0)
    return gone
  }

  private mutating func unlink(_ place: Int) {
    guard let node = nodes[place] else { return }
    if node.older == Self.none { oldest = node.newer } else { nodes[node.older]?.newer = node.newer }
    if node.newer == Self.none { newest = node.older } else { nodes[node.newer]?.older = node.older }
  }

  private mutating func link(_ place: Int) {
    nodes[place]?.older = newest
    nodes[place]?.newer = Self.none
    if newest == Self.none { oldest = place } else { nodes[newest]?.newer = place }
    newest = place
  }
}
