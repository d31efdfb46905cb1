/// A string that is written many times, such as the document of a GraphQL operation: it is escaped once, when it is
/// made.
///
/// Encoders other than ``JSONCoder`` write it like any string.
public struct PreparedString: Hashable, Sendable {
  /// The string.
  public let value: String

  private let json: RawJSON

  /// Takes a string, and escapes it.
  public init(_ value: String) {
    self.value = value
    json = RawJSON(string: value)
  }

  /// Whether the strings are equal.
  public static func == (left: PreparedString, right: PreparedString) -> Bool { left.value == right.value }

  /// Hashes the string.
  public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

extension PreparedString: JSONEncodable {
  /// Writes the escaped string.
  public func encode(to json: inout JSONWriter) { json.writeRaw(self.json) }
}

extension PreparedString: Encodable {
  /// Writes the string.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(value)
  }
}
