/// Memory that texts are appended to.
struct TextBuffer {
  private let memory: UnsafeMutableRawBufferPointer
  /// How many bytes have been written.
  private(set) var count = 0

  init(_ memory: UnsafeMutableBufferPointer<UInt8>) {
    self.memory = UnsafeMutableRawBufferPointer(memory)
  }

  /// Writes a text; there must be room for it.
  mutating func write(_ text: String) {
    let isWritten: Void? = text.utf8.withContiguousStorageIfAvailable { write(UnsafeRawBufferPointer($0)) }
    if isWritten == nil { Array(text.utf8).withUnsafeBytes { write($0) } }
  }

  /// Writes a constant; there must be room for it.
  @inline(__always)
  mutating func write(_ text: StaticString) {
    text.withUTF8Buffer { write(UnsafeRawBufferPointer($0)) }
  }

  /// Writes a header line; there must be room for it.
  mutating func write(name: String, value: String) {
    write(name)
    write(": ")
    write(value)
    write("\r\n")
  }

  @inline(__always)
  private mutating func write(_ bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count <= memory.count - count, "there must be room for what is written")
    if let start = bytes.baseAddress {
      memory.baseAddress?.advanced(by: count).copyMemory(from: start, byteCount: bytes.count)
    }
    count += bytes.count
  }
}
