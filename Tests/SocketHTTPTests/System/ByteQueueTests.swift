import Foundation
import HTTPClientCore
import SocketHTTP
import Testing

/// How bytes wait.
struct ByteQueueTests {
  @Test func `bytes are taken in the order in which they were added, however they are cut`() {
    var random = SystemRandomNumberGenerator()
    let queue = Queue()
    var (next, expected) = (0, 0)
    for _ in 0..<2000 {
      let part = (0..<Int.random(in: 0...3000, using: &random)).map { UInt8(truncatingIfNeeded: next + $0) }
      next += part.count
      #expect(queue.append(part))
      #expect(queue.count == next - expected)
      let count = Int.random(in: 0...min(queue.count, 4000), using: &random)
      let isRight = queue.bytes.prefix(count).enumerated().allSatisfy {
        $0.element == UInt8(truncatingIfNeeded: expected + $0.offset)
      }
      #expect(isRight)
      queue.removeFirst(count)
      expected += count
    }
    #expect(next > 100_000)
  }

  @Test func `an empty queue has no bytes and no memory`() {
    let queue = Queue()
    #expect(queue.isEmpty)
    #expect(queue.bytes.isEmpty)
    #expect(queue.append(UnsafeRawBufferPointer(start: nil, count: 0)))
    #expect(queue.append([]))
    queue.removeFirst(10)
    #expect(queue.isEmpty)
    #expect(queue.capacity == 0)
  }

  @Test func `no more bytes can be removed than there are`() {
    let queue = Queue()
    #expect(queue.append([1, 2, 3]))
    queue.removeFirst(-1)
    #expect(queue.count == 3)
    queue.removeFirst(.max)
    #expect(queue.isEmpty)
    #expect(queue.append([4]))
    #expect(queue.bytes == [4])
  }

  @Test func `much memory is given back once it is empty, and a little is kept`() {
    let queue = Queue()
    #expect(queue.append([UInt8](repeating: 1, count: 10_000)))
    queue.removeFirst(10_000)
    #expect((10_000...16 << 10).contains(queue.capacity))
    for _ in 0..<3 {
      #expect(queue.append([UInt8](repeating: 2, count: 1_000_000)))
      queue.removeFirst(999_999)
      #expect(queue.capacity >= 1_000_000)
      queue.removeFirst(1)
      #expect(queue.capacity == 0)
    }
  }

  @Test func `bytes for which there is no memory are refused, and those that wait stay`() {
    let queue = Queue()
    #expect(queue.append([7]))
    // No machine has that much; nothing is read of it.
    let isTaken = [UInt8](repeating: 8, count: 1).withUnsafeBytes {
      queue.append(UnsafeRawBufferPointer(start: $0.baseAddress, count: 1 << 61))
    }
    #expect(!isTaken)
    #expect(queue.bytes == [7])
  }
}

/// A queue that macros can copy the reference of.
private final class Queue {
  private var queue = ByteQueue()

  var isEmpty: Bool { queue.isEmpty }
  var count: Int { queue.count }
  var capacity: Int { queue.capacity }
  var bytes: [UInt8] { Array(queue.bytes) }

  func append(_ bytes: UnsafeRawBufferPointer) -> Bool { queue.append(bytes) }

  func append(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { append($0) } }

  func removeFirst(_ count: Int) { queue.removeFirst(count) }
}
