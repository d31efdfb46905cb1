/// The texts of the table.
enum Kind: String, CaseIterable {
  case small = "1.7 KB of moments"
  case middle = "107 KB of moments"
  case large = "10 MB of moments"
  case numbers = "100 KB of numbers"
  case deep = "100 levels"

  func rows() throws -> [Row] {
    switch self {
    case .small: try Row.rows(of: .moments(rawValue, count: 4))
    case .middle: try Row.rows(of: .moments(rawValue, count: 253))
    case .large: try Row.rows(of: .moments(rawValue, count: 23_400))
    case .numbers: try Row.rows(of: .numbers(rawValue, count: 1100), [Point].self, [PlainPoint].self)
    case .deep: try Row.rows(of: .deep(rawValue, count: 60), [Node].self, [PlainNode].self)
    }
  }
}
