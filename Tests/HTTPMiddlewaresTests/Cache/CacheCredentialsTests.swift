import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import Testing

@Suite("F4: responses belong to the credentials that went out")
struct CacheCredentialsTests {
  private static let fresh = "Cache-Control: max-age=60"

  /// Signs each request with a field that the cache cannot know before.
  private struct Signer: HTTPMiddleware {
    let fields: HTTPHeaders
    var added = AddedCredentials.unknown
    var addedCredentials: AddedCredentials { added }

    func intercept(
      _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
    ) -> Observable<HTTPResponsePart> {
      var request = request
      request.headers = HTTPHeaders(Array(request.headers) + Array(fields))
      return next(request)
    }
  }

  /// Sends each request to another address.
  private struct Elsewhere: HTTPMiddleware {
    let url: URL
    var addedCredentials: AddedCredentials { .none }

    func intercept(
      _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
    ) -> Observable<HTTPResponsePart> {
      do { return next(try request.to(url)) } catch { return .error(error) }
    }
  }

  /// The text that a stack gets; the server's response is this one.
  private func get(
    _ cache: CacheHarness, _ fields: [String] = [], response: [String] = [fresh], else text: String
  ) throws -> String {
    cache.transport.always(try CacheHarness.response(response, text))
    return try cache.get(fields).text
  }

  @Test(arguments: ["Authorization", "Cookie", "X-API-Key", "X-Session", "Host"])
  func `F4: default fields inside of the cache tell accounts apart, over one storage`(name: String) throws {
    let storage = MemoryCacheStorage()
    let stacks = try ["alice", "bob"].map { value in
      let fields = try CacheHarness.headers(["\(name): \(value)"])
      return CacheHarness(storage) { _ in [DefaultHeadersMiddleware(fields)] }
    }
    #expect(try get(stacks[0], else: "alice's") == "alice's")
    #expect(try get(stacks[1], else: "bob's") == "bob's")
    #expect(try get(stacks[0], else: "asked") == "alice's")
  }

  @Test func `F4: what a middleware of unknown kind signs is neither stored nor served`() throws {
    let storage = MemoryCacheStorage()
    let anybody = CacheHarness(storage)
    let signed = CacheHarness(storage) { _ in [Signer(fields: ["X-Signature": "a"])] }
    #expect(try get(signed, else: "signed") == "signed")
    #expect(storage.size == 0)
    #expect(try get(anybody, else: "anybody's") == "anybody's")
    #expect(try get(signed, else: "signed") == "signed")
    #expect(try get(anybody, else: "asked") == "anybody's")
  }

