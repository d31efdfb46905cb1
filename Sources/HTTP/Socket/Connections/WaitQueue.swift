/// Who waits, in order. Those who leave from the middle are left in place, and skipped by whoever takes from the front.
struct WaitQueue<Element: Sendable>: Sendable {
  private var elements: [(element: Element, ticket: Int)?] = []
  private var head = 0
  private var leavers = 0

  /// The ticket of the first.
  var firstTicket: Int { head < elements.count ? elements[head]?.ticket ?? .max : .max }

  mutating func append(_ element: Element, ticket: Int) {
    elements.append((element, ticket))
  }

  mutating func popFirst() -> (element: Element, ticket: Int)? {
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
  mutating func compact(keeping isWaiting: (Element, Int) -> Bool) {
    leavers += 1
    guard leavers > 16, leavers * 2 > elements.count - head else { return }
    elements = elements[head...].filter { $0.map { isWaiting($0.element, $0.ticket) } ?? false }
    (head, leavers) = (0, 0)
  }
}
