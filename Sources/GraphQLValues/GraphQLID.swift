public import StrictJSON
import SystemBase

extension JSONReader {
  /// Reads a value of GraphQL's `ID` type: a string, or a number of up to 38 digits, which becomes a string of its
  /// digits. Identifiers are compared and hashed, so they are names.
  public mutating func readID() throws(JSONError) -> String {
    guard try nextKind() == .number else { return try readName() }
    let first = offset
    // As `decodeID` reads it.
    if let number = try? readInteger(Int64.self) { return String(number) }
    goBack(to: first)
    guard let number = try? Decimal(from: &self), number.magnitude < 1e38 else {
      goBack(to: first)
      // A malformed number is an error of its own.
      _ = try readNumberText()
      goBack(to: first)
      throw mismatch("a string or a number of up to 38 digits")
    }
    return number.description
  }
}

extension KeyedDecodingContainer {
  /// Reads a value of GraphQL's `ID` type, which servers send as a string or as a number.
  ///
  /// A number of up to 38 digits is read as its digits. (GraphQL specification, section 3.5.5: an `ID` is serialised as
  /// text, but servers that take it from a database column may send a number.)
  public func decodeID(forKey key: Key) throws -> String {
    do {
      let id = try decode(String.self, forKey: key)
      guard id.isName else {
        throw DecodingError.dataCorruptedError(
          forKey: key, in: self, debugDescription: "It has too many combining characters in a row.")
      }
      return id
    } catch DecodingError.typeMismatch(let type, let context) {
      if let number = try? decode(Int64.self, forKey: key) { return String(number) }
      // A Decimal holds 38 digits; a longer number would be rounded.
      if let number = try? decode(Decimal.self, forKey: key), number.magnitude < 1e38 { return number.description }
      throw DecodingError.typeMismatch(type, context)
    }
  }
}
