/// A stack of plain values, without the checks of an array: a write pushes every value of a response.
struct SlotStack<Element: BitwiseCopyable>: ~Copyable {
  private var memory: UnsafeMutablePointer<Element>
  private var capacity = 256
  private(set) var count = 0

  init() { memory = .allocate(capacity: capacity) }

  deinit { memory.deallocate() }

  @inline(__always)
  mutating func append(_ element: Element) {
    if count == capacity { grow() }
    (memory + count).initialize(to: element)
    count += 1
  }

  @inline(never)
  private mutating func grow() {
    let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity * 2)
    larger.update(from: memory, count: count)
    memory.deallocate()
    memory = larger
    capacity *= 2
  }

  /// Drops all elements from a place on.
  @inline(__always)
  mutating func cut(to place: Int) {
    precondition(place <= count, "A stack is cut to a place in it.")
    count = place
  }

  @inline(__always)
  subscript(place: Int) -> Element {
    get {
      precondition(place >= 0 && place < count, "A place is in the stack.")
      return memory[place]
    }
    set {
      precondition(place >= 0 && place < count, "A place is in the stack.")
      memory[place] = newValue
    }
  }

  /// The elements from a place on, which are good until the next change.
  @inline(__always)
  func elements(from place: Int) -> UnsafeBufferPointer<Element> {
    UnsafeBufferPointer(start: memory + min(place, count), count: max(count - place, 0))
  }
}
