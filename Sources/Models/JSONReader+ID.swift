import Foundation
import JSON

extension JSONReader {
  /// Reads a value of GraphQL's `ID` type: a string, or a number of up to 38 digits, which becomes a string of its
  /// digits.
  mutating func readID() throws(JSONError) -> String {
    guard try nextKind() == .number else { return try readString() }
    let first = offset
    let text = try readNumberText()
    if let number = Int64(text) { return String(number) }
    guard let number = Decimal(string: text), number.magnitude < 1e38 else {
      goBack(to: first)
      throw mismatch("a string or a number of up to 38 digits")
    }
    return number.description
  }
}
