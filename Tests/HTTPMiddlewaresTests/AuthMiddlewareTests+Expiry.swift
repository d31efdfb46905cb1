import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import Streams
import StreamsTesting
import SystemBase
import Testing

// Tokens that say when they expire.
extension AuthMiddlewareTests {
  @Test func `a token that is about to expire is refreshed once, while requests still send it`() throws {
    tokens.tokens.setToken(AccessToken("t2", expiresAt: Self.epoch + 60))
    #expect(try start().status == 200)
    #expect(tokens.refreshCount == 0)
    harness.scheduler.advance(by: .seconds(30))
    #expect(try start().status == 200)
    #expect(tokens.refreshCount == 1)
    #expect(try start().status == 200)
    #expect(tokens.refreshCount == 1)
    tokens.succeed(with: AccessToken("t3"))
    #expect(try start().status == 200)
    #expect(sent == ["t2", "t2", "t2", "t3"])
  }

  @Test(arguments: [-86_400.0, -3600, 3600, 86_400])
  func `a wall clock that is set leaves the age of a token as it was`(jump: Double) throws {
    let wall = Locked(Self.epoch)
    var harness = harness
    harness.middlewares = [AuthMiddleware(tokens, scheduler: harness.scheduler) { wall.withLock { $0 } }]
    tokens.tokens.setToken(AccessToken("t2", expiresAt: Self.epoch + 1800))
    #expect(try harness.start(MiddlewareHarness.request()).status == 200)
    wall.withLock { $0 += jump }
    #expect(try harness.start(MiddlewareHarness.request()).status == 200)
    #expect(tokens.refreshCount == 0)
    harness.scheduler.advance(by: .seconds(1770))
    #expect(try harness.start(MiddlewareHarness.request()).status == 200)
    #expect(tokens.refreshCount == 1)
    harness.scheduler.advance(by: .seconds(30))
    let late = try harness.start(MiddlewareHarness.request())
    #expect(late.result == nil)
  }

  @Test func `an expired token is not sent`() throws {
    tokens.tokens.setToken(AccessToken("t1", expiresAt: Self.epoch))
    let outcomes = try (0..<10).map { _ in try start() }
    #expect(sent == [])
    #expect(tokens.refreshCount == 1)
    tokens.succeed(with: AccessToken("t2"))
    #expect(outcomes.allSatisfy { $0.status == 200 })
    #expect(sent == Array(repeating: "t2", count: 10))
  }

  @Test func `a request is not sent without a token where the first one has expired`() throws {
    let answer = PublishSubject<AccessToken>()
    let provider = InMemoryTokenProvider(AccessToken("", expiresAt: .distantPast)) { _ in answer.asObservable() }
    var harness = harness
    harness.middlewares = [AuthMiddleware(provider, scheduler: harness.scheduler)]
    let outcomes = try (0..<2).map { _ in try harness.start(MiddlewareHarness.request()) }
    #expect(sent == [])
    answer.onNext(AccessToken("t2", account: "a service"))
    #expect(outcomes.allSatisfy { $0.status == 200 })
    #expect(sent == ["t2", "t2"])
  }

  @Test func `a token that replaced an expired one and is rejected is refreshed before the request is resent`()
    throws
  {
    tokens.tokens.setToken(AccessToken("t1", expiresAt: Self.epoch))
    harness.transport.always(Self.sent("t2"), .response(status: 401))
    let outcome = try start(isReplayable: false)
    tokens.succeed(with: AccessToken("t2"))
    #expect(tokens.refreshCount == 2)
    #expect(sent == ["t2"])
    tokens.succeed(with: AccessToken("t3"))
    #expect(outcome.status == 200)
    #expect(sent == ["t2", "t3"])
  }

  @Test func `the old token is sent when a refresh ahead fails, and the next attempt waits a second`() throws {
    tokens.tokens.setToken(AccessToken("t2", expiresAt: Self.epoch + 20))
    _ = try start()
    tokens.fail(RequestError(.connectionLost, "…"))
    #expect(try start().status == 200)
    #expect(tokens.refreshCount == 1)
    harness.scheduler.advance(by: .seconds(1))
    #expect(try start().status == 200)
    #expect(tokens.refreshCount == 2)
  }

  @Test func `a refresh ahead that fails does not fail a request that did not wait for it`() throws {
    tokens.tokens.setToken(AccessToken("t1", expiresAt: Self.epoch + 20))
    harness.transport.expect(.any, .response(status: 401).after(.seconds(5)))
    let outcome = try start()
    tokens.fail(RequestError(.connectionLost, "…"))
    harness.scheduler.advance(by: .seconds(5))
    #expect(tokens.refreshCount == 2)
    tokens.succeed(with: AccessToken("t2"))
    #expect(outcome.status == 200)
    #expect(sent == ["t1", "t2"])
  }

  @Test func `a refresh ahead that a request waits for is a refresh like any other`() throws {
    tokens.tokens.setToken(AccessToken("t1", expiresAt: Self.epoch + 20))
    harness.transport.expect(.any, .response(status: 401).after(.seconds(5)))
    let late = try start()
    let first = try start()
    tokens.fail(RequestError(.connectionLost, "…"))
    harness.scheduler.advance(by: .seconds(5))
    #expect(first.error?.kind == .connectionLost)
    #expect(late.error?.kind == .connectionLost)
    #expect(tokens.refreshCount == 1)
  }

  @Test(arguments: [AuthMiddlewareTests.epoch, nil])
  func `T6: a request that waits for a token fails at its deadline where none comes`(expiry: Date?) throws {
    tokens.tokens.setToken(AccessToken("t1", expiresAt: expiry))
    let timeouts = HTTPTimeouts(total: .seconds(2))
    let outcome = try harness.start(MiddlewareHarness.request(timeouts: timeouts))
    let patient = try start()
    harness.scheduler.advance(by: .milliseconds(1999))
    #expect(outcome.result == nil)
    harness.scheduler.advance(by: .milliseconds(1))
    #expect(outcome.error?.kind == .timedOut)
    #expect(outcome.error?.operationName == "q")
    tokens.succeed(with: AccessToken("t2"))
    #expect(patient.status == 200)
    #expect(tokens.refreshCount == 1)
    #expect(harness.scheduler.pendingCount == 0)
  }

  @Test func `a token of a short life is not renewed again at once`() throws {
    let outcome = try start()
    tokens.succeed(with: AccessToken("t2", expiresAt: Self.epoch + 1))
    #expect(outcome.status == 200)
    harness.scheduler.advance(by: .milliseconds(700))
    #expect(try start().status == 200)
    #expect(tokens.refreshCount == 1)
    harness.scheduler.advance(by: .milliseconds(100))
    #expect(try start().status == 200)
    #expect(tokens.refreshCount == 2)
  }

  @Test func `a token that is replaced while a request takes it is not refreshed again`() throws {
    tokens.tokens.setToken(AccessToken("t2", expiresAt: Self.epoch + 20))
    _ = try start()
    // The first time, the request is given its account.
    tokens.onceRead(times: 2) { [tokens] in tokens.succeed(with: AccessToken("t3", expiresAt: Self.epoch + 100)) }
    #expect(try start().status == 200)
    #expect(tokens.refreshCount == 1)
    #expect(sent == ["t2", "t2"])
  }
}
