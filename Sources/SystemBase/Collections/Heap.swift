/// What can be in a ``Heap``.
@usableFromInline
package protocol HeapElement: AnyObject {
  /// The place in the heap, which alone changes it; `nil` if it is not in there.
  var place: Int? { get set }

  /// The order, which must not change while either is in the heap.
  func isBefore(_ other: Self) -> Bool
}

/// A binary heap whose elements know their places, so that any of them can be removed, and not only the first. An
/// element is in one heap at a time.
@usableFromInline
package struct Heap<Element: HeapElement> {
  @usableFromInline var elements: ContiguousArray<Element> = []
  /// How often an element has been put into a place; for tests, which count it instead of measuring time.
  @usableFromInline package var moves = 0

  @inlinable package init() {}

  @inlinable package var count: Int { elements.count }

  /// The element that comes before all others.
  @inlinable package var first: Element? { elements.first }

  @inlinable package mutating func insert(_ element: Element) {
    elements.append(element)
    rise(element, from: elements.count - 1)
  }

  /// Removes an element, unless that has been done.
  @inlinable package mutating func remove(_ element: Element) {
    guard let place = element.place else { return }
    element.place = nil
    let last = elements.removeLast()
    if last !== element { rise(last, from: sink(last, from: place)) }
  }

  @inlinable mutating func rise(_ element: Element, from start: Int) {
    var place = start
    while place > 0, element.isBefore(elements[(place - 1) / 2]) {
      put(elements[(place - 1) / 2], at: place)
      place = (place - 1) / 2
    }
    put(element, at: place)
  }

  @inlinable mutating func sink(_ element: Element, from start: Int) -> Int {
    var place = start
    while let child = firstChild(of: place), elements[child].isBefore(element) {
      put(elements[child], at: place)
      place = child
    }
    put(element, at: place)
    return place
  }

  @inlinable func firstChild(of place: Int) -> Int? {
    let (left, right) = (2 * place + 1, 2 * place + 2)
    guard left < elements.count else { return nil }
    return right < elements.count && elements[right].isBefore(elements[left]) ? right : left
  }

  @inlinable mutating func put(_ element: Element, at place: Int) {
    elements[place] = element
    element.place = place
    moves += 1
  }
}

extension Heap: Sendable where Element: Sendable {}
