import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import StreamsTesting
import Synchronization
import SystemBase
import Testing

@Suite("What an observer adds to each attempt")
struct AttemptTests {
  /// Numbers the attempts in a header field, and keeps their addresses as logs may show them.
  private func tracer(_ addresses: Locked<[String]> = Locked([])) -> EventLog {
    EventLog { request in
      request.onAttempt = { number, request in
        try? request.headers.set("X-Attempt", to: "\(number)")
        addresses.withLock { $0.append(request.shownURL) }
      }
    }
  }

  @Test func `each attempt has a header field of its own, whatever sends it again`() throws {
    let harness = MiddlewareHarness {
      [
        ObservingMiddleware(tracer(), scheduler: $0),
        RetryMiddleware(.exponential(attempts: 3, initial: .seconds(1), jitter: 0), scheduler: $0),
        HedgingMiddleware(after: .fixed(.seconds(1)), scheduler: $0),
      ]
    }
    harness.transport.expect(.response(status: 503))
    harness.transport.expect(.never)
    harness.transport.expect(.json("{}"))
    _ = try harness.finish(MiddlewareHarness.request())
    #expect(harness.transport.requests.map { $0.headers["X-Attempt"] } == ["1", "2", "3"])
  }

  @Test func `an observer changes nothing of an attempt but its header fields`() throws {
    let log = EventLog { request in
      request.onAttempt = { _, request in
        request.body = Data("other".utf8)
        try? request.headers.set("X-Attempt", to: "1")
      }
    }
    let harness = MiddlewareHarness { [ObservingMiddleware(log, scheduler: $0)] }
    harness.transport.always(.json("{}"))
    let request = try MiddlewareHarness.request()
    _ = try harness.finish(request)
    let sent = try #require(harness.transport.requests.first)
    #expect(sent.body == request.body)
    #expect(sent.headers["X-Attempt"] == "1")
  }

  @Test func `the address of an attempt has no values of its query, and no secret`() throws {
    let addresses = Locked<[String]>([])
    let harness = MiddlewareHarness { [ObservingMiddleware(tracer(addresses), scheduler: $0)] }
    harness.transport.always(.json("{}"))
    var request = try MiddlewareHarness.request(to: "https://api.test/hooks/canary-token?variables=canary-value")
    request.headers = ["Authorization": "Bearer canary-token"]
    _ = try harness.finish(request)
    let address = try #require(addresses.withLock { $0.first })
    #expect(address.hasPrefix("https://api.test/hooks/") && !address.contains("canary"))
    #expect(request.shownURL == address)
  }

  @Test func `a request that a middleware sends by itself does not count as an attempt`() throws {
    var request = try MiddlewareHarness.request()
    request.onAttempt = { _, request in request.headers.remove("X-Attempt") }
    let own = request.withoutObservers
    #expect(request.onAttempt != nil && own.onAttempt == nil)
  }

  @Test func `what several observers add to an attempt is all sent`() throws {
    let numbers = EventLog { request in
      request.onAttempt = { number, request in try? request.headers.set("X-Number", to: "\(number)") }
    }
    let harness = MiddlewareHarness { [ObservingMiddleware(RequestObservers([tracer(), numbers]), scheduler: $0)] }
    harness.transport.always(.json("{}"))
    _ = try harness.finish(MiddlewareHarness.request())
    let sent = try #require(harness.transport.requests.first)
    #expect(sent.headers["X-Attempt"] == "1")
    #expect(sent.headers["X-Number"] == "1")
  }

  @Test func `a cache knows what was sent, also what an observer has added to the attempt`() throws {
    let parts = Locked(["a", "b"])
    let log = EventLog { request in
      request.onAttempt = { _, request in
        try? request.headers.set("X-Part", to: parts.withLock { $0.removeFirst() })
      }
    }
    let harness = MiddlewareHarness { scheduler in
      [
        ObservingMiddleware(log, scheduler: scheduler),
        CacheMiddleware(
          MemoryCacheStorage(), now: { Date(timeIntervalSince1970: CacheHarness.start + scheduler.now / .seconds(1)) },
          elapsed: { scheduler.now }),
      ]
    }
    harness.transport.expect(try CacheHarness.response(["Cache-Control: max-age=60", "Vary: X-Part"], "for a"))
    harness.transport.expect(try CacheHarness.response(["Cache-Control: max-age=60", "Vary: X-Part"], "for b"))
    #expect(try harness.finish(CacheHarness.request()).get().body == Data("for a".utf8))
    #expect(try harness.finish(CacheHarness.request()).get().body == Data("for b".utf8))
  }
}
