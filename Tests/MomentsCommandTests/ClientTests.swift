import Foundation
import HTTPClientCore
import Streams
import StreamsTesting
import SystemBase
import Testing

@testable import moments

struct RunDeadlineTests {
  @Test func `each request of a run gets what those before it have left`() throws {
    let scheduler = TestScheduler()
    let deadline = RunDeadline(after: .seconds(2), scheduler: scheduler)
    let url = try #require(URL(string: "https://example.com/"))
    let request = try HTTPRequest(method: .post, url: url, timeouts: HTTPTimeouts(total: .seconds(2)))
    let totals = Locked<[Duration?]>([])
    for _ in 0..<4 {
      let exchange = deadline.intercept(request) { request in
        totals.withLock { $0.append(request.timeouts.total) }
        return .empty()
      }
      _ = exchange.subscribe()
      scheduler.advance(by: .milliseconds(800))
    }
    #expect(totals.withLock { $0 } == [.seconds(2), .milliseconds(1_200), .milliseconds(400), .zero])
  }

  @Test func `its error tells of the run's limit, and not of what a request had left; others stay`() throws {
    let scheduler = TestScheduler()
    let deadline = RunDeadline(after: .seconds(2), scheduler: scheduler)
    let url = try #require(URL(string: "https://example.com/"))
    let request = try HTTPRequest(method: .post, url: url)
    let messages = Locked<[String]>([])
    for _ in 0..<2 {
      let exchange = deadline.intercept(request) { request in
        .error(RequestError(.timedOut, "After \(request.timeouts.total ?? .zero)."))
      }
      _ = exchange.subscribe(onError: { error in
        messages.withLock { $0.append(RequestError(wrapping: error).message) }
      })
      scheduler.advance(by: .seconds(2))
    }
    #expect(messages.withLock { $0[0] } == "After 2.0 seconds.")
    #expect(messages.withLock { $0[1] }.hasPrefix("Timed out after 2.0 seconds waiting for"))
  }
}
