#if canImport(StrictJSON)
  import StrictJSON
#endif

/// Any JSON value, read by `Codable` alone: it does not read itself.
enum Tree: Hashable, Decodable {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([Tree])
  case object([String: Tree])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .integer(value)
    } else if let value = try? container.decode(Double.self) {
      self = Int64(exactly: value).map(Tree.integer) ?? .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([Tree].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: Tree].self))
    }
  }

  /// `nil` if a number is too large.
  init?(_ value: JSONValue) {
    switch value {
    case .null: self = .null
    case .bool(let value): self = .bool(value)
    case .integer(let value): self = .integer(value)
    case .number(let value): self = Int64(exactly: value).map(Tree.integer) ?? .number(value)
    case .literal(let number):
      guard let value = Double(number.text), value.isFinite else { return nil }
      self = Int64(exactly: value).map(Tree.integer) ?? .number(value)
    case .string(let value): self = .string(value)
    case .array(let elements):
      let trees = elements.compactMap { Tree($0) }
      guard trees.count == elements.count else { return nil }
      self = .array(trees)
    case .object(let members):
      let trees = members.compactMapValues { Tree($0) }
      guard trees.count == members.count else { return nil }
      self = .object(trees)
    }
  }
}
