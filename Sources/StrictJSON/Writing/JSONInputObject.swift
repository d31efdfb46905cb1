import SystemBase

/// An object that is sent: the variables of an operation, or an input object, as `graphql generate` writes them.
///
///     extension Filter: JSONInputObject {
///       public func encode(to json: inout JSONWriter) {
///         json.beginObject()
///         json.member("name", name)
///         json.member("limit", limit)
///         json.endObject()
///       }
///     }
public protocol JSONInputObject: JSONEncodable, Encodable {}

extension JSONInputObject {
  /// Lets any other encoder write what ``JSONCoder`` writes.
  public func encode(to encoder: any Encoder) throws {
    try JSONValue(json: json().bytes).encode(to: encoder)
  }
}

/// What generated code calls: each writes a member of an object, and is never inlined.
extension JSONWriter {
  /// A string.
  @inline(never)
  public mutating func member(_ key: StaticString, _ value: String) {
    writeKey(key)
    writeString(value)
  }

  /// A whole number.
  @inline(never)
  public mutating func member(_ key: StaticString, _ value: Int) {
    writeKey(key)
    writeInteger(value)
  }

  /// A boolean.
  @inline(never)
  public mutating func member(_ key: StaticString, _ value: Bool) {
    writeKey(key)
    writeBool(value)
  }

  /// A value of any type that writes itself.
  @inline(never)
  public mutating func member(_ key: StaticString, _ value: some JSONEncodable) {
    write(key, value)
  }

  /// A value of any type that writes itself; nothing for `nil`.
  @inline(never)
  public mutating func member(_ key: StaticString, ifPresent value: (some JSONEncodable)?) {
    write(key, ifPresent: value)
  }
}
