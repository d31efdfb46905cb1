import SystemBase

/// The JSON that a value was read from, kept with it, so that the value can be written as it came: to a cache on disk, for
/// example. It does not belong to the value: two of them are always equal.
///
/// All values that were read from one text share one copy of it, which lives as long as any of them.
public struct ReceivedJSON: Hashable, Sendable {
  private let text: [UInt8]
  /// Where the value is in the text; empty if there is none.
  private let range: Range<Int>

  /// For a value that its initialiser made of its members. Writing it fails.
  public static let none = ReceivedJSON([], 0..<0)

  fileprivate init(_ text: [UInt8], _ range: Range<Int>) {
    (self.text, self.range) = (text, range)
  }

  /// The bytes that came; none for a value that its initialiser made.
  public var bytes: ArraySlice<UInt8> { text[range] }

  /// Always true.
  public static func == (left: ReceivedJSON, right: ReceivedJSON) -> Bool { true }

  /// Hashes nothing.
  public func hash(into hasher: inout Hasher) {}
}

extension ReceivedJSON: JSONEncodable {
  /// Writes the bytes that came.
  public func encode(to json: inout JSONWriter) {
    guard let received = try? RawJSON(json: bytes.span.bytes) else {
      json.fail(expected: "a value that was read from JSON, not one that its initialiser made")
      return json.writeNull()
    }
    json.writeRaw(received)
  }
}

/// A value that is written as the JSON that it was read from.
public protocol JSONReceived: JSONEncodable, Encodable {
  /// The JSON.
  var received: ReceivedJSON { get }
}

extension JSONReceived {
  /// Writes the bytes that came; a value that its initialiser made cannot be written.
  public func encode(to json: inout JSONWriter) { received.encode(to: &json) }

  /// Writes what the bytes stand for; throws for a value that its initialiser made.
  public func encode(to encoder: any Encoder) throws {
    try JSONValue(json: json().bytes).encode(to: encoder)
  }
}

extension JSONReader {
  /// The object that is open, as it came.
  @inline(never)
  public mutating func received() throws(JSONError) -> ReceivedJSON {
    let (place, level, wasFirst) = (position, depth, isFirst)
    if let end = note?.end {
      position = end + 1
    } else {
      while try nextKey() { try skipValue() }
    }
    let notes = makeNotes()
    if notes.text.isEmpty { notes.text = Array(UnsafeBufferPointer(start: start, count: end - start)) }
    let range = (object.start - 1 - start)..<offset
    (position, depth, isFirst) = (place, level, wasFirst)
    return ReceivedJSON(notes.text, range)
  }
}
