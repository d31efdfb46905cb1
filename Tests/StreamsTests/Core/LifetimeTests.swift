import Synchronization
import TestSupport
import Testing

@testable import Streams

/// The promises of the one atomic word on which laws 2, 9, 14 and 15 stand.
@Suite struct LifetimeTests {
  private let count = 200_000

  @Test func `the end is claimed by one caller, and closing is left to it`() {
    let (lifetime, teardowns) = (Lifetime(), Counter())
    lifetime.add(ClosureNode { teardowns.increment() })
    #expect(!lifetime.isClosed)
    #expect(lifetime.claim())
    #expect(lifetime.isClosed)
    #expect(!lifetime.claim())
    lifetime.dispose()
    #expect(teardowns.count == 0)
    lifetime.close()
    #expect(teardowns.count == 1)
    #expect(!lifetime.claim())
  }

  @Test func `the end of a disposed lifetime cannot be claimed`() {
    let lifetime = Lifetime()
    lifetime.dispose()
    #expect(!lifetime.claim())
  }

  @Test func `2: one of the threads that race for the end wins`() throws {
    let lifetimes = (0..<count).map { _ in Lifetime() }
    let winners = Counters(count)
    try raceInStep(count) { index, _ in
      if lifetimes[index].claim() { winners.increment(index) }
    }
    #expect(winners.values.allSatisfy { $0 == 1 })
  }

  @Test func `2: a lifetime is either ended or disposed, never both, and never neither`() throws {
    let (claims, teardowns) = (Counters(count), Counters(count))
    let lifetimes = (0..<count).map { index in
      let lifetime = Lifetime()
      lifetime.add(ClosureNode { teardowns.increment(index) })
      return lifetime
    }
    try raceInStep(count) { index, thread in
      // Who claims does not close here: all teardowns are those of `dispose`.
      if thread == 1 { lifetimes[index].dispose() } else if lifetimes[index].claim() { claims.increment(index) }
    }
    #expect(zip(claims.values, teardowns.values).allSatisfy { $0 + $1 == 1 })
  }

  @Test
  func `14: a segment that is closed early is closed once, and nothing is lost of what is added meanwhile`() throws {
    let (closed, added) = (Counters(count), Counters(count))
    let lifetimes = (0..<count).map { _ in Lifetime() }
    let segments = lifetimes.indices.map { index in
      let segment = Segment()
      segment.add(ClosureNode { closed.increment(index) })
      return (segment, place: lifetimes[index].add(segment))
    }
    try raceInStep(count) { index, thread in
      let (lifetime, (segment, place)) = (lifetimes[index], segments[index])
      if thread == 0 { return lifetime.close(segment, at: place) }
      lifetime.add(ClosureNode { added.increment(index) })
      if index.isMultiple(of: 2) { lifetime.dispose() }
    }
    for lifetime in lifetimes { lifetime.dispose() }
    #expect(closed.values.allSatisfy { $0 == 1 })
    #expect(added.values.allSatisfy { $0 == 1 })
  }

  @Test func `17: a segment that is closed early is forgotten, and what lies below stays`() {
    let (lifetime, teardowns) = (Lifetime(), Counter())
    lifetime.add(ClosureNode { teardowns.increment() })
    let before = lifetime.word.load(ordering: .relaxed)
    for _ in 0..<3 {
      let segment = Segment()
      lifetime.close(segment, at: lifetime.add(segment))
      #expect(lifetime.word.load(ordering: .relaxed) == before)
    }
    lifetime.dispose()
    #expect(teardowns.count == 1)
  }
}
