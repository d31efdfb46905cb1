import Foundation
import HTTP
import JSON

/// Turns flat parameters into the `name=value` pairs of a query or a form, via JSON.
enum QueryEncoder {
  /// The pairs, sorted by name. Absent and null values have none; a list has one for each of its elements.
  static func pairs(
    of parameters: some Encodable & Sendable, by encoder: any BodyEncoder
  ) throws -> [(name: String, value: String)] {
    let json = try encoder.encode(parameters)
    do throws(JSONError) {
      return try [String: Values](json: json.bytes)
        .sorted { $0.key < $1.key }
        .flatMap { name, values in values.texts.map { (name, $0) } }
    } catch {
      throw RequestError(
        .invalidRequest,
        "The parameters of a query or a form must be an object of strings, numbers, booleans and lists of these. "
          + "\(DecodingFailure(error))")
    }
  }

  /// The pairs as a query or form: percent-encoded except for the unreserved characters (RFC 3986, section 2.3).
  static func text(of pairs: [(name: String, value: String)]) -> String {
    pairs.map { "\($0.name.percentEncoded)=\($0.value.percentEncoded)" }.joined(separator: "&")
  }

  /// The texts of a scalar or of a list of scalars.
  private struct Values: JSONDecodable {
    var texts: [String] = []

    init(from json: inout JSONReader) throws(JSONError) {
      guard try json.nextKind() == .array else {
        texts += try json.read(Scalar.self).texts
        return
      }
      try json.beginArray()
      while try json.nextElement() { texts += try json.read(Scalar.self).texts }
    }
  }

  /// The text of a scalar; a number's is as JSON has it, and `null` has none.
  private struct Scalar: JSONDecodable {
    var texts: [String] = []

    init(from json: inout JSONReader) throws(JSONError) {
      switch try json.nextKind() {
      case .null: _ = try json.readNull()
      case .boolean: texts.append(try json.readBool() ? "true" : "false")
      case .number: texts.append(try json.readNumberText())
      case .string: texts.append(try json.readString())
      case .array, .object: throw json.mismatch("a value that is not nested")
      }
    }
  }
}
