import Streams
import Testing

@Suite struct RetryPolicyTests {
  private func delay(
    _ attempt: Int, initial: Duration = .seconds(1), factor: Double = 2, maximum: Duration = .seconds(10),
    jitter: Double = 0, random: Double = 0.5
  ) -> Duration? {
    RetryPolicy.exponential(
      attempts: .max, initial: initial, factor: factor, maximum: maximum, jitter: jitter, random: { random }
    ).delay(attempt, Broken())
  }

  @Test func `a delay grows to the maximum and stays there, at any attempt`() {
    #expect([1, 2, 3, 4, 5, 1000, .max - 1].map { delay($0) } == [1, 2, 4, 8, 10, 10, 10].map { .seconds($0) })
    #expect(delay(.max) == nil)
    #expect(delay(3, initial: .milliseconds(100), factor: 1.5) == .milliseconds(225))
    #expect(delay(1000, factor: 1) == .seconds(1))
    #expect(delay(1, initial: .seconds(20)) == .seconds(10))
    #expect(delay(200, factor: 10, maximum: .seconds(Int64.max)).map { $0 > .seconds(Int64.max / 2) } == true)
  }

  @Test func `no delay stays none, however many attempts there were`() {
    #expect([1, 2, 100, .max - 1].allSatisfy { delay($0, initial: .zero) == .zero })
    #expect(delay(5, initial: .seconds(-1)) == .zero)
  }

  @Test(arguments: [Double.nan, .infinity, -Double.infinity, 1e25, -2])
  func `a factor that gives no delay gives the maximum`(_ factor: Double) {
    #expect(delay(2, factor: factor) == .seconds(10))
    #expect(delay(2, factor: factor, maximum: .seconds(Int64.max)).map { $0 >= .seconds(1) } == true)
  }

  @Test func `chance and its part are from 0 to 1, and what is no number leaves the delay whole`() {
    for number in [Double.nan, -1, -Double.infinity] {
      #expect(delay(1, jitter: number) == .seconds(1))
      #expect(delay(1, jitter: 1, random: number) == .seconds(1))
    }
    for number in [Double.infinity, 2, 1e300] {
      #expect(delay(1, jitter: number) == .milliseconds(500))
      #expect(delay(1, jitter: 1, random: number) == .zero)
    }
  }

  @Test(arguments: [0, -1, .min]) func `an attempt below the first counts as the first`(_ attempt: Int) {
    #expect(delay(attempt) == .seconds(1))
  }
}
