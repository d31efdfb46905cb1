import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import Testing

@Suite("F4: the cache keeps accounts apart")
struct CacheOwnerTests {
  private static let fresh = "Cache-Control: max-age=60"

  @Test(arguments: ["Authorization", "Cookie", "X-API-Key"])
  func `F4: requests with other credentials find nothing, though the server forgets to say Vary`(name: String) throws {
    let cache = CacheHarness()
    for value in ["a", "b"] {
      cache.transport.expect(try CacheHarness.response([Self.fresh], value))
      _ = try cache.get(["\(name): \(value)"])
    }
    cache.transport.expect(try CacheHarness.response([Self.fresh], "nobody"))
    #expect(try cache.get().text == "nobody")
    for value in ["a", "b"] { #expect(try cache.get(["\(name): \(value)"]).text == value) }
    #expect(cache.transport.requests.count == 3)
  }

  @Test func `F4: values of two fields do not look like one`() throws {
    let cache = CacheHarness()
    cache.transport.expect(try CacheHarness.response([Self.fresh], "1"))
    _ = try cache.get(["Authorization: a", "Cookie: b"])
    cache.transport.expect(try CacheHarness.response([Self.fresh], "2"))
    #expect(try cache.get(["Authorization: a Cookie 1 b"]).text == "2")
  }

  @Test(arguments: [CacheMode.private, .shared])
  func `F4: the account of the current token is the owner, through all its tokens`(mode: CacheMode) throws {
    let tokens = TestTokens(AccessToken("t1", account: "A"))
    let cache = CacheHarness(mode: mode, owners: .credentials(of: tokens)) { scheduler in
      [AuthMiddleware(tokens, scheduler: scheduler)]
    }
    let fresh = "Cache-Control: max-age=60, public"
    cache.transport.expect(try CacheHarness.response([fresh], "A's"))
    #expect(try cache.get().text == "A's")
    tokens.tokens.setToken(AccessToken("t2", account: "A"))
    #expect(try cache.get().text == "A's")
    #expect(cache.transport.requests.count == 1)
    tokens.tokens.setToken(AccessToken("t3", account: "B"))
    cache.transport.expect(try CacheHarness.response([fresh], "B's"))
    #expect(try cache.get().text == "B's")
    tokens.tokens.setToken(nil)
    cache.transport.expect(try CacheHarness.response([fresh], "nobody's"))
    #expect(try cache.get().text == "nobody's")
    tokens.tokens.setToken(AccessToken("t4", account: "A"))
    #expect(try cache.get().text == "A's")
  }

  @Test func `F4: tokens without an account are owners of their own`() throws {
    let tokens = TestTokens(AccessToken("t1"))
    let cache = CacheHarness(owners: .credentials(of: tokens)) { [AuthMiddleware(tokens, scheduler: $0)] }
    for token in ["t1", "t2"] {
      tokens.tokens.setToken(AccessToken(token))
      cache.transport.expect(try CacheHarness.response([Self.fresh], token))
      for _ in 1...2 { #expect(try cache.get().text == token) }
    }
    #expect(cache.transport.requests.count == 2)
  }

  @Test func `F4: what was looked up for one account is not sent under another, nor stored`() throws {
    let tokens = TestTokens(AccessToken("t1", account: "A"))
    let cache = CacheHarness(owners: .credentials(of: tokens)) { [AuthMiddleware(tokens, scheduler: $0)] }
    // The account changes after the cache has read it, before the request gets its token.
    tokens.onceRead { tokens.tokens.setToken(AccessToken("t2", account: "B")) }
    let error = #expect(throws: RequestError.self) { _ = try cache.get() }
    #expect(error?.kind == .cancelled)
    #expect(error?.reached == .never)
    #expect(cache.sent("Authorization") == [])
    for token in [AccessToken("t1", account: "A"), AccessToken("t2", account: "B")] {
      tokens.tokens.setToken(token)
      cache.transport.expect(try CacheHarness.response([], "asked"))
      #expect(try cache.get().text == "asked")
    }
  }

  @Test func `F4: no other account is asked whether a stored response is current`() throws {
    let tokens = TestTokens(AccessToken("t1", account: "A"))
    let cache = CacheHarness(owners: .credentials(of: tokens)) { [AuthMiddleware(tokens, scheduler: $0)] }
    cache.transport.expect(try CacheHarness.response([#"ETag: "v1""#], "A's"))
    _ = try cache.get()
    tokens.onceRead { tokens.tokens.setToken(AccessToken("t2", account: "B")) }
    #expect(throws: RequestError.self) { _ = try cache.get() }
    #expect(cache.transport.requests.count == 1)
  }

  @Test func `F4: without the provider of the tokens nothing that was authenticated is stored`() throws {
    let tokens = TestTokens(AccessToken("t1", account: "A"))
    let cache = CacheHarness { [AuthMiddleware(tokens, scheduler: $0)] }
    cache.transport.always(try CacheHarness.response([Self.fresh]))
    for _ in 1...2 { #expect(try cache.get().head.source == .network) }
  }

  @Test func `F4: in a shared cache the token that the request gets later counts`() throws {
    let tokens = TestTokens(AccessToken("t1", account: "A"))
    let cache = CacheHarness(mode: .shared, owners: .credentials(of: tokens)) {
      [AuthMiddleware(tokens, scheduler: $0)]
    }
    cache.transport.always(try CacheHarness.response([Self.fresh]))
    for _ in 1...2 { #expect(try cache.get().head.source == .network) }
  }

  @Test func `the values that Vary names count for everybody, too`() throws {
    let cache = CacheHarness(owners: .everybody)
    for value in ["a", "b"] {
      cache.transport.expect(try CacheHarness.response([Self.fresh, "Vary: Authorization"], value))
      _ = try cache.get(["Authorization: \(value)"])
    }
    for value in ["a", "b"] { #expect(try cache.get(["Authorization: \(value)"]).text == value) }
    #expect(cache.transport.requests.count == 2)
  }

  @Test func `S3: a key shows neither the owner nor the query`() throws {
    let key = CacheKey(url: "https://a.example/x?token=\(canary)", owner: canary)
    #expect(!everythingShown(of: key).contains(canary))
    #expect(!key.ownerDigest.contains(canary))
  }
}
