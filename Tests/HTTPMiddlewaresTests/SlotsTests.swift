import Testing

@testable import HTTPClientCore
@testable import HTTPMiddlewares

@Suite struct SlotsTests {
  @Test func `a line that is left takes no memory`() {
    var slots = Slots<Int>(limit: 1, queueLimit: .max)
    let first = slots.enter(0, 0)
    #expect(first == .go)
    for id: UInt64 in 1...10_000 {
      let entry = slots.enter(id, Int(id))
      let isAbandoned = slots.abandon(id)
      #expect(entry == .wait)
      #expect(isAbandoned)
    }
    #expect(slots.lineLength < 64)
  }

  @Test func `a slot that is returned goes to the first in the queue, and only then to others`() {
    var slots = Slots<Int>(limit: 2, queueLimit: 9)
    let taken = [slots.takeFree(), slots.takeFree(), slots.takeFree()]
    #expect(taken == [true, true, false])
    let entries = [slots.enter(1, 1), slots.enter(2, 2)]
    #expect(entries == [.wait, .wait])
    for next in [1, 2, nil] {
      let (waiter, isFree) = (slots.leave(), slots.takeFree())
      #expect(waiter == next)
      #expect(isFree == (next == nil))
    }
  }
}
