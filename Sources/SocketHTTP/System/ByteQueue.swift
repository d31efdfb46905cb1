import SystemBase

/// A queue of bytes.
///
/// Its memory is not cleared before use, and is kept for the next bytes; memory over a limit is freed when the queue
/// becomes empty, as many connections may be idle.
package struct ByteQueue: ~Copyable {
  private var memory: UnsafeMutableRawPointer?
  private var start = 0
  private var end = 0

  /// The size of its memory in bytes.
  package private(set) var capacity = 0

  private static let smallest = 1 << 10
  private let largestKept: Int

  /// Makes an empty queue without memory; up to `largestKept` bytes of it are kept.
  package init(keeping largestKept: Int = 16 << 10) {
    self.largestKept = largestKept
  }

  deinit { free(memory) }

  package var isEmpty: Bool { start == end }

  package var count: Int { end - start }

  /// The bytes; valid until the queue is changed.
  package var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: memory.map { UnsafeRawPointer($0 + start) }, count: count)
  }

  /// Appends all of these bytes, or none of them and returns `false` if there is no memory for them.
  package mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let source = bytes.baseAddress else { return true }
    if capacity - end < bytes.count { makeRoom(for: bytes.count) }
    guard let memory, capacity - end >= bytes.count else { return bytes.isEmpty }
    (memory + end).copyMemory(from: source, byteCount: bytes.count)
    end += bytes.count
    return true
  }

  /// Removes the first bytes, or all if there are fewer.
  package mutating func removeFirst(_ count: Int) {
    start += min(max(count, 0), self.count)
    guard isEmpty else { return }
    (start, end) = (0, 0)
    guard capacity > largestKept else { return }
    free(memory)
    (memory, capacity) = (nil, 0)
  }

  private mutating func makeRoom(for size: Int) {
    if start > 0, let memory {
      memmove(memory, memory + start, count)
      (start, end) = (0, count)
    }
    var newCapacity = max(capacity, Self.smallest)
    while newCapacity - end < size { newCapacity *= 2 }
    guard newCapacity > capacity, let newMemory = realloc(memory, newCapacity) else { return }
    (memory, capacity) = (newMemory, newCapacity)
  }
}
