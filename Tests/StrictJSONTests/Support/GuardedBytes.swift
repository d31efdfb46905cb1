import Foundation

/// Bytes that end where readable memory ends: whoever reads one byte more ends the process.
final class GuardedBytes {
  private let memory: UnsafeMutableRawPointer
  private let length: Int
  private let capacity: Int

  /// Makes room for as many bytes.
  init(capacity: Int) throws {
    let page = Int(getpagesize())
    self.capacity = (capacity + page - 1) / page * page
    length = self.capacity + page
    guard
      let memory = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), memory != MAP_FAILED,
      mprotect(memory + self.capacity, page, PROT_NONE) == 0
    else { throw POSIXError(.ENOMEM) }
    self.memory = memory
  }

  deinit { munmap(memory, length) }

  /// Lends a copy of some bytes, right before the memory that cannot be read.
  func with<Value, Failure: Error>(
    _ bytes: some Collection<UInt8>, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    precondition(bytes.count <= capacity)
    let start = memory + (capacity - bytes.count)
    let copy = UnsafeMutableRawBufferPointer(start: start, count: bytes.count)
    copy.copyBytes(from: bytes)
    return try body(UnsafeRawBufferPointer(copy))
  }
}
