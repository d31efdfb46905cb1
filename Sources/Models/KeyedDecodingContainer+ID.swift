import Foundation

extension KeyedDecodingContainer {
  /// Reads a value of GraphQL's `ID` type, which servers send as text or as a number.
  ///
  /// A number is read as its text. (GraphQL specification, section 3.5.5: an `ID` is serialised as text, yet servers
  /// that take it from a database column send what they have.)
  func decodeID(forKey key: Key) throws -> String {
    do {
      return try decode(String.self, forKey: key)
    } catch DecodingError.typeMismatch(let type, let context) {
      if let number = try? decode(Int64.self, forKey: key) { return String(number) }
      if let number = try? decode(Decimal.self, forKey: key) { return number.description }
      throw DecodingError.typeMismatch(type, context)
    }
  }
}
