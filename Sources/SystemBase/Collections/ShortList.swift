/// A list that rarely has more than one element, which needs no memory of its own.
@usableFromInline
package struct ShortList<Element> {
  @usableFromInline var first: Element?
  @usableFromInline var others: [Element] = []

  @inlinable package init() {}

  /// The elements, in the order in which they were added.
  @inlinable package var all: [Element] { first.map { [$0] + others } ?? [] }

  /// The element, if there is exactly one.
  @inlinable package var only: Element? { others.isEmpty ? first : nil }

  @inlinable package mutating func append(_ element: Element) {
    if first == nil { first = element } else { others.append(element) }
  }

  @inlinable package func contains(where isMatch: (Element) -> Bool) -> Bool {
    first.map(isMatch) ?? false || others.contains(where: isMatch)
  }

  @inlinable package func first(where isMatch: (Element) -> Bool) -> Element? {
    guard let first, !isMatch(first) else { return first }
    return others.first(where: isMatch)
  }
}

extension ShortList: Sendable where Element: Sendable {}
