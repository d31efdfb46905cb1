import Foundation
import HTTP
import Streams
import StreamsTesting
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
}
