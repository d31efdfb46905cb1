public import Foundation

/// Reads and writes any `Codable` type as JSON, by ``JSONReader`` and ``JSONWriter``.
///
/// A type that is also ``JSONDecodable`` or ``JSONEncodable`` is read and written by these conformances, wherever it
/// occurs in a value, unless a strategy for keys, dates or data differs from the default.
public struct JSONCoder: Sendable {
  /// How keys in JSON and in Swift differ.
  public enum KeyStrategy: Sendable {
    /// Not at all.
    case asWritten
    /// `snake_case` in JSON, `camelCase` in Swift, as Foundation converts them.
    case snakeCase
  }

  /// How dates are written.
  public enum DateStrategy: Sendable {
    /// As a string, as `Date(iso8601:)` has it.
    case iso8601
    /// As a number of seconds since 1970.
    case secondsSince1970
    /// As a number of milliseconds since 1970.
    case millisecondsSince1970
    /// As `Date` itself does: a number of seconds since 2001.
    case deferredToDate
  }

  /// How data are written.
  public enum DataStrategy: Sendable {
    /// As a string in Base64.
    case base64
    /// As `Data` itself does: an array of numbers.
    case deferredToData
  }

  struct Options: Sendable {
    var keys: KeyStrategy
    var dates: DateStrategy
    var data: DataStrategy
    var userInfo: [CodingUserInfoKey: any Sendable]

    /// Whether types that read and write themselves do what the options say.
    var allowsDirect: Bool { keys == .asWritten && dates == .iso8601 && data == .base64 }
  }

  let options: Options
  let strategies: StrategyCache

  /// Takes how keys, dates and data are written, and what `Codable` implementations find in their `userInfo`.
  public init(
    keys: KeyStrategy = .asWritten, dates: DateStrategy = .iso8601, data: DataStrategy = .base64,
    userInfo: [CodingUserInfoKey: any Sendable] = [:]
  ) {
    options = Options(keys: keys, dates: dates, data: data, userInfo: userInfo)
    strategies = options.allowsDirect ? .direct : .byOptions
  }

  /// Reads a value from a JSON text in UTF-8.
  ///
  /// Throws a `DecodingError` that names the path where the text does not fit, or is no JSON; its `underlyingError` is a
  /// ``JSONError`` where the reader found it. Of equal keys the last counts.
  public func decode<Value: Decodable>(_ type: Value.Type, from body: Data) throws -> Value {
    if case .direct(let direct) = strategies.decoding(of: type) {
      do throws(JSONError) {
        return try read(direct, as: type, from: body)
      } catch {
        throw DecodingError(error, type: type)
      }
    }
    return try body.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) throws -> Value in
      try decode(type, from: bytes.assumingMemoryBound(to: UInt8.self))
    }
  }

  /// The two types are one, told from each other only at compile time: a strategy is kept under the type that it is for.
  private func read<Direct: JSONDecodable, Value>(
    _ direct: Direct.Type, as type: Value.Type, from body: Data
  ) throws(JSONError) -> Value {
    unsafeBitCast(try direct.init(json: body.bytes), to: type)
  }

  private func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeBufferPointer<UInt8>) throws -> Value {
    let tape: Tape
    do throws(JSONError) {
      tape = try JSONReader.reading(bytes.span.bytes) { (json: inout JSONReader) throws(JSONError) in
        try Tape(&json)
      }
    } catch {
      throw DecodingError(error, type: type)
    }
    var document = JSONDocument(tape: tape, bytes: bytes, coder: self)
    defer {
      if !isKnownUniquelyReferenced(&document) { document.keepBytes() }
    }
    return try TapeDecoder(document: document, place: 0, parent: nil, step: .root).decodeValue(type, at: 0, step: nil)
  }

  /// Writes a value in the shortest form.
  ///
  /// Throws an `EncodingError` that names the path where something has no form in JSON.
  public func encode<Value: Encodable>(_ value: Value) throws -> Data {
    guard case .direct(let direct) = strategies.encoding(of: Value.self) else {
      return try StreamEncoder.encode(value, by: self)
    }
    do throws(JSONError) {
      return try write(value, as: direct)
    } catch {
      throw EncodingError(error, value: value)
    }
  }

  /// The two types are one, as for reading.
  private func write<Direct: JSONEncodable>(_ value: some Any, as direct: Direct.Type) throws(JSONError) -> Data {
    try unsafeBitCast(value, to: direct).json()
  }
}
