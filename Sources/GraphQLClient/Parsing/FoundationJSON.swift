public import StrictJSON
public import SystemBase

/// Reads and writes JSON with Foundation's `JSONDecoder` and `JSONEncoder` instead of `JSONCoder`, which is several
/// times faster and says where a number does not fit:
///
///     client.decoder = FoundationJSON()
///
/// JSON that is nested more than 128 levels deep is refused, and so is a key with more than 30 combining characters in a
/// row, for which Swift takes quadratic time to compare it; values that are compared, such as those of enums, are not
/// looked at, as `JSONCoder` does. Of a GraphQL response it reads `data` alone: errors and
/// extensions are read in one way whatever the decoder is. Of members with equal keys the first counts; for `JSONCoder`
/// the last one does, as in JavaScript. What names a member twice is not interoperable (RFC 8259, section 4), so do not
/// read one text with both.
public struct FoundationJSON: BodyDecoder, BodyEncoder {
  private let makeDecoder: @Sendable () -> JSONDecoder
  private let makeEncoder: @Sendable () -> JSONEncoder

  /// Makes a coder; `keys` says how keys in JSON differ from those in Swift, which they do not by default. Dates are
  /// decoded from ISO 8601 strings with an offset and up to 6 fractional digits, and encoded in UTC.
  public init(keys: JSONCoder.KeyStrategy = .asWritten) {
    self.init(decoder: { .iso8601(keys) }, encoder: { .iso8601(keys) })
  }

  /// Takes what makes a decoder and an encoder, with strategies of your own. They are called for each body.
  public init(
    decoder: @escaping @Sendable () -> JSONDecoder, encoder: @escaping @Sendable () -> JSONEncoder
  ) {
    makeDecoder = decoder
    makeEncoder = encoder
  }

  /// Decodes a value.
  public func decode<Value: Decodable>(_ type: Value.Type, from body: Data) throws -> Value {
    // Foundation also reads UTF-16 and UTF-32, in which counting brackets and quotes by bytes would go wrong.
    guard !body.contains(0) else {
      throw DecodingError(.malformed, expected: "JSON in UTF-8")
    }
    try body.checkBounds()
    return try makeDecoder().decode(type, from: body)
  }

  /// Writes a value.
  public func encode(_ value: some Encodable) throws -> Data {
    try makeEncoder().encode(value)
  }
}

extension JSONDecoder {
  fileprivate static func iso8601(_ keys: JSONCoder.KeyStrategy) -> JSONDecoder {
    let decoder = JSONDecoder()
    if keys == .snakeCase { decoder.keyDecodingStrategy = .convertFromSnakeCase }
    decoder.dateDecodingStrategy = .custom { decoder in
      let container = try decoder.singleValueContainer()
      guard let date = Date(iso8601: try container.decode(String.self)) else {
        throw DecodingError(.invalid, at: decoder.codingPath, expected: "a date such as 2026-01-31T12:00:00.5+01:00")
      }
      return date
    }
    return decoder
  }
}

extension JSONEncoder {
  /// Sorts the keys of each object.
  fileprivate static func iso8601(_ keys: JSONCoder.KeyStrategy) -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if keys == .snakeCase { encoder.keyEncodingStrategy = .convertToSnakeCase }
    encoder.dateEncodingStrategy = .custom { date, encoder in
      guard let text = date.iso8601 else {
        throw EncodingError.invalidValue(
          date, .init(codingPath: encoder.codingPath, debugDescription: "Expected a date of the years 0 to 9999."))
      }
      var container = encoder.singleValueContainer()
      try container.encode(text)
    }
    return encoder
  }
}

extension DecodingError {
  /// An error whose reason contains nothing of the JSON.
  fileprivate init(_ kind: JSONError.Kind, at path: [any CodingKey] = [], expected: String) {
    let steps = path.map { $0.intValue.map(JSONError.PathElement.index) ?? .key($0.stringValue) }
    let error = JSONError(kind, path: steps, offset: 0, expected: expected)
    self = .dataCorrupted(Context(codingPath: path, debugDescription: error.reason, underlyingError: error))
  }
}

extension Data {
  /// Throws if brackets outside strings are nested too deep, or if a key is not fit to be compared. All other errors are
  /// left to the parser.
  fileprivate func checkBounds() throws {
    var depth = 0
    var offset = startIndex
    // The offset of the opening quote of the string that was read last, or is being read, and that after its end.
    var string = offset..<offset
    var isInString = false
    var isEscaped = false
    for byte in self {
      offset += 1
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInString = false
          string = string.lowerBound..<offset
        }
        continue
      }
      switch byte {
      case UInt8(ascii: "\""):
        isInString = true
        string = offset - 1..<offset
      case UInt8(ascii: ":"):
        try self[string].checkKey()
        string = offset..<offset
      case UInt8(ascii: "["), UInt8(ascii: "{"):
        depth += 1
        guard depth <= JSONReader.depthLimit else {
          throw DecodingError(.tooDeep, expected: "\(JSONReader.depthLimit)")
        }
      case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
      default: break
      }
    }
  }

  private func checkKey() throws {
    // Shorter ones have too few characters for the check.
    guard count > 62 else { return }
    do throws(JSONError) {
      _ = try JSONReader.reading(bytes) { (json: inout JSONReader) throws(JSONError) in try json.readName() }
    } catch {
      if error.kind == .invalid { throw DecodingError(.invalid, expected: "a key with \(error.expected)") }
    }
  }
}
