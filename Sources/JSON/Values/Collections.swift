extension Optional: JSONDecodable where Wrapped: JSONDecodable {
  /// Reads `null` as `nil`.
  @inlinable
  public init(from json: inout JSONReader) throws(JSONError) {
    self = try json.readNull() ? nil : try Wrapped(from: &json)
  }
}

extension Optional: JSONEncodable where Wrapped: JSONEncodable {
  /// Writes `nil` as `null`.
  @inlinable
  public func encode(to json: inout JSONWriter) {
    if let self { self.encode(to: &json) } else { json.writeNull() }
  }
}

extension Array: JSONDecodable where Element: JSONDecodable {
  /// Reads an array.
  @inlinable
  public init(from json: inout JSONReader) throws(JSONError) {
    self = []
    try json.beginArray()
    while try json.nextElement() {
      append(try Element(from: &json))
    }
  }
}

extension Array: JSONEncodable where Element: JSONEncodable {
  /// Writes an array.
  @inlinable
  public func encode(to json: inout JSONWriter) {
    json.beginArray()
    for element in self { element.encode(to: &json) }
    json.endArray()
  }
}

extension Set: JSONDecodable where Element: JSONDecodable {
  /// Reads an array; of equal elements only one is kept.
  public init(from json: inout JSONReader) throws(JSONError) {
    self = Set(try [Element](from: &json))
  }
}

extension Set: JSONEncodable where Element: JSONEncodable {
  /// Writes an array in no order.
  public func encode(to json: inout JSONWriter) {
    Array(self).encode(to: &json)
  }
}

extension Dictionary: JSONDecodable where Key == String, Value: JSONDecodable {
  /// Reads an object; of equal keys the last counts.
  @inlinable
  public init(from json: inout JSONReader) throws(JSONError) {
    self = [:]
    try json.beginObject()
    while try json.nextKey() {
      let key = json.key
      self[key] = try Value(from: &json)
    }
  }
}

extension Dictionary: JSONEncodable where Key == String, Value: JSONEncodable {
  /// Writes an object, sorted by key, so that equal values give equal texts.
  @inlinable
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    for (key, value) in sorted(by: { $0.key < $1.key }) {
      json.writeKey(key)
      value.encode(to: &json)
    }
    json.endObject()
  }
}
