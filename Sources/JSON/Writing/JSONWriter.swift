public import Foundation

/// Writes a JSON text from front to back, in its shortest form, into memory that it hands over at the end.
///
/// A value that JSON cannot express, such as a number that is not finite, is written as `null` and makes ``finish()``
/// throw. So does nesting deeper than ``JSONReader/depthLimit``.
@frozen
public struct JSONWriter: ~Copyable {
  // The invariant that keeps every access in bounds: count <= capacity, and every write is preceded by `reserve`.
  @usableFromInline var buffer: UnsafeMutablePointer<UInt8>
  @usableFromInline var capacity: Int
  @usableFromInline var count = 0
  @usableFromInline var depth = 0
  /// Whether the next value of the innermost array or object needs a comma before it.
  @usableFromInline var needsComma = false
  @usableFromInline var failure: JSONError?

  /// Makes a writer with room for `capacity` bytes; it grows when it needs more.
  @inlinable
  public init(capacity: Int = 256) {
    self.capacity = max(capacity, 16)
    buffer = .allocate(self.capacity)
  }

  @inlinable
  deinit {
    // Without capacity, the memory has been handed over.
    if capacity > 0 { free(buffer) }
  }

  /// The number of bytes written so far.
  @inlinable public var offset: Int { count }

  /// The bytes written so far.
  var written: [UInt8] { Array(UnsafeBufferPointer(start: buffer, count: count)) }

  /// The text; if something could not be written, throws an error with its place.
  @inlinable
  public consuming func finish() throws(JSONError) -> Data {
    if let failure { throw failure }
    capacity = 0
    return Data(bytesNoCopy: buffer, count: count, deallocator: .free)
  }

  /// Makes room for `bytes` more bytes.
  @inlinable @inline(__always)
  mutating func reserve(_ bytes: Int) {
    if capacity - count < bytes { grow(by: bytes) }
  }

  @usableFromInline @inline(never)
  mutating func grow(by bytes: Int) {
    capacity = max(capacity * 2, count + bytes)
    guard let larger = realloc(buffer, capacity) else { fatalError("No memory for \(capacity) bytes of JSON.") }
    buffer = larger.assumingMemoryBound(to: UInt8.self)
  }

  @inlinable @inline(__always)
  mutating func append(_ byte: UInt8) {
    reserve(1)
    buffer[count] = byte
    count += 1
  }

  @inlinable @inline(__always)
  mutating func append(_ bytes: UnsafePointer<UInt8>, count length: Int) {
    reserve(length)
    memcpy(buffer + count, bytes, length)
    count += length
  }

  @inlinable @inline(__always)
  mutating func append(_ text: StaticString) {
    append(text.utf8Start, count: text.utf8CodeUnitCount)
  }

  /// Writes the comma before a value or key, if one is needed.
  @inlinable @inline(__always)
  mutating func separate() {
    if needsComma { append(UInt8(ascii: ",")) }
    needsComma = true
  }

  /// Reports that the next value cannot be written; only the first such failure is kept. Types call it before they
  /// write something in the value's place.
  public mutating func fail(expected: String) {
    guard failure == nil else { return }
    var path = JSONPath(of: UnsafeBufferPointer(start: buffer, count: count)).path(to: count)
    // The comma before the value has not been written yet.
    if needsComma, case .index(let index) = path.last { path[path.count - 1] = .index(index + 1) }
    failure = JSONError(.invalid, path: path, offset: count + (needsComma ? 1 : 0), expected: expected)
  }
}

extension UnsafeMutablePointer<UInt8> {
  @usableFromInline
  static func allocate(_ capacity: Int) -> UnsafeMutablePointer<UInt8> {
    guard let memory = malloc(capacity) else { fatalError("No memory for \(capacity) bytes of JSON.") }
    return memory.assumingMemoryBound(to: UInt8.self)
  }
}
