import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import Streams
import StreamsTesting
import Testing

// Accounts that change during requests and refreshes.
extension AuthMiddlewareTests {
  @Test func `a refresh ahead that fails for one account does not put off that of another`() throws {
    tokens.tokens.setToken(AccessToken("t2", expiresAt: Self.epoch + 20, account: "a"))
    _ = try start()
    tokens.fail(RequestError(.connectionLost, "…"))
    tokens.tokens.setToken(AccessToken("t3", expiresAt: Self.epoch + 20, account: "b"))
    #expect(try start().status == 200)
    #expect(tokens.refreshCount == 2)
  }

  @Test func `S1: tokens that look alike are not sent in the place of one another`() throws {
    let values = ["t\u{e9}", "te\u{301}"]
    for value in values {
      harness.transport.expect(.any, .response())
      tokens.tokens.setToken(AccessToken(value))
      #expect(try start().status == 200)
    }
    #expect(sent.map { Array($0.utf8) } == values.map { Array($0.utf8) })
  }

  @Test func `S1: a token that looks like the rejected one is not taken for it`() throws {
    let values = ["t\u{e9}", "te\u{301}"]
    tokens.tokens.setToken(AccessToken(values[0], account: "a"))
    harness.transport.expect(.any, .response(status: 401).after(.seconds(1)))
    let outcome = try start()
    tokens.tokens.setToken(AccessToken(values[1], account: "a"))
    harness.transport.expect(.any, .response())
    harness.scheduler.run()
    #expect(outcome.status == 200)
    #expect(sent.map { Array($0.utf8) } == values.map { Array($0.utf8) })
    #expect(tokens.refreshCount == 0)
  }

  @Test func `S1: a refresh leaves a token that looks like the one that it was for`() {
    let (first, second) = (AccessToken("t\u{e9}"), AccessToken("te\u{301}"))
    #expect(first != second)
    let answer = PublishSubject<AccessToken>()
    let provider = InMemoryTokenProvider(first) { _ in answer.asObservable() }
    _ = provider.refresh(replacing: first).subscribe()
    provider.setToken(second)
    answer.onNext(AccessToken("t2"))
    #expect(provider.currentToken == second)
  }

  @Test func `a request is not resent for another account`() throws {
    tokens.tokens.setToken(AccessToken("t1", account: "a"))
    harness.transport.expect(.any, .response(status: 401).after(.seconds(1)))
    let late = try start(isReplayable: false)
    tokens.tokens.setToken(AccessToken("t2", account: "b"))
    harness.scheduler.run()
    #expect(late.status == 401)
    #expect(sent == ["t1"])
    #expect(tokens.refreshCount == 0)
  }

  @Test func `no request is sent under the token that a refresh brings for another account`() throws {
    tokens.tokens.setToken(AccessToken("t1", expiresAt: Self.epoch, account: "a"))
    let first = try start()
    tokens.tokens.setToken(AccessToken("b1", expiresAt: Self.epoch, account: "b"))
    let second = try start()
    tokens.succeed(0, with: AccessToken("t2", account: "a"))
    #expect(first.error?.kind == .cancelled)
    #expect(first.error?.reached == .never)
    #expect(second.result == nil)
    #expect(sent == [])
    tokens.succeed(with: AccessToken("t3", account: "b"))
    #expect(second.status == 200)
    #expect(tokens.refreshCount == 2)
    #expect(sent == ["t3"])
  }

  @Test func `a user whose token names no account does not wait for another one's refresh, nor fail with it`() throws {
    harness.transport.always(Self.sent("b1"), .response(status: 401))
    let first = try start()
    tokens.tokens.setToken(AccessToken("b1"))
    let second = try start()
    #expect(tokens.refreshCount == 2)
    tokens.fail(0, RequestError(.connectionLost, "…"))
    #expect(first.error?.kind == .connectionLost)
    #expect(second.result == nil)
    #expect(try start().result == nil)
    tokens.succeed(with: AccessToken("t3"))
    #expect(second.status == 200)
    #expect(tokens.refreshCount == 2)
  }

  @Test func `tokens that refreshes have brought in the place of one another share a refresh, also without an account`()
    throws
  {
    harness.transport.always(Self.sent("t2"), .response(status: 401))
    let first = try start(isReplayable: false)
    tokens.succeed(with: AccessToken("t2"))
    #expect(first.status == 401)
    let (second, third) = (try start(), try start())
    #expect(tokens.refreshCount == 2)
    tokens.succeed(with: AccessToken("t3"))
    #expect(second.status == 200)
    #expect(third.status == 200)
    #expect(try start().status == 200)
    #expect(tokens.refreshCount == 2)
  }

  @Test func `a token that was sent before the refresh that brings it has ended shares the next refresh`() throws {
    // Names of its own: what has replaced what is known to the whole process.
    tokens.tokens.setToken(AccessToken("early 1"))
    harness.transport.always(.any, .response(status: 401))
    harness.transport.always(Self.sent("early 3"), .response())
    let first = try start(isReplayable: false)
    #expect(tokens.refreshCount == 1)
    harness.transport.expect(.any, .response(status: 401).after(.seconds(1)))
    tokens.tokens.setToken(AccessToken("early 2"))
    let early = try start()
    tokens.succeed(0, with: AccessToken("early 2"))
    #expect(first.status == 401)
    let second = try start()
    #expect(tokens.refreshCount == 2)
    harness.scheduler.advance(by: .seconds(1))
    #expect(tokens.refreshCount == 2)
    tokens.succeed(with: AccessToken("early 3"))
    #expect(early.status == 200)
    #expect(second.status == 200)
  }

