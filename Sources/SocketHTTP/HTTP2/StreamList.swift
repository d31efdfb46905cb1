/// Elements that belong to streams, in the order in which these were opened, which is that of their identifiers.
///
/// One that is removed leaves a gap, which an appended one may close: so nothing is moved for each. They are in memory of
/// its own, since an array copies an element to look whether it is there.
struct StreamList<Element>: ~Copyable {
  private struct Place {
    let id: UInt32
    var isGap = false
  }

  private var places: ContiguousArray<Place> = []
  private var memory: UnsafeMutablePointer<Element>
  private var capacity: Int
  private(set) var count = 0

  private static var fewest: Int { 32 }

  init() {
    capacity = Self.fewest
    memory = .allocate(capacity: Self.fewest)
  }

  deinit {
    for index in places.indices where !places[index].isGap { (memory + index).deinitialize(count: 1) }
    memory.deallocate()
  }

  var isEmpty: Bool { count == 0 }

  /// The element at the index of one.
  subscript(index: Int) -> Element {
    @inline(__always) unsafeAddress { UnsafePointer(memory + index) }
    @inline(__always) unsafeMutableAddress { memory + index }
  }

  /// The indices of all elements, in order; they are valid until another one is appended.
  var indices: [Int] { places.indices.filter { !places[$0].isGap } }

  var lastIndex: Int? { places.lastIndex { !$0.isGap } }

  func firstIndex(where isWanted: (Element) -> Bool) -> Int? {
    places.indices.first { !places[$0].isGap && isWanted(self[$0]) }
  }

  func id(at index: Int) -> UInt32 { places[index].id }

  func index(of id: UInt32) -> Int? {
    var (low, high) = (0, places.count)
    while low < high {
      let middle = (low + high) / 2
      if places[middle].id >= id { high = middle } else { low = middle + 1 }
    }
    return low < places.count && places[low].id == id && !places[low].isGap ? low : nil
  }

  /// Appends an element, for a stream that is later than all others.
  mutating func append(_ element: Element, of id: UInt32) {
    if places.count == capacity { makeRoom() }
    (memory + places.count).initialize(to: element)
    places.append(Place(id: id))
    count += 1
  }

  /// Removes and returns the element at the index of one.
  mutating func remove(at index: Int) -> Element {
    places[index].isGap = true
    count -= 1
    return (memory + index).move()
  }

  /// Closes the gaps; takes more memory unless they were half of it.
  private mutating func makeRoom() {
    let old = memory
    if count > capacity / 2 { capacity *= 2 }
    memory = .allocate(capacity: capacity)
    var kept: ContiguousArray<Place> = []
    kept.reserveCapacity(capacity)
    for index in places.indices where !places[index].isGap {
      (memory + kept.count).moveInitialize(from: old + index, count: 1)
      kept.append(places[index])
    }
    places = kept
    old.deallocate()
  }
}