  @Test func `F4: behind a middleware of unknown kind, a stored response serves after the server has confirmed it`()
    throws
  {
    let cache = CacheHarness { _ in [Signer(fields: [:])] }
    cache.transport.expect(try CacheHarness.response([Self.fresh, #"ETag: "1""#]))
    _ = try cache.get()
    cache.transport.expect(.response(status: 304, headers: ["ETag": #""1""#]))
    #expect(try cache.get().head.source == .validatedCache)
    #expect(try cache.get(["Cache-Control: only-if-cached"]).head.status == 504)
  }

  @Test func `F4: a middleware that claims to add nothing, and adds a credential, has nothing stored`() throws {
    let storage = MemoryCacheStorage()
    let cache = CacheHarness(storage) { _ in [Signer(fields: ["X-Auth": "a"], added: .none)] }
    #expect(try get(cache, else: "a's") == "a's")
    #expect(storage.size == 0)
  }

  @Test func `a middleware that adds fields for traces changes nothing`() throws {
    let cache = CacheHarness { _ in [Signer(fields: ["traceparent": "1", "X-Request-ID": "2"], added: .none)] }
    #expect(try get(cache, else: "first") == "first")
    #expect(try get(cache, else: "second") == "first")
  }

  @Test func `F4: a request's own field in the place of the token's is an owner of its own`() throws {
    let tokens = TestTokens(AccessToken("t", account: "bob"))
    let cache = CacheHarness(owners: .credentials(of: tokens)) {
      [AuthMiddleware(tokens, fieldName: "X-Auth", scheduler: $0)]
    }
    #expect(try get(cache, else: "bob's") == "bob's")
    #expect(try get(cache, ["X-Auth: alice"], else: "alice's") == "alice's")
    #expect(try get(cache, ["X-Auth: carol"], else: "carol's") == "carol's")
    #expect(try get(cache, ["X-Auth: alice"], else: "asked") == "alice's")
    #expect(try get(cache, else: "asked") == "bob's")
  }

  @Test func `F4: two tenants behind one address have responses of their own`() throws {
    let cache = CacheHarness()
    for tenant in ["a.example", "b.example"] {
      #expect(try get(cache, ["Host: \(tenant)"], else: tenant) == tenant)
    }
    for tenant in ["a.example", "b.example"] {
      #expect(try get(cache, ["Host: \(tenant)"], else: "asked") == tenant)
    }
    #expect(try get(cache, else: "nobody's") == "nobody's")
  }

  @Test func `F4: a POST to one tenant invalidates its responses, also those that it names`() throws {
    let cache = CacheHarness()
    for tenant in ["a", "b"] {
      for url in ["http://127.0.0.1:1/x", "http://127.0.0.1:1/y"] {
        cache.transport.expect(try CacheHarness.response([Self.fresh], tenant))
        _ = try cache.get(["Host: \(tenant)"], url)
      }
    }
    cache.transport.expect(try CacheHarness.response(["Location: http://a/y"], status: 201))
    _ = try cache.harness.finish(
      CacheHarness.request(["Host: a"], "http://127.0.0.1:1/x", method: .post))
    cache.transport.always(try CacheHarness.response([], "asked"))
    for url in ["http://127.0.0.1:1/x", "http://127.0.0.1:1/y"] {
      #expect(try cache.get(["Host: a"], url).text == "asked")
      #expect(try cache.get(["Host: b"], url).text == "b")
    }
  }

  @Test func `F4: a response from another address is not stored`() throws {
    let storage = MemoryCacheStorage()
    let url = try #require(URL(string: "https://b.example/x"))
    let cache = CacheHarness(storage) { _ in [Elsewhere(url: url)] }
    #expect(try get(cache, else: "b's") == "b's")
    #expect(storage.size == 0)
  }

  @Test func `fields inside that the server varies by are told apart`() throws {
    let storage = MemoryCacheStorage()
    let response = [Self.fresh, "Vary: Accept-Language"]
    let stacks = try ["de", "en"].map { value in
      let fields = try CacheHarness.headers(["Accept-Language: \(value)"])
      return CacheHarness(storage) { _ in [DefaultHeadersMiddleware(fields)] }
    }
    #expect(try get(stacks[0], response: response, else: "de") == "de")
    #expect(try get(stacks[1], response: response, else: "en") == "en")
    #expect(try get(stacks[0], response: response, else: "asked") == "de")
    #expect(try get(stacks[1], response: response, else: "asked") == "en")
  }

  @Test func `F4: in an outage nothing of other credentials is served`() throws {
    let storage = MemoryCacheStorage()
    let anybody = CacheHarness(storage)
    #expect(
      try get(anybody, response: ["Cache-Control: max-age=60, stale-if-error=600"], else: "anybody's") == "anybody's")
    let signed = CacheHarness(storage) { _ in [Signer(fields: ["X-Signature": "a"])] }
    signed.transport.always(.response(status: 503))
    #expect(try signed.get().head.status == 503)
  }

  @Test func `F4: a middleware that is called without a stack stores nothing`() throws {
    let storage = MemoryCacheStorage()
    let parts: [HTTPResponsePart] = [
      .head(HTTPResponseHead(status: 200, headers: try CacheHarness.headers([Self.fresh]))), .body(Data("a".utf8)),
    ]
    _ = try CacheMiddleware(storage).intercept(CacheHarness.request()) { _ in .from(parts) }.subscribe()
    #expect(storage.size == 0)
  }
}
