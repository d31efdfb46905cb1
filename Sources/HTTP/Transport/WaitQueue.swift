/// Who waits, in order. Those who leave from the middle are left in place, and skipped by whoever takes from the front.
struct WaitQueue<Element: Sendable>: Sendable {
  private var elements: [Element?] = []
  private var head = 0
  private var leavers = 0

  /// The first, who may have left.
  var first: Element? { head < elements.count ? elements[head] : nil }

  var isEmpty: Bool { head == elements.count }

  /// With those who have left.
  var count: Int { elements.count - head }

  mutating func append(_ element: Element) {
    elements.append(element)
  }

  mutating func popFirst() -> Element? {
    guard head < elements.count else { return nil }
    let first = elements[head]
    elements[head] = nil
    head += 1
    if head * 2 > elements.count, head > 16 || head == elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return first
  }

  /// Drops those who have left, now and then.
  mutating func compact(keeping isWaiting: (Element) -> Bool) {
    leavers += 1
    guard leavers > 16, leavers * 2 > elements.count - head else { return }
    elements = elements[head...].filter { $0.map(isWaiting) ?? false }
    (head, leavers) = (0, 0)
  }
}
