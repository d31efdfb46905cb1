import Foundation
import StrictJSON
import Testing

extension JSONCoder {
  /// Foundation's decoder with dates and keys as a coder has them.
  static func foundationDecoder(snakeCase: Bool = false) -> JSONDecoder {
    let decoder = JSONDecoder()
    if snakeCase { decoder.keyDecodingStrategy = .convertFromSnakeCase }
    decoder.dateDecodingStrategy = .custom { decoder in
      let container = try decoder.singleValueContainer()
      guard let date = Date(iso8601: try container.decode(String.self)) else {
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "No date.")
      }
      return date
    }
    return decoder
  }

  static func foundationEncoder(snakeCase: Bool = false) -> JSONEncoder {
    let encoder = JSONEncoder()
    if snakeCase { encoder.keyEncodingStrategy = .convertToSnakeCase }
    encoder.dateEncodingStrategy = .custom { date, encoder in
      var container = encoder.singleValueContainer()
      try container.encode(date.iso8601)
    }
    return encoder
  }
}

/// Holds what `JSONCoder` writes to what Foundation's encoder does.
func expectEncodedAsByFoundation<Value: Encodable>(
  _ value: Value, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let ours = try JSONCoder().encode(value)
  let theirs = try JSONEncoder().encode(value)
  #expect(
    try JSONValue(json: ours.bytes) == JSONValue(json: theirs.bytes),
    "\(String(decoding: ours, as: UTF8.self)) \(String(decoding: theirs, as: UTF8.self))",
    sourceLocation: sourceLocation)
}
