import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import Streams
import StreamsTesting
import SystemBase
import Testing

// Tokens that cannot be refreshed, or that seem to have expired when they come.
extension AuthMiddlewareTests {
  /// Counts the refreshes that a provider is asked for, all of which fail.
  private func refreshes(
    of token: AccessToken, _ body: (_ send: () throws -> Outcome, _ count: () -> Int) throws -> Void
  ) throws {
    let count = Locked(0)
    let provider = InMemoryTokenProvider(token) { _ in
      count.withLock { $0 += 1 }
      return .error(RequestError(.httpStatus, "invalid_grant", status: 400))
    }
    var harness = harness
    harness.middlewares = [
      AuthMiddleware(provider, scheduler: harness.scheduler) { [scheduler = harness.scheduler] in
        Self.epoch + scheduler.now / .seconds(1)
      }
    ]
    try body({ try harness.start(MiddlewareHarness.request()) }, { count.withLock { $0 } })
  }

  @Test(arguments: [nil, epoch - 1])
  func `R5: a refresh that keeps failing is not repeated for each request, and all fail with its error`(expiry: Date?)
    throws
  {
    try refreshes(of: AccessToken("t1", expiresAt: expiry)) { send, count in
      for _ in 0..<1000 {
        let error = try #require(try send().error)
        #expect(error.status == 400)
        #expect(error.message.contains("invalid_grant"))
      }
      #expect(count() == 2)
      // Pauses of 2, 4, 8, 16, 32 and then always 60 seconds.
      for _ in 0..<182 {
        harness.scheduler.advance(by: .seconds(1))
        for _ in 0..<10 { #expect(try send().error?.status == 400) }
      }
      #expect(count() == 9)
    }
  }

  @Test func `R5: a sign-in ends the pause after failures, and so does a refresh that succeeds`() throws {
    for _ in 0..<3 {
      _ = try start()
      tokens.fail(RequestError(.connectionLost, "…"))
    }
    #expect(tokens.refreshCount == 2)
    harness.transport.always(Self.sent("t4"), .response(status: 401))
    tokens.tokens.setToken(AccessToken("t4"))
    let outcome = try start()
    #expect(tokens.refreshCount == 3)
    tokens.succeed(with: AccessToken("t2"))
    #expect(outcome.status == 200)
    tokens.tokens.setToken(AccessToken("t4"))
    _ = try start()
    #expect(tokens.refreshCount == 4)
  }

  @Test func `R5: a token that a refresh has just brought is sent although the wall clock is wrong`() throws {
    let ahead = Locked(600.0)
    var harness = harness
    harness.middlewares = [
      AuthMiddleware(tokens, scheduler: harness.scheduler) { [scheduler = harness.scheduler] in
        Self.epoch + scheduler.now / .seconds(1) + ahead.withLock { $0 }
      }
    ]
    tokens.tokens.setToken(AccessToken("t1", expiresAt: Self.epoch + 300))
    let first = harness.start(try MiddlewareHarness.request())
    tokens.succeed(with: AccessToken("t2", expiresAt: Self.epoch + 300))
    #expect(first.status == 200)
    for _ in 0..<100 { #expect(harness.start(try MiddlewareHarness.request()).status == 200) }
    #expect(tokens.refreshCount == 1)
    // The trust ends, at the latest after five minutes.
    harness.scheduler.advance(by: .seconds(300))
    let later = harness.start(try MiddlewareHarness.request())
    #expect(tokens.refreshCount == 2)
    tokens.succeed(with: AccessToken("t3", expiresAt: Self.epoch + 1800))
    #expect(later.status == 200)
    // A leap of the wall clock does not age what a refresh has brought.
    ahead.withLock { $0 = 1_000_000 }
    #expect(harness.start(try MiddlewareHarness.request()).status == 200)
    #expect(tokens.refreshCount == 2)
  }
}
