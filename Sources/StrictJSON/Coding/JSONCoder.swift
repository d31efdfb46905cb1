public import SystemBase

/// Reads and writes any `Codable` type as JSON, with ``JSONReader`` and ``JSONWriter``.
///
/// A type that is also ``JSONDecodable`` or ``JSONEncodable`` is read and written by these conformances, wherever it
/// occurs in a value, unless a strategy for keys, dates, data or decimals differs from the default.
public struct JSONCoder: Sendable {
  /// How keys in JSON correspond to keys in Swift.
  public enum KeyStrategy: Sendable {
    /// They are the same.
    case asWritten
    /// `snake_case` in JSON, `camelCase` in Swift, as Foundation converts them.
    case snakeCase
  }

  /// How dates are written.
  public enum DateStrategy: Sendable {
    /// As a string, in the form of `Date(iso8601:)`.
    case iso8601
    /// As `iso8601`. Also reads a date-time without an offset, as UTC, which servers in Python often send, and a calendar
    /// date, as its first moment in UTC.
    case lenientISO8601
    /// As a calendar date in UTC, such as `2026-01-31`; the time of day is not written.
    case calendarDate
    /// As a number of seconds since 1970.
    case secondsSince1970
    /// As a number of milliseconds since 1970.
    case millisecondsSince1970
    /// As `Date` does by default: a number of seconds since 2001.
    case deferredToDate
    /// As a string in a format of your own; `nil` from `read` means that a string is not such a date.
    ///
    ///     .custom(read: { Date(iso8601: $0) ?? Date(iso8601: "\($0)T00:00:00Z") }, write: { $0.iso8601 ?? "" })
    case custom(read: @Sendable (String) -> Date?, write: @Sendable (Date) -> String)
  }

  /// How a `Decimal` is written.
  public enum DecimalStrategy: Sendable {
    /// As a number.
    case number
    /// As a string with the number in it, which no reader rounds to a double; a number is read, too.
    case string
  }

  /// How data is written.
  public enum DataStrategy: Sendable {
    /// As a Base64 string.
    case base64
    /// As `Data` does by default: an array of numbers.
    case deferredToData
  }

  /// What happens to an escaped surrogate without its partner, which is no character: some servers cut strings in the
  /// middle of a pair.
  public enum LoneSurrogates: Sendable {
    /// It is an error.
    case refused
    /// It is read as U+FFFD, the replacement character. Texts with backslashes are looked through once more for it.
    case replaced
  }

  struct Options: Sendable {
    var keys: KeyStrategy
    var dates: DateStrategy
    var data: DataStrategy
    var decimals: DecimalStrategy
    var loneSurrogates: LoneSurrogates
    var userInfo: [CodingUserInfoKey: any Sendable]

    /// Whether the default conformances of `JSONDecodable` and `JSONEncodable` types agree with the options.
    var allowsDirect: Bool {
      if case .iso8601 = dates {
        keys == .asWritten && data == .base64 && decimals == .number
      } else {
        false
      }
    }
  }

  let options: Options
  let strategies: StrategyCache

  /// Takes the strategies for keys, dates, data, decimals and lone surrogates, and the `userInfo` for `Codable` implementations.
  public init(
    keys: KeyStrategy = .asWritten, dates: DateStrategy = .iso8601, data: DataStrategy = .base64,
    decimals: DecimalStrategy = .number, loneSurrogates: LoneSurrogates = .refused,
    userInfo: [CodingUserInfoKey: any Sendable] = [:]
  ) {
    options = Options(
      keys: keys, dates: dates, data: data, decimals: decimals, loneSurrogates: loneSurrogates, userInfo: userInfo)
    strategies = options.allowsDirect ? .direct : .byOptions
  }

  /// Reads a value from a JSON text in UTF-8.
  ///
  /// Throws a `DecodingError` with the path if the text does not fit the type or is not JSON; if the reader found the
  /// error, its `underlyingError` is a ``JSONError``. Of equal keys the last counts.
  public func decode<Value: Decodable>(_ type: Value.Type, from body: Data) throws -> Value {
    let body = options.loneSurrogates == .replaced ? body.replacingLoneSurrogates() : body
    return try decode(type, from: body.bytes)
  }

