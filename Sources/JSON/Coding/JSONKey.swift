/// A key with any name, or the index of an element. It fits into an `any CodingKey` without an allocation.
package enum JSONKey: CodingKey {
  case name(String)
  case index(Int)

  package init(stringValue: String) { self = .name(stringValue) }

  package init(intValue: Int) { self = .index(intValue) }

  package var stringValue: String {
    switch self {
    case .name(let name): name
    case .index(let index): "Index \(index)"
    }
  }

  package var intValue: Int? {
    if case .index(let index) = self { index } else { nil }
  }
}
