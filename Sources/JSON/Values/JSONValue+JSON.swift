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
    case .array(let elements): json.write(elements)
    case .object(let members): json.write(members)
    }
  }
}

extension JSONReader {
  /// Reads a number: as an `Int64` if it is whole and fits, otherwise as a `Double`.
  fileprivate mutating func readNumber() throws(JSONError) -> JSONValue {
    let first = position
    if let value = try scanNumber().whole(Int64.self) { return .integer(value) }
    position = first
    return JSONValue(try readDouble())
  }
}
