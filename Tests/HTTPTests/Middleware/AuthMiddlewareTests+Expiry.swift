import Foundation
import HTTP
import NetworkingTesting
import Streams
import StreamsTesting
import Testing

// Tokens that say when they expire.
extension AuthMiddlewareTests {
  @Test func `a token that is about to expire is renewed beside, once`() throws {
    tokens.tokens.setToken(AccessToken("t2", expiresAt: Self.epoch + 60))
    #expect(try start().status == 200 && tokens.refreshCount == 0)
    harness.scheduler.advance(by: .seconds(30))
    #expect(try start().status == 200 && tokens.refreshCount == 1)
    #expect(try start().status == 200 && tokens.refreshCount == 1)
    tokens.succeed(with: AccessToken("t3"))
    #expect(try start().status == 200)
    #expect(sent == ["t2", "t2", "t2", "t3"])
  }

  @Test func `an expired token is not sent`() throws {
    tokens.tokens.setToken(AccessToken("t1", expiresAt: Self.epoch))
    let outcomes = try (0..<10).map { _ in try start() }
    #expect(sent == [] && tokens.refreshCount == 1)
    tokens.succeed(with: AccessToken("t2"))
    #expect(outcomes.allSatisfy { $0.status == 200 })
    #expect(sent == Array(repeating: "t2", count: 10))
  }

  @Test func `a token that came for an expired one and is turned down is refreshed before the request goes again`()
    throws
  {
    tokens.tokens.setToken(AccessToken("t1", expiresAt: Self.epoch))
    harness.transport.always(Self.sent("t2"), .response(status: 401))
    let outcome = try start(isReplayable: false)
    tokens.succeed(with: AccessToken("t2"))
    #expect(tokens.refreshCount == 2 && sent == ["t2"])
    tokens.succeed(with: AccessToken("t3"))
    #expect(outcome.status == 200)
    #expect(sent == ["t2", "t3"])
  }

  @Test func `when a refresh ahead fails, the old token is sent, and the next try waits a second`() throws {
    tokens.tokens.setToken(AccessToken("t2", expiresAt: Self.epoch + 20))
    _ = try start()
    tokens.fail(RequestError(.connectionLost, "…"))
    #expect(try start().status == 200 && tokens.refreshCount == 1)
    harness.scheduler.advance(by: .seconds(1))
    #expect(try start().status == 200 && tokens.refreshCount == 2)
  }

  @Test func `a token of a short life is not renewed again at once`() throws {
    let outcome = try start()
    tokens.succeed(with: AccessToken("t2", expiresAt: Self.epoch + 1))
    #expect(outcome.status == 200)
    harness.scheduler.advance(by: .milliseconds(700))
    #expect(try start().status == 200 && tokens.refreshCount == 1)
    harness.scheduler.advance(by: .milliseconds(100))
    #expect(try start().status == 200 && tokens.refreshCount == 2)
  }

  @Test func `a token that is replaced while a request takes it is not refreshed again`() throws {
    tokens.tokens.setToken(AccessToken("t2", expiresAt: Self.epoch + 20))
    _ = try start()
    tokens.onceRead { [tokens] in tokens.succeed(with: AccessToken("t3", expiresAt: Self.epoch + 100)) }
    #expect(try start().status == 200 && tokens.refreshCount == 1)
    #expect(sent == ["t2", "t2"])
  }
}
