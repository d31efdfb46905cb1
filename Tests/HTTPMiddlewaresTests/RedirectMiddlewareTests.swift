import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import StreamsTesting
import Testing

@Suite("redirects, where they are followed")
struct RedirectMiddlewareTests {
  private let harness = MiddlewareHarness { [RedirectMiddleware(scheduler: $0)] }

  private func redirect(_ status: Int, to location: String) throws -> ScriptedResponse {
    var headers = HTTPHeaders()
    try headers.set("Location", to: location)
    return .response(status: status, headers: headers, body: Data("moved".utf8))
  }

  private func request(_ method: HTTPMethod = .post, _ url: String = "https://a.example/x/y?q") throws -> HTTPRequest {
    try HTTPRequest(
      method: method, url: #require(URL(string: url)),
      headers: ["Authorization": "Bearer canary-token", "Content-Type": "application/json"], body: Data("{}".utf8))
  }

  @Test(arguments: [
    ("https://a.example/z", "https://a.example/z"), ("/z?a=b", "https://a.example/z?a=b"),
    ("z", "https://a.example/x/z"),
    ("https://A.EXAMPLE:443/z", "https://A.EXAMPLE:443/z"), ("//a.example/z#f", "https://a.example/z"),
    ("?p", "https://a.example/x/y?p"),
  ])
  func `T2: an address of the same origin is followed`(location: String, target: String) throws {
    harness.transport.expect(try redirect(307, to: location))
    harness.transport.expect(.json("{}"))
    #expect(try harness.finish(request()).get().head.status == 200)
    #expect(harness.transport.requests.map(\.url.absoluteString) == ["https://a.example/x/y?q", target])
    #expect(harness.transport.requests[1].headers["Authorization"] == "Bearer canary-token")
  }

