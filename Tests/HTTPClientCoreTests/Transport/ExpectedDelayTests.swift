import Testing
import TransportConformance

/// How `TransportConformance` measures, on machines that may be busy.
struct ExpectedDelayTests {
  /// Whether times that are measured one after another pass for a second, and how many of them were measured.
  private func check(_ times: Duration...) async -> (passes: Bool, count: Int) {
    var count = 0
    do {
      try await expectDelay(of: .seconds(1)) {
        count += 1
        return times[min(count, times.count) - 1]
      }
      return (true, count)
    } catch {
      #expect(error is TransportConformance.Violation)
      return (false, count)
    }
  }

  @Test func `a time on time is measured once`() async {
    #expect(await check(.seconds(1)) == (true, 1))
    #expect(await check(.milliseconds(1250)) == (true, 1))
  }

  @Test func `one that is late now and then passes, and one that is late always does not`() async {
    #expect(await check(.seconds(2), .seconds(9), .milliseconds(1100)) == (true, 3))
    #expect(await check(.milliseconds(1251)) == (false, 5))
  }

  @Test func `one that is early is wrong at once, and is not made good by others`() async {
    #expect(await check(.milliseconds(999), .seconds(1)) == (false, 1))
    #expect(await check(.seconds(2), .zero, .seconds(1)) == (false, 2))
  }
}
