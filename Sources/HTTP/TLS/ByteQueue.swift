import Foundation

/// Bytes that wait, in the order in which they came.
///
/// Its memory is not cleared before use, and is kept for the next bytes; what is more than 16 KiB goes once it is empty,
/// as many connections may be idle.
package struct ByteQueue: ~Copyable {
  private var memory: UnsafeMutableRawPointer?
  private var start = 0
  private var end = 0

  /// How many bytes its memory has room for.
  package private(set) var capacity = 0

  private static let smallest = 1 << 10
  private static let largestKept = 16 << 10

  /// Makes an empty queue, which has no memory yet.
  package init() {}

  deinit { free(memory) }

  package var isEmpty: Bool { start == end }

  package var count: Int { end - start }

  /// The bytes, good until the queue is changed.
  package var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: memory.map { UnsafeRawPointer($0 + start) }, count: count)
  }

  /// Adds all of these bytes; `false`, and none of them, where there is no memory for them.
  package mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let source = bytes.baseAddress else { return true }
    if capacity - end < bytes.count { makeRoom(for: bytes.count) }
    guard let memory, capacity - end >= bytes.count else { return bytes.isEmpty }
    (memory + end).copyMemory(from: source, byteCount: bytes.count)
    end += bytes.count
    return true
  }

  /// Takes away the first bytes, all where there are not as many.
  package mutating func removeFirst(_ count: Int) {
    start += min(max(count, 0), self.count)
    guard isEmpty else { return }
    (start, end) = (0, 0)
    guard capacity > Self.largestKept else { return }
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
