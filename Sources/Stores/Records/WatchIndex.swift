/// Who watches which fields of which entities: from the fields that a write changed to the watchers that must read
/// again, at a cost that does not depend on the number of others.
package struct WatchIndex: Sendable {
  /// What one watcher depends on of one entity: an element of the watcher's list, and of the list of all who depend on
  /// the same fields.
  private struct Node: Sendable {
    var watcher: Int
    var entry: RecordDependencies.Entry
    var previous: Int
    var next: Int
  }

  private struct Watcher: Sendable {
    var id: UInt64
    /// Sorted by the fields.
    var nodes: [Int] = []
    /// The last search that found it.
    var search: UInt64 = 0
  }

  private static let none = -1

  private var nodes: ContiguousArray<Node> = []
  private var freeNodes: [Int] = []
  /// The first node for the first group of each entity's fields, which most entities have alone, by their numbers.
  private var firstHeads: ContiguousArray<Int> = []
  /// The first node for each entity and other group of fields.
  private var heads: [UInt64: Int] = [:]
  private var watchers: ContiguousArray<Watcher> = []
  private var freeWatchers: [Int] = []
  private var places: [UInt64: Int] = [:]
  private var search: UInt64 = 0

  package init() {}

  /// How many watchers there are.
  package var count: Int { places.count }

  /// Sets what a watcher depends on, in place of what it did before. What stays costs nothing but a comparison.
  package mutating func watch(_ id: UInt64, _ dependencies: RecordDependencies) {
    let place = place(of: id)
    let old = watchers[place].nodes
    var kept: [Int] = []
    let merged = dependencies.merged
    kept.reserveCapacity(merged.count)
    var next = 0
    for entry in merged {
      while next < old.count, nodes[old[next]].entry.key < entry.key {
        remove(old[next])
        next += 1
      }
      if next < old.count, nodes[old[next]].entry.key == entry.key {
        nodes[old[next]].entry = entry
        kept.append(old[next])
        next += 1
      } else {
        kept.append(insert(entry, place))
      }
    }
    for node in old[next...] { remove(node) }
    watchers[place].nodes = kept
  }

  /// Forgets a watcher.
  package mutating func unwatch(_ id: UInt64) {
    guard let place = places.removeValue(forKey: id) else { return }
    for node in watchers[place].nodes { remove(node) }
    watchers[place].nodes = []
    freeWatchers.append(place)
  }

  /// The watchers that depend on one of the fields, in the order of their ids.
  package mutating func touched(by changes: [RecordChange]) -> [UInt64] {
    search += 1
    var touched: [UInt64] = []
    guard let first = changes.first else { return [] }
    // Changes of one entity follow each other.
    var latest = RecordDependencies.Entry(first.entity, first.field, at: first.place)
    for change in changes.dropFirst() {
      let entry = RecordDependencies.Entry(change.entity, change.field, at: change.place)
      if entry.key == latest.key {
        latest.mask |= entry.mask
      } else {
        find(latest, &touched)
        latest = entry
      }
    }
    find(latest, &touched)
    return touched.sorted()
  }

  /// Adds the watchers that depend on one of some fields, and that this search has not found yet.
  private mutating func find(_ entry: RecordDependencies.Entry, _ touched: inout [UInt64]) {
    var node = head(of: entry)
    while node != Self.none {
      let watcher = nodes[node].watcher
      if nodes[node].entry.mask & entry.mask != 0, watchers[watcher].search != search {
        watchers[watcher].search = search
        touched.append(watchers[watcher].id)
      }
      node = nodes[node].next
    }
  }

  @inline(__always)
  private func head(of entry: RecordDependencies.Entry) -> Int {
    guard entry.group == 0 else { return heads[entry.key] ?? Self.none }
    return Int(entry.entity) < firstHeads.count ? firstHeads[Int(entry.entity)] : Self.none
  }

  @inline(__always)
  private mutating func setHead(_ node: Int, of entry: RecordDependencies.Entry) {
    guard entry.group == 0 else {
      heads[entry.key] = node == Self.none ? nil : node
      return
    }
    let missing = Int(entry.entity) + 1 - firstHeads.count
    if missing > 0 { firstHeads.append(contentsOf: repeatElement(Self.none, count: missing)) }
    firstHeads[Int(entry.entity)] = node
  }

  /// What all watchers together depend on: a collection must retain it.
  package var dependencies: RecordDependencies {
    var dependencies = RecordDependencies()
    for watcher in watchers {
      for node in watcher.nodes { dependencies.append(nodes[node].entry) }
    }
    return dependencies
  }

  private mutating func place(of id: UInt64) -> Int {
    if let place = places[id] { return place }
    let place: Int
    if let free = freeWatchers.popLast() {
      place = free
      watchers[place].id = id
    } else {
      place = watchers.count
      watchers.append(Watcher(id: id))
    }
    places[id] = place
    return place
  }

  private mutating func insert(_ entry: RecordDependencies.Entry, _ watcher: Int) -> Int {
    let first = head(of: entry)
    let node = Node(watcher: watcher, entry: entry, previous: Self.none, next: first)
    let number: Int
    if let free = freeNodes.popLast() {
      number = free
      nodes[number] = node
    } else {
      number = nodes.count
      nodes.append(node)
    }
    if first != Self.none { nodes[first].previous = number }
    setHead(number, of: entry)
    return number
  }

  private mutating func remove(_ number: Int) {
    let node = nodes[number]
    if node.next != Self.none { nodes[node.next].previous = node.previous }
    if node.previous != Self.none {
      nodes[node.previous].next = node.next
    } else {
      setHead(node.next, of: node.entry)
    }
    freeNodes.append(number)
  }
}
