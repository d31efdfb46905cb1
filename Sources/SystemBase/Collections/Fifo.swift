/// A queue in an array. Taken elements are removed from the array once they make up half of it.
@usableFromInline
package struct Fifo<Element> {
  @usableFromInline var elements: ContiguousArray<Element?> = []
  @usableFromInline var head = 0

  @inlinable package init() {}

  @inlinable package var count: Int { elements.count - head }

  @inlinable package var isEmpty: Bool { head == elements.count }

  @inlinable package var first: Element? { isEmpty ? nil : elements[head] }

  /// The elements, the first to be taken first.
  @inlinable package var all: some Sequence<Element> { elements[head...].lazy.compactMap { $0 } }

  @inlinable package mutating func append(_ element: Element) { elements.append(element) }

  @inlinable package mutating func popFirst() -> Element? {
    if isEmpty { return nil }
    let element = elements[head].take()
    head += 1
    if head == elements.count {
      elements.removeAll(keepingCapacity: true)
      head = 0
    } else if head >= 32 && head * 2 >= elements.count {
      elements.removeSubrange(..<head)
      head = 0
    }
    return element
  }

  /// Drops those who have left without being taken, where they are many, and the greater part: all but `count`.
  @inlinable package mutating func compact(to count: Int, keeping isWaiting: (Element) -> Bool) {
    let leavers = self.count - count
    guard leavers > 16, leavers > count else { return }
    elements = ContiguousArray(elements[head...].filter { $0.map(isWaiting) ?? false })
    head = 0
  }
}

extension Fifo: Sendable where Element: Sendable {}

extension RandomAccessCollection where Index == Int {
  /// The first index whose element meets a condition that all later elements meet, too, by binary search; `endIndex` if
  /// none does.
  package func partitioningIndex(where isAfter: (Element) -> Bool) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = low + (high - low) / 2
      if isAfter(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
