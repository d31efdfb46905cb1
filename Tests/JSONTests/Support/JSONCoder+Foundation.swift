import Foundation
import JSON

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
