/// Any JSON value, for data without a type of its own: the `extensions` of a GraphQL response, for example.
///
/// Numbers are equal if they have one value, in whatever form: `1`, `1.0` and `10e-1` are. The value of a `Double` is
/// that of the shortest digits that stand for it, with which it is written.
public enum JSONValue: Sendable {
  /// `null`
  case null
  /// `true` or `false`
  case bool(Bool)
  /// A whole number that fits 64 bits.
  case integer(Int64)
  /// A number that is written with the digits of a `Double`.
  case number(Double)
  /// Any other number: one with more digits than these hold, or out of their range.
  case literal(JSONNumber)
  /// A string.
  case string(String)
  /// A list.
  case array([JSONValue])
  /// An object.
  case object([String: JSONValue])

  /// The string, if this is one.
  public var stringValue: String? {
    if case .string(let value) = self { value } else { nil }
  }

  /// The number, if this is one that is whole.
  public var integerValue: Int64? {
    switch self {
    case .integer(let value): value
    case .number(let value) where value.magnitude < 0x1p53: Int64(exactly: value)
    default: nil
    }
  }

  /// The number, if this is one that fits a `Double`, rounded to the nearest.
  public var numberValue: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    case .literal(let number): number.doubleValue.isFinite ? number.doubleValue : nil
    default: nil
    }
  }

  /// The boolean, if this is one.
  public var boolValue: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  /// The elements, if this is a list.
  public var arrayValue: [JSONValue]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  /// The member of an object; `nil` if this is not an object, or has no such member.
  public subscript(key: String) -> JSONValue? {
    if case .object(let members) = self { members[key] } else { nil }
  }
}

extension JSONValue: Hashable {
  /// Whether the values are equal; of numbers, see above.
  public static func == (left: JSONValue, right: JSONValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.integer(let left), .integer(let right)): left == right
    case (.number(let left), .number(let right)): left == right
    case (.string(let left), .string(let right)): left == right
    case (.array(let left), .array(let right)): left == right
    case (.object(let left), .object(let right)): left == right
    default: left.isSameNumber(as: right)
    }
  }

  /// Compares numbers of different forms, or two literals.
  private func isSameNumber(as other: JSONValue) -> Bool {
    guard let nearest = nearestDouble, nearest == other.nearestDouble else { return false }
    if let left = integerValue, let right = other.integerValue { return left == right }
    guard let left = asNumber, let right = other.asNumber else { return false }
    return left == right
  }

  /// Infinite for a number out of range; `nil` if this is no number.
  private var nearestDouble: Double? {
    if case .literal(let number) = self { number.doubleValue } else { numberValue }
  }

  private var asNumber: JSONNumber? {
    switch self {
    case .integer(let value): JSONNumber(String(value))
    case .number(let value): JSONNumber(value.description)
    case .literal(let number): number
    default: nil
    }
  }

  /// Hashes what `==` compares.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .bool(let value): hasher.combine(value)
    case .string(let value): hasher.combine(value)
    case .array(let elements): hasher.combine(elements)
    case .object(let members): hasher.combine(members)
    case .integer, .number, .literal: hasher.combine(nearestDouble)
    }
  }
}

extension JSONValue: Codable {
  /// Reads any value.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self), value.magnitude < 1_000_000_000_000_000 {
      // Foundation's decoder cuts the fraction of a greater one.
      self = .integer(value)
    } else if let value = try? container.decode(JSONNumber.self) {
      self.init(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([JSONValue].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }

  /// Writes the value as JSON.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .literal(let number): try container.encode(number)
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// Makes a string.
  public init(stringLiteral value: String) { self = .string(value) }
  /// Makes a boolean.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// Makes a whole number.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// Makes a number.
  public init(floatLiteral value: Double) { self = .number(value) }
  /// Makes a list.
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  /// Makes an object; of two equal keys the last counts.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(Dictionary(elements) { $1 })
  }
}

extension JSONValue: JSONDecodable, JSONEncodable {
  /// Reads any value; of two members with equal keys the last counts.
  public init(from json: inout JSONReader) throws(JSONError) {
    switch try json.nextKind() {
    case .string: self = .string(try json.readString())
    case .object: self = .object(try json.read())
    case .array: self = .array(try json.read())
    case .number: self = try json.readNumber()
    case .boolean: self = .bool(try json.readBool())
    case .null:
      guard try json.readNull() else { throw json.mismatch("null") }
      self = .null
    }
  }

  /// Writes the value, with the members of objects sorted by key.
  public func encode(to json: inout JSONWriter) {
    switch self {
    case .null: json.writeNull()
    case .bool(let value): json.writeBool(value)
    case .integer(let value): json.writeInteger(value)
    case .number(let value): json.writeDouble(value)
    case .literal(let number): number.encode(to: &json)
    case .string(let value): json.writeString(value)
    // Not by the generic `write`, which is several times slower.
    case .array(let elements):
      json.beginArray()
      if !json.isTooDeep {
        for element in elements { element.encode(to: &json) }
      }
      json.endArray()
    case .object(let members):
      json.beginObject()
      if !json.isTooDeep {
        for (key, value) in members.sorted(by: { $0.key.precedes($1.key) }) {
          json.writeKey(key)
          value.encode(to: &json)
        }
      }
      json.endObject()
    }
  }
}

extension JSONValue: CustomStringConvertible {
  /// The value as JSON; `NaN` or an infinity, which JSON does not have, as Swift writes the whole, and `…` in the place
  /// of what nests deeper than JSON may.
  public var description: String {
    if let json = try? json() { return String(decoding: json, as: UTF8.self) }
    return description(levels: JSONReader.depthLimit)
  }

  private func description(levels: Int) -> String {
    switch self {
    case .array where levels == 0, .object where levels == 0: return "…"
    case .array(let elements):
      return "[\(elements.map { $0.description(levels: levels - 1) }.joined(separator: ", "))]"
    case .object(let members) where members.isEmpty: return "[:]"
    case .object(let members):
      let texts = members.map { "\($0.key.debugDescription): \($0.value.description(levels: levels - 1))" }
      return "[\(texts.joined(separator: ", "))]"
    case .number(let number): return "\(number)"
    default:
      return (try? json()).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }
  }
}
