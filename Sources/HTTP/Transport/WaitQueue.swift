/// A queue of waiters. A waiter that leaves from the middle stays in place, and is skipped by whoever takes from the
/// front.
struct WaitQueue<Element: Sendable>: Sendable {
  private var elements: [Element?] = []
  private var head = 0
  private var leavers = 0

  /// The first waiter, which may have left.
  var first: Element? { head < elements.count ? elements[head] : nil }

  var isEmpty: Bool { head == elements.count }

  /// The number of waiters, including those that have left.
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

  /// Called when a waiter leaves; removes those that have left once they are more than 16 and more than half.
  mutating func compact(keeping isWaiting: (Element) -> Bool) {
    leavers += 1
    guard leavers > 16, leavers * 2 > elements.count - head else { return }
    elements = elements[head...].filter { $0.map(isWaiting) ?? false }
    (head, leavers) = (0, 0)
  }
}
