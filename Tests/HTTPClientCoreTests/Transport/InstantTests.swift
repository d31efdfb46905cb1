import Foundation
import Streams
import Testing

@testable import HTTPClientCore

@Suite struct InstantTests {
  @Test func `an instant agrees with the standard library's clock`() {
    let (before, start) = (ContinuousClock.now, Instant.now)
    let offset = start - Instant(nanoseconds: 0)
    let (end, after) = (Instant.now, ContinuousClock.now)
    #expect(end >= start)
    #expect(end - start <= before.duration(to: after))
    #expect(offset > .zero)
  }

  @Test func `times are added to the nanosecond`() {
    let start = Instant(nanoseconds: 5)
    #expect(start + .nanoseconds(7) == Instant(nanoseconds: 12))
    #expect(start + .seconds(3) + .nanoseconds(-5) == Instant(nanoseconds: 3_000_000_000))
    #expect((start + .milliseconds(2)) - start == .milliseconds(2))
  }

  @Test func `an instant beyond the clock's range is the range's end`() {
    let start = Instant.now
    for seconds in [Int64.max, Int64.max / 1_000_000_000, 9_300_000_000] {
      #expect(start + .seconds(seconds) == Instant(nanoseconds: .max))
      #expect(start + .seconds(-seconds) == Instant(nanoseconds: 0))
    }
    #expect(start + .seconds(Int64.min) == Instant(nanoseconds: 0))
    let last = Instant(nanoseconds: .max)
    #expect(last + .seconds(1) == last)
    #expect(last + .nanoseconds(1) == last)
    #expect(last - Instant(nanoseconds: 0) == .nanoseconds(Int64.max))
  }
}