  @Test(arguments: ["a", nil])
  func `a request is not resent after a sign-out under the former user's token`(account: String?) throws {
    tokens.tokens.setToken(AccessToken("t1", account: account))
    harness.transport.expect(.any, .response(status: 401).after(.seconds(1)))
    let late = try start(isReplayable: false)
    let first = try start()
    tokens.tokens.setToken(nil)
    harness.scheduler.advance(by: .seconds(1))
    #expect(tokens.refreshCount == 1)
    #expect(late.result == nil)
    tokens.succeed(0, with: AccessToken("t2", account: account))
    #expect(first.status == 401)
    #expect(late.status == 401)
    #expect(sent == ["t1", "t1"])
  }

  @Test func `a request that waited for a token when the user signed out is not sent`() throws {
    harness.transport.always(.any, .response())
    tokens.tokens.setToken(AccessToken("t1", expiresAt: Self.epoch, account: "a"))
    let outcome = try start()
    tokens.tokens.setToken(nil)
    tokens.succeed(0, with: AccessToken("t2", account: "a"))
    #expect(outcome.error?.kind == .cancelled)
    #expect(outcome.error?.reached == .never)
    #expect(sent == [])
  }

  @Test func `a request without an account is not resent for the user who signed in while it waited`() throws {
    tokens.tokens.setToken(nil)
    harness.transport.expect(.any, .response(status: 401))
    let outcome = try start()
    tokens.tokens.setToken(AccessToken("t3", account: "a"))
    tokens.succeed(0, with: AccessToken("t2"))
    #expect(outcome.status == 401)
    #expect(sent == ["-"])
  }

  @Test func `a request without an account continues with the token that a refresh brings for it`() throws {
    tokens.tokens.setToken(nil)
    harness.transport.expect(.any, .response(status: 401))
    harness.transport.expect(.any, .response().after(.seconds(1)))
    let (outcome, late) = (try start(), try start())
    tokens.succeed(with: AccessToken("t3", account: "a"))
    harness.scheduler.run()
    #expect(outcome.status == 200)
    #expect(late.status == 200)
    #expect(sent == ["-", "-", "t3"])
  }

  @Test(arguments: ["a", nil])
  func `a request after a sign-out does not wait for the former user's refresh`(account: String?) throws {
    harness.transport.always(.any, .response(status: 401))
    tokens.tokens.setToken(AccessToken("t1", account: account))
    let first = try start()
    tokens.tokens.setToken(nil)
    let second = try start()
    tokens.succeed(0, with: AccessToken("t2", account: account))
    #expect(first.status == 401)
    #expect(second.result == nil)
    #expect(tokens.refreshCount == 2)
  }

  @Test func `a response that is too long to be withheld becomes an error when it is due, and is not cut`() throws {
    tokens.tokens.setToken(AccessToken("t1", account: "a"))
    let long = ScriptedResponse.response(status: 401, body: Data(count: 200_000)).inPieces(of: 10_000)
    harness.transport.expect(.any, long.after(.seconds(1)))
    let late = try start(isReplayable: false)
    tokens.tokens.setToken(AccessToken("t2", account: "b"))
    harness.scheduler.run()
    #expect(late.error?.kind == .httpStatus)
    #expect(late.error?.status == 401)
    #expect(sent == ["t1"])
  }

  @Test(arguments: ["a", nil])
  func `a late challenge starts no refresh after a sign-out`(account: String?) throws {
    tokens.tokens.setToken(AccessToken("t1", account: account))
    harness.transport.expect(.any, .response(status: 401).after(.seconds(1)))
    let late = try start(isReplayable: false)
    tokens.tokens.setToken(nil)
    harness.scheduler.run()
    #expect(late.status == 401)
    #expect(tokens.refreshCount == 0)
    #expect(sent == ["t1"])
  }

  @Test(arguments: [AccessToken("t1", account: "a"), nil])
  func `a token that a refresh brought before a sign-out is not sent after it`(token: AccessToken?) throws {
    tokens.tokens.setToken(token)
    harness.transport.expect(.any, .response(status: 401).after(.seconds(1)))
    harness.transport.expect(.any, .response(status: 401))
    let late = try start(isReplayable: false)
    let first = try start()
    tokens.succeed(with: AccessToken("t2", account: "a"))
    tokens.tokens.setToken(nil)
    harness.scheduler.run()
    #expect(first.status == 200)
    #expect(late.status == 401)
    #expect(tokens.refreshCount == 1)
    #expect(sent.count { $0 == "t2" } == 1)
  }

  @Test func `accounts in turn do not have tokens of a short life refreshed at each change`() throws {
    harness.transport.always(.any, .response())
    for account in ["a", "b"] {
      tokens.tokens.setToken(AccessToken("old", expiresAt: Self.epoch, account: account))
      _ = try start()
      tokens.succeed(with: AccessToken(account, expiresAt: Self.epoch + 20, account: account))
    }
    for account in ["a", "b", "a"] {
      tokens.tokens.setToken(AccessToken(account, expiresAt: Self.epoch + 20, account: account))
      #expect(try start().status == 200)
    }
    #expect(tokens.refreshCount == 2)
  }
}
