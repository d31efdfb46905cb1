import Foundation
import HTTPClientCore
import HTTPMiddlewares
import Testing

@Suite("the header fields of rate limits")
struct RateLimitTests {
  private static let now = Date(timeIntervalSince1970: 784_111_777)

  private func limit(_ fields: [String]) throws -> RateLimit? {
    RateLimit(try CacheHarness.headers(fields), now: Self.now)
  }

  private static let fields: [(fields: [String], limit: RateLimit?)] = [
    ([], nil),
    (["RateLimiting: 5", "X-Rate: 5", "Retry-After: 5"], nil),
    (["X-RateLimit-Remaining: 99999999999999999999"], RateLimit(remaining: 1_000_000_000_000_000)),
    (["X-RateLimit-Limit: 99999999999999999999"], RateLimit(limit: 1_000_000_000_000_000)),
    (["X-RateLimit-Remaining: -5"], RateLimit(remaining: 0)),
    (["X-RateLimit-Reset-After: \(String(repeating: "9", count: 300))"], RateLimit(resetsAfter: .seconds(1e15))),
    (["X-RateLimit-Reset-After: -1"], RateLimit(resetsAfter: .zero)),
    (["X-RateLimit-Remaining: 1e3", "X-RateLimit-Reset: 0x10"], nil),
    (["X-RateLimit-Remaining: inf", "X-RateLimit-Limit: nan"], nil),
    (["X-RateLimit-Reset: 784111776"], RateLimit(resetsAfter: .zero)),
    (["X-RateLimit-Reset: Sun, 06 Nov 1994 08:49:47 GMT"], RateLimit(resetsAfter: .seconds(10))),
    (["X-RateLimit-Reset: Sun, 06 Nov 1994 08:49:27 GMT"], RateLimit(resetsAfter: .zero)),
    (["X-RateLimit-Reset: 1994-11-06T08:49:47Z"], nil),
    (["X-RateLimit-Reset: 6m0s"], nil),
    (["RateLimit-Limit: 10, 10;w=1, 1000;w=3600"], RateLimit(limit: 10)),
    (["RateLimit: limit=100, remaining=-1, reset=5"], RateLimit(limit: 100, remaining: 0, resetsAfter: .seconds(5))),
    ([#"RateLimit: "day";r=900;t=3600, "burst";r=0;t=2"#], RateLimit(remaining: 0, resetsAfter: .seconds(2))),
    (
      [#"RateLimit: "day";r=900;t=3600"#, #"RateLimit: "burst";r=0;t=2"#],
      RateLimit(remaining: 0, resetsAfter: .seconds(2))
    ),
    ([#"RateLimit: "a";r=0;t=2, "b";r=0;t=9"#], RateLimit(remaining: 0, resetsAfter: .seconds(9))),
    (
      [#"RateLimit: "burst";r=3;t=2"#, #"RateLimit-Policy: "day";q=1000;w=86400, "burst";q=10;w=1"#],
      RateLimit(limit: 10, remaining: 3, resetsAfter: .seconds(2))
    ),
    ([#"RateLimit-Policy: "burst";q=10;w=1, "day";q=1000;w=86400"#], RateLimit(limit: 10)),
    ([#"RateLimit: "a, b";r=1;t=2"#], RateLimit(remaining: 1, resetsAfter: .seconds(2))),
    ([#"RateLimit: ;;=,=;,r=;"x"#], nil),
    (
      ["X-RateLimit-Remaining: 3", "X-RateLimit-Resource: search"],
      RateLimit(remaining: 3, resource: "search")
    ),
    (
      [#"RateLimit: "user";r=0;t=2;pk=:YQ==:, "all";r=5;t=9"#],
      RateLimit(remaining: 0, resetsAfter: .seconds(2), resource: #""user" :YQ==:"#)
    ),
    // The server's clock is a minute behind.
    (
      ["Date: Sun, 06 Nov 1994 08:48:37 GMT", "X-RateLimit-Reset: 784111722"], RateLimit(resetsAfter: .seconds(5))
    ),
    (
      ["Date: Sun, 06 Nov 1994 08:48:37 GMT", "X-RateLimit-Reset: Sun, 06 Nov 1994 08:48:47 GMT"],
      RateLimit(resetsAfter: .seconds(10))
    ),
  ]

  @Test(arguments: fields.indices)
  func `what is out of range, past or of several policies is read as it is meant, and the rest is ignored`(
    index: Int
  ) throws {
    let (fields, expected) = Self.fields[index]
    #expect(try limit(fields) == expected, "\(fields)")
  }
}
