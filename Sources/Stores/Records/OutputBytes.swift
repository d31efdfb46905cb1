import StrictJSON
import SystemBase

/// JSON that is being written: each value is followed by a comma, which the end of what is around it replaces.
///
/// It may be expected to become some text, such as that of a response that was written just before. As long as it is like
/// that, it is compared with it a part at a time, and not kept; if it is to the end, it is that text which is given.
struct OutputBytes: ~Copyable {
  /// The last bytes, or all of them if they are not as expected.
  private var bytes: UnsafeMutablePointer<UInt8>
  private var capacity: Int
  private var count = 0
  private var depth = 0
  /// The text that is expected; `nil` if it is known to be another one.
  private var expected: PaddedBytes?
  /// How many bytes of it come before the last ones.
  private var passed = 0

  init(expecting expected: PaddedBytes?) {
    self.expected = expected
    capacity = 4096
    bytes = .allocate(capacity: capacity)
  }

  deinit { bytes.deallocate() }

  /// How much was written, and how deep that is nested.
  var mark: (Int, Int) {
    get { (passed + count, depth) }
    set {
      if let expected, passed > 0, newValue.0 <= passed {
        // The byte before may be a comma that is to be replaced.
        passed = max(newValue.0 - 1, 0)
        bytes[0] = expected.start[passed]
      }
      (count, depth) = (newValue.0 - passed, newValue.1)
    }
  }

  /// The text without the last comma.
  var text: PaddedBytes {
    let last = UnsafeBufferPointer(start: bytes, count: max(count - 1, 0))
    guard let expected else { return PaddedBytes(last) }
    if passed + last.count == expected.count, areAsExpected(last.count) { return expected }
    return PaddedBytes(UnsafeBufferPointer(rebasing: expected.bytes[..<passed]), then: last)
  }

  /// Whether the first of the last bytes are as expected.
  private func areAsExpected(_ length: Int) -> Bool {
    guard let expected, length <= expected.count - passed else { return false }
    return memcmp(expected.start + passed, bytes, length) == 0
  }

  /// Copies bytes after which 32 more can be read.
  @inline(__always)
  mutating func append(_ source: UnsafePointer<UInt8>, count length: Int) {
    if capacity - count < length + 32 { grow(by: length + 32) }
    Self.copy(source, to: bytes + count, length)
    count += length
  }

  /// Copies a name and a value, after each of which 32 more bytes can be read, and appends a comma.
  @inline(__always)
  mutating func append(
    _ name: UnsafePointer<UInt8>, count nameLength: Int, with value: UnsafePointer<UInt8>, count length: Int
  ) {
    if capacity - count < nameLength + length + 32 { grow(by: nameLength + length + 32) }
    let target = bytes + (count + nameLength)
    Self.copy(name, to: bytes + count, nameLength)
    Self.copy(value, to: target, length)
    target[length] = UInt8(ascii: ",")
    count += nameLength + length + 1
  }

  /// Copies bytes to where there is room for 32 more: 32 at once, as most are fewer.
  @inline(__always)
  private static func copy(_ source: UnsafePointer<UInt8>, to target: UnsafeMutablePointer<UInt8>, _ length: Int) {
    let (from, to) = (UnsafeRawPointer(source), UnsafeMutableRawPointer(target))
    let (first, second) = (
      from.loadUnaligned(as: SIMD16<UInt8>.self), from.loadUnaligned(fromByteOffset: 16, as: SIMD16<UInt8>.self)
    )
    to.storeBytes(of: first, as: SIMD16<UInt8>.self)
    to.storeBytes(of: second, toByteOffset: 16, as: SIMD16<UInt8>.self)
    if length > 32 { memcpy(to + 32, from + 32, length - 32) }
  }

  @inline(__always)
  mutating func append(_ source: UnsafeBufferPointer<UInt8>, then byte: UInt8) {
    guard let start = source.baseAddress else { return }
    append(start, count: source.count)
    bytes[count] = byte
    count += 1
  }

  mutating func append(_ text: StaticString) {
    let length = text.utf8CodeUnitCount
    if capacity - count < length + 32 { grow(by: length + 32) }
    memcpy(bytes + count, text.utf8Start, length)
    count += length
  }

  @inline(__always)
  mutating func begin(_ bracket: UInt8) throws(RecordError) {
    guard depth < JSONReader.depthLimit else { throw .tooDeep(limit: JSONReader.depthLimit) }
    guard passed + count < RecordCache.resultLimit else { throw .tooLarge(limit: RecordCache.resultLimit) }
    depth += 1
    if capacity - count < 32 { grow(by: 32) }
    bytes[count] = bracket
    count += 1
  }

  @inline(__always)
  mutating func end(_ bracket: UInt8) {
    depth -= 1
    if capacity - count < 32 { grow(by: 32) }
    if bytes[count - 1] == UInt8(ascii: ",") { count -= 1 }
    bytes[count] = bracket
    bytes[count + 1] = UInt8(ascii: ",")
    count += 2
  }

  @inline(never)
  private mutating func grow(by length: Int) {
    // The last byte may still be replaced.
    let compared = max(count - 1, 0)
    if areAsExpected(compared) {
      bytes[0] = bytes[compared]
      (passed, count) = (passed + compared, count - compared)
      if capacity - count < length { move(toCapacity: count + length) }
    } else if let text = expected {
      expected = nil
      move(toCapacity: max(text.count, passed + count + length) * 2, behind: text)
    } else {
      move(toCapacity: max(capacity * 2, count + length))
    }
  }

  /// Moves the bytes to other memory, behind those of a text that come before them, if it is given.
  private mutating func move(toCapacity capacity: Int, behind text: PaddedBytes? = nil) {
    let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    let start = text == nil ? 0 : passed
    if let text { larger.update(from: text.start, count: start) }
    (larger + start).update(from: bytes, count: count)
    bytes.deallocate()
    (bytes, self.capacity, count, passed) = (larger, capacity, start + count, passed - start)
  }
}
