import Foundation
import HTTP

/// Turns flat parameters into the `name=value` pairs of a query or a form, by way of their JSON form.
enum QueryEncoder {
  /// The pairs, sorted by name. Absent and null values give none; a list gives one pair for each of its elements.
  static func pairs(
    of parameters: some Encodable & Sendable, by encoder: any BodyEncoder
  ) throws -> [(name: String, value: String)] {
    let json = try JSONDecoder().decode(JSONValue.self, from: encoder.encode(parameters))
    guard case .object(let members) = json else {
      throw RequestError(.invalidRequest, "A query or a form carries an object; these parameters are none.")
    }
    return try members.sorted { $0.key < $1.key }.flatMap { name, value in
      if case .array(let elements) = value {
        return try elements.compactMap { try text(of: $0, name: name) }.map { (name, $0) }
      }
      return try text(of: value, name: name).map { [(name, $0)] } ?? []
    }
  }

  private static func text(of value: JSONValue, name: String) throws(RequestError) -> String? {
    switch value {
    case .null: return nil
    case .bool(let value): return value ? "true" : "false"
    case .integer(let value): return String(value)
    case .number(let value): return String(value)
    case .string(let value): return value
    case .array, .object:
      throw RequestError(
        .invalidRequest, "The parameter '\(name)' is nested: a query or a form carries text, numbers and booleans.")
    }
  }
}
