import Testing

@testable import HTTP

@Suite struct PollerTests {
  private static func makePollers() throws -> [any Poller] {
    #if os(Linux)
      [try EpollPoller(), try PollPoller()]
    #else
      [try PollPoller()]
    #endif
  }

  /// Waits as the loop does, which comes back where it was woken too early.
  private func wait(_ poller: any Poller, until instant: Instant) {
    var events: [PollEvent] = []
    while Instant.now < instant { poller.wait(until: instant, into: &events) }
    #expect(events.isEmpty)
  }

  @Test func `a wait ends at its time, and not much later`() throws {
    for poller in try Self.makePollers() {
      let instant = Instant.now + .milliseconds(20)
      wait(poller, until: instant)
      #expect(.now - instant < .seconds(5))
    }
  }

  @Test func `a wait for a time that has passed ends at once`() throws {
    for poller in try Self.makePollers() {
      var events: [PollEvent] = []
      poller.wait(until: .now + .seconds(-1), into: &events)
      poller.wait(until: .now, into: &events)
      #expect(events.isEmpty)
    }
  }

  @Test func `a time that comes before the one that was waited for is kept`() throws {
    for poller in try Self.makePollers() {
      var events: [PollEvent] = []
      poller.wake()
      poller.wait(until: .now + .seconds(3600), into: &events)
      let instant = Instant.now + .milliseconds(20)
      wait(poller, until: instant)
      #expect(.now - instant < .seconds(5))
    }
  }

  @Test func `a time that comes after the one that was waited for is kept`() throws {
    for poller in try Self.makePollers() {
      var events: [PollEvent] = []
      poller.wake()
      poller.wait(until: .now + .milliseconds(5), into: &events)
      let instant = Instant.now + .milliseconds(30)
      wait(poller, until: instant)
      #expect(.now - instant < .seconds(5))
      #expect(.now >= instant)
    }
  }

  @Test func `a wake ends a wait that has no end`() throws {
    for poller in try Self.makePollers() {
      var events: [PollEvent] = []
      poller.wake()
      poller.wait(until: nil, into: &events)
      #expect(events.isEmpty)
    }
  }
}