  @Test(arguments: [
    "https://b.example/", "http://a.example/", "https://a.example:8443/", "https://user@a.example/", "ftp://a.example/",
    "//b.example/", "https://a.example.b.example/", "https:///", "",
  ])
  func `T2: any other address is refused, and nothing is sent there`(location: String) throws {
    for status in [301, 302, 303, 307, 308] {
      let before = harness.transport.requests.count
      harness.transport.expect(try redirect(status, to: location))
      #expect {
        try harness.finish(request()).get()
      } throws: { error in
        let error = error as? RequestError
        return error?.kind == .redirectRefused && error?.status == status && !"\(error as Any)".contains("canary")
      }
      #expect(harness.transport.requests.count == before + 1)
    }
  }

  @Test func `R1: a request that fails after a redirect may have reached the server before it`() throws {
    harness.transport.expect(try redirect(303, to: "/there"))
    harness.transport.expect(.failure(RequestError(.cannotConnect, "Refused.")))
    let failure = #expect(throws: RequestError.self) { try harness.finish(request()).get() }
    #expect(failure?.kind == .cannotConnect)
    #expect(failure?.reached == .maybe)
  }

  @Test(arguments: [401, 425, 429])
  func `R1: a request that was redirected to its result may have been carried out, whatever is said of that`(
    status: Int
  ) throws {
    for redirectStatus in [302, 303, 307] {
      let harness = MiddlewareHarness { [RedirectMiddleware(scheduler: $0)] }
      harness.transport.expect(try redirect(redirectStatus, to: "/result"))
      harness.transport.expect(.response(status: status))
      let result = try harness.finish(request())
      if redirectStatus == 307 {
        #expect(try result.get().head.status == status)
      } else {
        let failure = #expect(throws: RequestError.self) { try result.get() }
        #expect(failure?.kind == .httpStatus)
        #expect(failure?.status == status)
        #expect(failure?.reached == .maybe)
      }
    }
  }

  @Test func `R1: a refusal of a redirected request by a middleware inside does not say that it was rejected`() throws {
    let harness = MiddlewareHarness {
      [RedirectMiddleware(scheduler: $0), RateLimitMiddleware(scheduler: $0)]
    }
    harness.transport.expect(try redirect(303, to: "/result"))
    harness.transport.always(.response(status: 429, headers: ["Retry-After": "100"]))
    let failure = #expect(throws: RequestError.self) { try harness.finish(request()).get() }
    #expect(failure?.kind == .rateLimited)
    #expect(failure?.reached == .maybe)
  }

  @Test func `T2: a redirect without an address is refused`() throws {
    harness.transport.always(.response(status: 301))
    #expect(throws: RequestError.self) { try harness.finish(request()).get() }
  }

  @Test(arguments: [
    (307, HTTPMethod.post, HTTPMethod.post, true), (308, .post, .post, true), (308, .put, .put, true),
    (301, .post, .get, false), (302, .post, .get, false), (301, .put, .put, true), (303, .post, .get, false),
    (303, .put, .get, false), (303, .head, .head, true), (301, .get, .get, true),
  ])
  func `T2: method and body are kept where the status says so`(
    status: Int, method: HTTPMethod, expected: HTTPMethod, keepsBody: Bool
  ) throws {
    harness.transport.expect(try redirect(status, to: "/z"))
    harness.transport.expect(.json("{}"))
    _ = try harness.finish(request(method)).get()
    let sent = try #require(harness.transport.requests.last)
    #expect(sent.method == expected)
    #expect((sent.body != nil) == keepsBody)
    #expect(sent.headers.contains("Content-Type") == keepsBody)
  }

  @Test func `T2: five are followed, the sixth is refused`() throws {
    for number in 0..<5 { harness.transport.expect(try redirect(307, to: "/\(number)")) }
    harness.transport.expect(.json("{}"))
    #expect(try harness.finish(request()).get().head.status == 200)
    for number in 0..<6 { harness.transport.expect(try redirect(307, to: "/\(number)")) }
    #expect(throws: RequestError.self) { try harness.finish(request()).get() }
    #expect(harness.transport.requests.count == 12)
    #expect(harness.transport.failures.isEmpty)
  }

  @Test func `T2: the time that redirects take is taken off the deadline`() throws {
    var request = try request()
    request.timeouts = HTTPTimeouts(total: .seconds(10))
    harness.transport.expect(try redirect(307, to: "/y").after(.seconds(4)))
    harness.transport.expect(try redirect(307, to: "/z").after(.seconds(1)))
    harness.transport.expect(.json("{}"))
    #expect(try harness.finish(request).get().head.status == 200)
    #expect(harness.transport.requests.map(\.timeouts.total) == [.seconds(10), .seconds(6), .seconds(5)])
  }

  @Test func `T2: other responses are passed on unchanged`() throws {
    for status in [200, 300, 304, 305, 404] {
      harness.transport.expect(try redirect(status, to: "/z"))
      #expect(try harness.finish(request()).get().head.status == status)
    }
  }

  @Test(arguments: [true, false])
  func `R1: a challenge after a redirect does not send the first request again`(isAboveTokens: Bool) throws {
    let tokens = InMemoryTokenProvider(AccessToken("t1")) { _ in .just(AccessToken("t2")) }
    let harness = MiddlewareHarness {
      let stack: [any HTTPMiddleware] = [RedirectMiddleware(scheduler: $0), AuthMiddleware(tokens, scheduler: $0)]
      return isAboveTokens ? stack : stack.reversed()
    }
    harness.transport.always(.path(.post, "/graphql"), try redirect(303, to: "/result"))
    harness.transport.expect(.path(.get, "/result"), .response(status: 401))
    harness.transport.always(.path(.get, "/result"), .response())
    let result = try harness.finish(MiddlewareHarness.request(isReplayable: false))
    if isAboveTokens {
      #expect(try result.get().head.status == 200)
    } else {
      let failure = #expect(throws: RequestError.self) { try result.get() }
      #expect(failure?.status == 401)
      #expect(failure?.reached == .maybe)
    }
    let sent = harness.transport.requests.map { "\($0.method) \($0.headers["Authorization"] ?? "-")" }
    #expect(sent == ["POST Bearer t1", "GET Bearer t1"] + (isAboveTokens ? ["GET Bearer t2"] : []))
  }
}
