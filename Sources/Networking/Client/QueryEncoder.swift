import Foundation
import HTTP
import JSON

/// Turns flat parameters into the `name=value` pairs of a query or a form, by way of their JSON form.
enum QueryEncoder {
  /// The pairs, sorted by name. Absent and null values give none; a list gives one pair for each of its elements.
  static func pairs(
    of parameters: some Encodable & Sendable, by encoder: any BodyEncoder
  ) throws -> [(name: String, value: String)] {
    let json = try encoder.encode(parameters)
    do {
      return try JSONCoder().decode([String: Values].self, from: json)
        .sorted { $0.key < $1.key }
        .flatMap { name, values in values.texts.map { (name, $0) } }
    } catch let error as DecodingError {
      throw RequestError(
        .invalidRequest,
        "A query or a form carries an object of texts, numbers, booleans and lists of these. \(DecodingFailure(error))")
    }
  }

  /// The texts of a scalar or of a list of scalars.
  private struct Values: Decodable {
    var texts: [String] = []

    init(from decoder: any Decoder) throws {
      if var list = try? decoder.unkeyedContainer() {
        while !list.isAtEnd { texts += try list.decode(Scalar.self).text.map { [$0] } ?? [] }
      } else {
        texts += try Scalar(from: decoder).text.map { [$0] } ?? []
      }
    }
  }

  /// The text of a scalar; `nil` for `null`.
  private struct Scalar: Decodable {
    let text: String?

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        text = nil
      } else if let value = try? container.decode(Bool.self) {
        text = value ? "true" : "false"
      } else if let value = try? container.decode(Int64.self) {
        text = String(value)
      } else if let value = try? container.decode(UInt64.self) {
        text = String(value)
      } else if let value = try? container.decode(Double.self) {
        text = String(value)
      } else if let value = try? container.decode(String.self) {
        text = value
      } else {
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "the value is nested")
      }
    }
  }
}
