/// Any JSON value, for data without a type of its own: the `extensions` of a GraphQL response, for example.
public enum JSONValue: Hashable, Sendable {
  /// `null`
  case null
  /// `true` or `false`
  case bool(Bool)
  /// A number that fits 64 bits and is whole, or becomes whole when it is rounded to a `Double`.
  case integer(Int64)
  /// Any other number.
  case number(Double)
  /// A string.
  case string(String)
  /// A list.
  case array([JSONValue])
  /// An object.
  case object([String: JSONValue])

  /// Takes a number that was read. A whole number that fits becomes an integer, so that it is read as the same value
  /// when it has been written.
  init(_ number: Double) {
    self = Int64(exactly: number).map(JSONValue.integer) ?? .number(number)
  }

  /// The string, if this is one.
  public var stringValue: String? {
    if case .string(let value) = self { value } else { nil }
  }

  /// The number, if this is one that is whole.
  public var integerValue: Int64? {
    if case .integer(let value) = self { value } else { nil }
  }

  /// The number, if this is one.
  public var numberValue: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
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

extension JSONValue: Codable {
  /// Reads any value.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .integer(value)
    } else if let value = try? container.decode(Double.self) {
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
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
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
  /// Makes `null`.
  public init(nilLiteral: ()) { self = .null }
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
    case .string(let value): json.writeString(value)
    // Not by the generic `write`, which is several times slower.
    case .array(let elements):
      json.beginArray()
      for element in elements { element.encode(to: &json) }
      json.endArray()
    case .object(let members):
      json.beginObject()
      for (key, value) in members.sorted(by: { $0.key < $1.key }) {
        json.writeKey(key)
        value.encode(to: &json)
      }
      json.endObject()
    }
  }
}

extension JSONReader {
  /// Reads a number: as an `Int64` if it is whole and fits, otherwise as a `Double`.
  fileprivate mutating func readNumber() throws(JSONError) -> JSONValue {
    let first = offset
    if let value = try scanNumber().whole(Int64.self) { return .integer(value) }
    goBack(to: first)
    return JSONValue(try readDouble())
  }
}

extension JSONValue: CustomStringConvertible {
  /// The value as JSON; `NaN` or an infinity, which JSON does not have, as Swift writes the whole.
  public var description: String {
    if let json = try? json() { return String(decoding: json, as: UTF8.self) }
    return switch self {
    case .number(let number): "\(number)"
    case .array(let elements): "\(elements)"
    case .object(let members): "\(members)"
    default: "null"
    }
  }
}
