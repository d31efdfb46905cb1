import Foundation
import HTTPTestSupport
import Streams
import Testing

@testable import HTTPClientCore

@Suite struct ExchangeDeadlinesTests {
  private let start = Instant.now

  private func deadlines(_ connect: Duration?, _ idle: Duration?, _ total: Duration?) -> ExchangeDeadlines {
    ExchangeDeadlines(HTTPTimeouts(connect: connect, idle: idle, total: total), start: start)
  }

  @Test func `the limit for connecting applies until the first progress`() throws {
    let next = try #require(deadlines(.seconds(1), .seconds(2), .seconds(3)).next)
    #expect(next.phase == .connection)
    #expect(next.instant == start + .seconds(1))
  }

  @Test func `the idle limit applies after progress`() throws {
    var deadlines = deadlines(.seconds(1), .seconds(2), .seconds(9))
    deadlines.recordActivity(at: start + .milliseconds(500))
    let next = try #require(deadlines.next)
    #expect(next.phase == .activity)
    #expect(next.instant == start + .milliseconds(2500))
  }

  @Test func `each progress restarts the idle time`() throws {
    var deadlines = deadlines(nil, .seconds(2), nil)
    #expect(deadlines.next == nil)
    for second in 1...5 {
      deadlines.recordActivity(at: start + .seconds(second))
      #expect(deadlines.next?.instant == start + .seconds(second + 2))
    }
  }

  @Test func `the end comes first where it is earlier, whatever the signs`() {
    var deadlines = deadlines(.seconds(5), .seconds(5), .seconds(3))
    #expect(deadlines.next?.phase == .completion)
    deadlines.recordActivity(at: start + .seconds(2))
    #expect(deadlines.next?.phase == .completion)
    #expect(deadlines.next?.instant == start + .seconds(3))
  }

  @Test func `a request without timeouts has no deadlines`() {
    var deadlines = deadlines(nil, nil, nil)
    #expect(deadlines.next == nil)
    deadlines.recordActivity(at: start)
    #expect(deadlines.next == nil)
  }

  @Test(arguments: [Duration.zero, .seconds(-1), .nanoseconds(1), .milliseconds(1)])
  func `T6: times below a second, zero and less count as they are`(time: Duration) {
    #expect(deadlines(time, nil, nil).next?.instant == start + time)
    #expect(deadlines(nil, nil, time).next?.instant == start + time)
  }

  @Test func `the greatest durations overflow nothing`() {
    var deadlines = deadlines(.seconds(Int64.max), .seconds(Int64.max), .seconds(Int64.max))
    deadlines.recordActivity(at: start + .seconds(60))
    #expect(deadlines.next.map { $0.instant > start } == true)
  }

  @Test func `the error says which deadline passed, for what, and what to do`() throws {
    let request = try request("http://h/graphql?token=\(canary)", operationName: "getUser")
    let deadlines = deadlines(.seconds(1), .milliseconds(250), .seconds(3))
    let errors = [ExchangeDeadlines.Phase.connection, .activity, .completion].map { deadlines.error(for: $0, request) }
    #expect(errors.allSatisfy { $0.kind == .timedOut && $0.operationName == "getUser" })
    #expect(Set(errors.map(\.message)).count == 3)
    #expect(errors[1].message.contains("0.25 seconds"))
    #expect(errors.allSatisfy { $0.message.contains("http://h/graphql") && !$0.description.contains(canary) })
  }

  @Test func `T6: the default total stops counting with the head of a stream, and one that was set does not`() throws {
    var request = try request()
    let head = HTTPResponseHead(status: 200, headers: ["Content-Type": "application/x-ndjson"])
    for isSet in [false, true] {
      if isSet { request.timeouts = HTTPTimeouts(connect: nil, idle: nil, total: .seconds(60)) }
      var deadlines = ExchangeDeadlines(request.timeouts, start: start)
      deadlines.recordActivity(at: start + .seconds(59))
      #expect(deadlines.next?.phase == .completion)
      deadlines.record(head, for: request)
      #expect(deadlines.next?.phase == (isSet ? .completion : .activity))
    }
  }
}
