import SystemBase
import Testing

@Suite struct FifoTests {
  @Test func `elements are taken in the order in which they were added, however many were taken before`() {
    var (queue, next) = (Fifo<Int>(), 0)
    for index in 0..<1_000 {
      queue.append(index)
      guard index % 3 != 0 else { continue }
      #expect(queue.first == next)
      #expect(queue.popFirst() == next)
      next += 1
    }
    while let element = queue.popFirst() {
      #expect(element == next)
      next += 1
    }
    #expect(next == 1_000)
    #expect(queue.isEmpty)
    #expect(queue.first == nil)
  }

  @Test func `elements that have left are dropped where most have, and the others keep their order`() {
    var queue = Fifo<Int>()
    for index in 0..<100 { queue.append(index) }
    for _ in 0..<10 { _ = queue.popFirst() }
    queue.compact(to: 45) { $0 % 2 == 0 }
    #expect(queue.count == 90)
    queue.compact(to: 9) { $0 % 10 == 5 }
    #expect(queue.count == 9)
    #expect((0..<9).map { _ in queue.popFirst() } == (1...9).map { $0 * 10 + 5 })
    #expect(queue.isEmpty)
  }
}
