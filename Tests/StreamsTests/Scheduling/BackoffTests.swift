import Streams
import Testing

@Suite struct BackoffTests {
  @Test func `a delay doubles from the first failure to the maximum`() {
    let backoff = Backoff(initial: .seconds(2), maximum: .seconds(128), jitter: 0)
    #expect((1...9).map(backoff.delay(after:)) == [2, 4, 8, 16, 32, 64, 128, 128, 128].map { .seconds($0) })
    #expect([Int.min, 0].map(backoff.delay(after:)) == [.seconds(2), .seconds(2)])
    #expect(backoff.delay(after: .max) == .seconds(128))
  }

  @Test func `full jitter draws from no delay to all of it, and half of it from the upper half`() {
    let full = Backoff(initial: .seconds(4), maximum: .seconds(60), random: { 0.75 })
    #expect(full.delay(after: 1) == .seconds(1))
    #expect(full.delay(after: 9) == .seconds(15))
    let half = Backoff(initial: .seconds(4), maximum: .seconds(60), jitter: 0.5, random: { 0.75 })
    #expect(half.delay(after: 1) == .milliseconds(2500))
    let own = Backoff(initial: .seconds(4), maximum: .seconds(60))
    #expect(Set((0..<100).map { _ in own.delay(after: 2) }).count > 50)
  }

  @Test func `a policy takes its delays from a back-off`() {
    let policy = RetryPolicy.exponential(attempts: 3, Backoff(initial: .seconds(1), maximum: .seconds(9), jitter: 0))
    #expect((1...3).map { policy.delay($0, Broken()) } == [.seconds(1), .seconds(2), nil])
  }
}