  /// Reads a value from a JSON text in UTF-8, without a copy of that.
  package func decode<Value: Decodable>(_ type: Value.Type, from text: PaddedBytes) throws -> Value {
    if options.loneSurrogates == .replaced { return try decode(type, from: Data(text.bytes)) }
    return try text.read { try decode(type, from: $0) }
  }

  private func decode<Value: Decodable>(_ type: Value.Type, from body: RawSpan) throws -> Value {
    if case .direct(let direct) = strategies.decoding(of: type) {
      do throws(JSONError) {
        return try read(direct, as: type, from: body)
      } catch {
        throw DecodingError(error, type: type)
      }
    }
    return try body.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) throws -> Value in
      let bytes = bytes.assumingMemoryBound(to: UInt8.self)
      let tape: Tape
      do throws(JSONError) {
        tape = try JSONReader.reading(bytes.span.bytes) { (json: inout JSONReader) throws(JSONError) in
          try Tape(&json)
        }
      } catch {
        throw DecodingError(error, type: type)
      }
      return try decode(type, from: tape, of: bytes)
    }
  }

  /// Reads the next value of a text whose rest the caller reads itself, such as a member of an envelope; `null` is nil.
  ///
  /// A value that does not fit is skipped, and its error returned: a `JSONError` with the path in the whole text, or a
  /// `DecodingError` with the path in the value. Throws only if the text is not JSON.
  package func read<Value: Decodable>(
    orSkipInto value: inout Value?, from json: inout JSONReader
  ) throws(JSONError) -> (any Error)? {
    if case .direct(let direct) = strategies.decoding(of: Value.self) {
      return try read(direct, orSkipInto: &value, from: &json)
    }
    value = nil
    guard try !json.readNull() else { return nil }
    let tape = try Tape(&json)
    do {
      value = try decode(
        Value.self, from: tape, of: UnsafeBufferPointer(start: json.start, count: json.end - json.start))
      return nil
    } catch {
      return error
    }
  }

  /// The cast is safe, though the compiler cannot know: a strategy is kept under its own type, so the two types are the
  /// same.
  private func read<Direct: JSONDecodable, Value>(
    _ direct: Direct.Type, as type: Value.Type, from body: RawSpan
  ) throws(JSONError) -> Value {
    unsafeBitCast(try direct.init(json: body), to: type)
  }

  /// The cast is safe for the same reason.
  private func read<Direct: JSONDecodable, Value>(
    _ direct: Direct.Type, orSkipInto value: inout Value?, from json: inout JSONReader
  ) throws(JSONError) -> (any Error)? {
    try withUnsafeMutablePointer(to: &value) { (value) throws(JSONError) in
      try value.withMemoryRebound(to: Direct?.self, capacity: 1) { (direct) throws(JSONError) in
        try json.read(orSkipInto: &direct.pointee)
      }
    }
  }

  private func decode<Value: Decodable>(
    _ type: Value.Type, from tape: consuming Tape, of bytes: UnsafeBufferPointer<UInt8>
  ) throws -> Value {
    var document = JSONDocument(tape: tape, bytes: bytes, coder: self)
    defer {
      if !isKnownUniquelyReferenced(&document) { document.keepBytes() }
    }
    return try TapeDecoder(document: document, place: 0, parent: nil, step: .root).decodeValue(type, at: 0, step: nil)
  }

  /// Writes a value in the shortest form.
  ///
  /// Throws an `EncodingError` with the path if a value cannot be written as JSON.
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

  /// The cast is safe for the same reason as when reading.
  private func write<Direct: JSONEncodable>(_ value: some Any, as direct: Direct.Type) throws(JSONError) -> Data {
    try unsafeBitCast(value, to: direct).json()
  }
}
