import Foundation
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct PollerTests {
  /// What waiting gave.
  private struct Waited {
    var events: [PollEvent] = []
    /// How long after the time that was waited for it was over.
    var late = Duration.zero
  }

  /// Returns what a body makes of a poller, on a thread that is left behind if it does not return.
  private func withPoller(_ body: @escaping @Sendable (any Poller) -> Waited) async throws -> Waited {
    let result = Monitor<Result<Waited, any Error>?>(nil)
    Thread.detachNewThread {
      let waited = Result { body(try EpollPoller()) }
      result.update { $0 = waited }
    }
    let waited = try await result.wait(for: "the poller to return", within: .seconds(30)) { $0 != nil }
    return try #require(waited).get()
  }

  /// Waits as the loop does, which comes back where it was woken too early.
  private static func wait(_ poller: any Poller, until instant: Instant) -> Waited {
    var waited = Waited()
    while Instant.now < instant { poller.wait(until: instant, into: &waited.events) }
    waited.late = .now - instant
    return waited
  }

  @Test func `a wait ends at its time, and not much later`() async throws {
    let waited = try await withPoller { Self.wait($0, until: .now + .milliseconds(20)) }
    #expect(waited.events.isEmpty)
    #expect(waited.late < .seconds(5))
  }

  @Test func `a wait for a time that has passed ends at once`() async throws {
    let waited = try await withPoller { poller in
      var waited = Waited()
      let start = Instant.now
      poller.wait(until: start + .seconds(-1), into: &waited.events)
      poller.wait(until: start, into: &waited.events)
      waited.late = .now - start
      return waited
    }
    #expect(waited.events.isEmpty)
    #expect(waited.late < .seconds(5))
  }

  @Test func `a time that comes before the one that was waited for is kept`() async throws {
    let waited = try await withPoller { poller in
      var events: [PollEvent] = []
      poller.wake()
      poller.wait(until: .now + .seconds(3600), into: &events)
      var waited = Self.wait(poller, until: .now + .milliseconds(20))
      waited.events += events
      return waited
    }
    #expect(waited.events.isEmpty)
    #expect(waited.late < .seconds(5))
  }

  @Test func `a time that comes after the one that was waited for is kept`() async throws {
    let waited = try await withPoller { poller in
      var events: [PollEvent] = []
      poller.wake()
      poller.wait(until: .now + .milliseconds(5), into: &events)
      var waited = Self.wait(poller, until: .now + .milliseconds(30))
      waited.events += events
      return waited
    }
    #expect(waited.events.isEmpty)
    #expect(waited.late >= .zero)
    #expect(waited.late < .seconds(5))
  }

  @Test func `a wake ends a wait that has no end`() async throws {
    let waited = try await withPoller { poller in
      var waited = Waited()
      poller.wake()
      poller.wait(until: nil, into: &waited.events)
      return waited
    }
    #expect(waited.events.isEmpty)
  }

  @Test func `T7: a poller leaves four descriptors to others, such as Dispatch, which needs them`() async {
    await #expect(processExitsWith: .success) {
      endProcess()
      let others = DescriptorLimit.reach(but: 4)
      let error = #expect(throws: SystemError.self) { _ = try EpollPoller() }
      try #require(error == SystemError(code: EMFILE))
      // It has closed its own; where the machine is busy, Dispatch has one of the four now and then.
      try await eventually { DescriptorLimit.free == 4 }
      for other in others { close(other) }
      _ = try EpollPoller()
    }
  }
}
