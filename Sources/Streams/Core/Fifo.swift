/// A queue in an array. Taken elements are removed from the array once they make up half of it.
@usableFromInline
struct Fifo<Element> {
  @usableFromInline var elements: ContiguousArray<Element?> = []
  @usableFromInline var head = 0

  @inlinable init() {}

  @inlinable var count: Int { elements.count - head }

  @inlinable var isEmpty: Bool { head == elements.count }

  @inlinable var first: Element? { isEmpty ? nil : elements[head] }

  @inlinable mutating func append(_ element: Element) { elements.append(element) }

  @inlinable mutating func popFirst() -> Element? {
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
}

extension Fifo: Sendable where Element: Sendable {}
