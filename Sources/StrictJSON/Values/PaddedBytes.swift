import SystemBase

/// Bytes in memory of their own, such as the JSON of a response, which all who keep them share. Zero bytes follow, so that
/// 32 may be read at once.
///
/// Unchecked, since its memory is unsafe: who makes it writes there before others get it, and afterwards it never changes.
package final class PaddedBytes: @unchecked Sendable {
  package let start: UnsafeMutablePointer<UInt8>
  package let count: Int

  /// The bytes after the last that may be read.
  package static var padding: Int { 32 }

  /// Makes a number of bytes, which are zero.
  package init(count: Int) {
    self.count = count
    start = .allocate(capacity: count + Self.padding)
    start.initialize(repeating: 0, count: count + Self.padding)
  }

  /// Copies bytes, and others after them.
  package init(
    _ first: UnsafeBufferPointer<UInt8>,
    then second: UnsafeBufferPointer<UInt8> = UnsafeBufferPointer(start: nil, count: 0)
  ) {
    count = first.count + second.count
    start = .allocate(capacity: count + Self.padding)
    if let bytes = first.baseAddress { start.initialize(from: bytes, count: first.count) }
    if let bytes = second.baseAddress { (start + first.count).initialize(from: bytes, count: second.count) }
    (start + count).initialize(repeating: 0, count: Self.padding)
  }

  /// Copies bytes.
  package init(_ bytes: RawSpan) {
    count = bytes.byteCount
    start = .allocate(capacity: count + Self.padding)
    bytes.withUnsafeBytes { UnsafeMutableRawBufferPointer(start: start, count: count).copyMemory(from: $0) }
    (start + count).initialize(repeating: 0, count: Self.padding)
  }

  deinit { start.deallocate() }

  package var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: start, count: count) }

  /// Gives the bytes to a closure.
  package func read<Result, Failure>(_ body: (RawSpan) throws(Failure) -> Result) throws(Failure) -> Result {
    defer { withExtendedLifetime(self) {} }
    return try body(UnsafeRawBufferPointer(bytes).bytes)
  }
}

extension PaddedBytes: Equatable {
  package static func == (left: PaddedBytes, right: PaddedBytes) -> Bool {
    left === right || left.count == right.count && memcmp(left.start, right.start, left.count) == 0
  }
}

extension PaddedBytes: CustomStringConvertible {
  /// The text.
  package var description: String { String(decoding: bytes, as: UTF8.self) }
}

extension PaddedBytes: JSONDecodable, Decodable {
  /// Reads the next value as its checked bytes, without the whitespace around it.
  package convenience init(from json: inout JSONReader) throws(JSONError) {
    _ = json.peek()
    let first = json.position
    try json.skipValue()
    self.init(UnsafeBufferPointer(start: first, count: json.position - first))
  }

  /// Reads the value, and keeps it in its shortest form.
  package convenience init(from decoder: any Decoder) throws {
    self.init(try JSONValue(from: decoder).json().bytes)
  }
}
