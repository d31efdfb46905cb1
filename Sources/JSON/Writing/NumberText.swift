/// Writes the digits of a number directly to their place: a `String` in between would cost an allocation for each
/// number.
struct NumberText: TextOutputStream {
  /// More than the text of any `Double` or `Float` needs.
  static let capacity = 40
  private var end: UnsafeMutablePointer<UInt8>
  private let limit: UnsafeMutablePointer<UInt8>

  /// Writes from a place on at which there is room.
  init(end: UnsafeMutablePointer<UInt8>) {
    self.end = end
    limit = end + Self.capacity
  }

  /// The standard library calls this for strings that it knows to be ASCII.
  mutating func _writeASCII(_ buffer: UnsafeBufferPointer<UInt8>) {
    guard let start = buffer.baseAddress, buffer.count <= limit - end else { return }
    end.update(from: start, count: buffer.count)
    end += buffer.count
  }

  mutating func write(_ string: String) {
    var string = string
    string.withUTF8 { _writeASCII($0) }
  }

  /// The length of the text without a fraction of `.0`.
  func lengthWithoutZeroFraction(from start: UnsafeMutablePointer<UInt8>) -> Int {
    let length = end - start
    guard length > 2, end[-1] == UInt8(ascii: "0"), end[-2] == UInt8(ascii: ".") else { return length }
    return length - 2
  }
}
