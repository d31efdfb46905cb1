import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import StreamsTesting
import Testing

@Suite("rate limits of GraphQL servers")
struct RateLimitTests {
  private static let shopify = #"""
    {"errors":[{"message":"Throttled","extensions":{"code":"THROTTLED"}}],"extensions":{"cost":{"requestedQueryCost":752,
    "actualQueryCost":null,"throttleStatus":{"maximumAvailable":1000.0,"currentlyAvailable":102,"restoreRate":50.0}}}}
    """#

  /// Bodies with status 200 that refuse a request, header fields, and for how many seconds.
  private static let refusals: [(body: String, headers: HTTPHeaders, seconds: Double)] = [
    (shopify, [:], 13),
    (#"{"errors":[{"type":"RATE_LIMITED","message":"API rate limit exceeded"}]}"#, ["Retry-After": "9"], 9),
    (#"{"data":null,"errors":[{"message":"m","extensions":{"code":"RATE_LIMITED","retryAfter":2.5}}]}"#, [:], 2.5),
    (#"{"errors":[{"extensions":{"code":"RATE_LIMIT_EXCEEDED"}}]}"#, ["RateLimit": #""a";r=0;t=4"#], 4),
    (#"{"errors":[{"message":"m"},{"extensions":{"code":"TOO_MANY_REQUESTS"}}]}"#, [:], 1),
  ]

  @Test(arguments: refusals.indices)
  func `errors that mean throttling are waited for, whatever the status`(index: Int) async throws {
    let (body, fields, seconds) = Self.refusals[index]
    for status in [200, 400] {
      let scheduler = TestScheduler()
      let transport = ScriptedTransport(scheduler: scheduler)
      let headers = fields.adding(defaults: ["Content-Type": "application/json"])
      transport.expect(.any, .response(status: status, headers: headers, body: Data(body.utf8)))
      transport.expect(.any, .wholeThing)
      let client = try client(
        transport, middlewares: [RateLimitMiddleware(.graphQL, scheduler: scheduler, random: { 0 })])
      let subscription = GetThing().post(on: client).subscribe()
      defer { subscription.dispose() }
      scheduler.advance(by: .seconds(seconds) - .milliseconds(1))
      #expect(transport.requests.count == 1)
      scheduler.advance(by: .milliseconds(1))
      #expect(transport.requests.count == 2)
    }
  }

  @Test(arguments: [
    #"{"data":{"thing":{"name":"THROTTLED"}}}"#,
    #"{"data":{"thing":{"name":"a"}},"errors":[{"message":"RATE_LIMITED"}]}"#,
    #"{"data":{"thing":null},"errors":[{"message":"m","extensions":{"code":"THROTTLED"}}]}"#,
    #"{"errors":[{"message":"RATE_LIMITED"}]}"#, #"{"errors":[{"message":"THROTTLED""#,
  ])
  func `what only looks like it, or comes with data, is given as it is`(body: String) async throws {
    let transport = ScriptedTransport(always: .json(body))
    let client = try client(transport, middlewares: [RateLimitMiddleware(.graphQL)])
    _ = try? await GetThing(errorPolicy: .all).post(on: client).value
    #expect(transport.requests.count == 1)
    let limits = try #require(client.middlewares.first as? RateLimitMiddleware)
    #expect(limits.limit(for: transport.requests[0]) == RateLimit())
  }

  @Test(arguments: [1, 2])
  func `R1: what is refused inside of a mutation's result may have been carried out`(depth: Int) async throws {
    let path = ["pay", "receipt"].prefix(depth).map { #""\#($0)""# }.joined(separator: ",")
    let body = #"{"data":null,"errors":[{"message":"m","path":[\#(path)],"extensions":{"code":"RATE_LIMITED"}}]}"#
    let transport = ScriptedTransport(always: .json(body))
    let client = try client(transport, middlewares: .standard())
    let error = try #require(await ChangeThing().post(on: client).failure)
    #expect(error.kind == .rateLimited)
    #expect(error.reached == (depth > 1 ? .maybe : .rejected))
    #expect(transport.requests.count == 1)
  }

  @Test func `the error of a mutation names it, and says until when`() async throws {
    let transport = ScriptedTransport(always: .json(Self.shopify))
    var client = try client(transport, middlewares: .standard())
    client.timeouts.total = .seconds(5)
    let error = try #require(await ChangeThing().post(on: client).failure)
    #expect(error.kind == .rateLimited)
    #expect(error.retryAfter == .seconds(13))
    #expect(error.reached == .rejected)
    #expect(error.operationName == "changeThing")
    #expect(error.status == 200)
    #expect(!error.isForbidden)
    #expect(transport.requests.count == 1)
    let second = try #require(await ChangeThing().post(on: client).failure)
    #expect(second.kind == .rateLimited)
    #expect(second.reached == .never)
    #expect(transport.requests.count == 1)
  }
}
