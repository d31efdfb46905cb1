import Foundation
import GraphQLClient
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import Streams
import StreamsTesting
import StrictJSON
import SystemBase
import TestSupport
import Testing

/// What servers refuse for now, and what they do not answer.
@Suite struct LiveRefusalTests {
  private func refusal(_ id: String, _ code: String = "SUBSCRIPTION_MAX_LIMIT") -> String {
    #"{"id":"\#(id)","type":"error","payload":[{"message":"No.","extensions":{"code":"\#(code)"}}]}"#
  }

  /// Sends a mutation on the socket.
  private func mutate(on harness: SocketHarness) throws -> Seen<LiveEvent<Data>> {
    let request = try HTTPRequest(
      method: .post, url: harness.client.baseURL, body: Data(#"{"query":"…"}"#.utf8), isReplayable: false)
    return Seen(harness.client.graphQL.live.open(LiveOperation(request), on: harness.client))
  }

  private func pauses(_ seen: Seen<LiveEvent<Int>>) -> [Duration] {
    seen.elements.compactMap { if case .disconnected(_, let pause) = $0 { pause } else { nil } }
  }

  @Test(arguments: ["SUBSCRIPTION_MAX_LIMIT", "SUBSCRIPTION_SCHEMA_RELOAD", "WEBSOCKET_CLOSE_ERROR"])
  func
    `L6: an operation that is refused for now is sent again after pauses of its own, and costs no other its connection`(
      code: String
    ) throws
  {
    let harness = try SocketHarness()
    let (first, attempt) = try harness.connected()
    let second = harness.subscribe()
    for count in 1...3 {
      attempt.pong()
      harness.settle()
      #expect(attempt.ids.count == count + 1)
      attempt.send(refusal(attempt.ids[count], code))
      harness.advance(Double(1 << (count - 1)) - 0.1)
      #expect(attempt.ids.count == count + 1)
      harness.advance(0.1)
    }
    #expect(pauses(second) == [.seconds(1), .seconds(2), .seconds(4)])
    attempt.next(attempt.ids[0], 7)
    attempt.pong()
    attempt.next(attempt.ids[4], 8)
    harness.settle()
    #expect(first.elements == [.connected, .value(7)])
    #expect(second.elements.suffix(2) == [.reconnected, .value(8)])
    #expect(harness.sockets.attempts.count == 1)
    #expect(!attempt.isDisposed)
    // A value shows that it is accepted.
    attempt.send(refusal(attempt.ids[4], code))
    harness.settle()
    #expect(pauses(second).last == .seconds(1))
  }

  /// Sends a result without data that refuses an operation.
  private func refuseByResult(_ attempt: ScriptedSockets.Attempt, _ id: String, _ code: String) {
    attempt.send(
      #"{"id":"\#(id)","type":"next","payload":{"data":null,"errors":[{"message":"No.","extensions":{"code":"\#(code)"}}]}}"#
    )
  }

  private func completed(_ attempt: ScriptedSockets.Attempt) -> [String] {
    attempt.messages.filter { $0["type"] == "complete" }.compactMap { $0["id"]?.stringValue }
  }

  @Test(arguments: ["SUBSCRIPTION_MAX_LIMIT", "SUBSCRIPTION_SCHEMA_RELOAD"])
  func `an operation that a result refuses for now is completed at the server before it is sent again`(
    code: String
  ) throws {
    let harness = try SocketHarness()
    let (seen, attempt) = try harness.connected()
    refuseByResult(attempt, attempt.ids[0], code)
    harness.settle()
    #expect(completed(attempt) == [attempt.ids[0]])
    harness.advance(1)
    #expect(attempt.messages.map { $0["type"] } == ["subscribe", "complete", "subscribe"])
    attempt.next(attempt.ids[1], 7)
    harness.settle()
    #expect(seen.elements.last == .value(7))
    // The message error ends it by itself.
    attempt.send(refusal(attempt.ids[1], code))
    harness.settle()
    #expect(completed(attempt) == [attempt.ids[0]])
  }

  @Test func `an operation that a result ends for good is completed at the server`() throws {
    let harness = try SocketHarness(attempts: 1)
    let (seen, attempt) = try harness.connected()
    let other = harness.subscribe()
    refuseByResult(attempt, attempt.ids[0], "SUBSCRIPTION_MAX_LIMIT")
    harness.settle()
    #expect(seen.state.value.error?.kind == .graphQL)
    #expect(other.state.value.error == nil)
    #expect(completed(attempt) == [attempt.ids[0]])
  }

  @Test func `L6: an operation that is refused for now so many times in a row fails alone, and a mutation at once`()
    throws
  {
    let harness = try SocketHarness(attempts: 2)
    let (first, attempt) = try harness.connected()
    let second = harness.subscribe()
    attempt.send(refusal(attempt.ids[1]))
    harness.advance(1)
    attempt.send(refusal(attempt.ids[2]))
    harness.settle()
    #expect(second.state.value.error?.kind == .graphQL)
    #expect(first.state.value.error == nil)
    let mutation = try mutate(on: harness)
    harness.settle()
    attempt.send(refusal(attempt.ids[3]))
    harness.settle()
    #expect(mutation.state.value.error?.kind == .graphQL)
    #expect(harness.sockets.attempts.count == 1)
  }

  @Test
  func `a refused operation is sent with the others on a new connection, and is not sent once it has been disposed`()
    throws
  {
    let harness = try SocketHarness()
    let (first, attempt) = try harness.connected()
    let (second, third) = (harness.subscribe(), harness.subscribe())
    attempt.send(refusal(attempt.ids[1]))
    attempt.send(refusal(attempt.ids[2]))
    third.dispose()
    harness.settle()
    attempt.close(1012)
    harness.advance(1)
    let next = try harness.last
    next.acknowledge()
    #expect(next.ids.count == 2)
    next.pong()
    harness.advance(5)
    #expect(next.ids.count == 2)
    #expect(second.elements.last == .connected)
    #expect(first.elements.last == .reconnected)
  }

  @Test func `the errors of a shared socket have each operation's own name`() throws {
    let harness = try SocketHarness(attempts: 2)
    let first = harness.subscribe()
    let other = Seen(Liked(userID: "1").subscribe(on: harness.client))
    harness.settle()
    try harness.last.fail(RequestError(.cannotConnect, "Refused."))
    harness.advance(1)
    #expect(try harness.last.request.operationName == nil)
    try harness.last.fail(RequestError(.cannotConnect, "Refused."))
    harness.settle()
    #expect(first.state.value.error?.operationName == "countdown")
    #expect(other.state.value.error?.operationName == "liked")
    guard case .disconnected(let error, _) = other.elements.first else {
      Issue.record("\(other.elements)")
      return
    }
    #expect(error.operationName == "liked")
  }

  @Test(arguments: [401, 403])
  func `L6: a refusal by 401 or 403 with Retry-After is waited for, and is not final`(status: Int) throws {
    let refreshes = Locked(0)
    let provider = InMemoryTokenProvider(AccessToken("old")) { _ in
      refreshes.withLock { $0 += 1 }
      return .just(AccessToken("new"))
    }
    let harness = try SocketHarness(tokens: provider)
    let seen = harness.subscribe()
    for count in 1...3 {
      try harness.last.refuse(status: status, retryAfter: .seconds(5))
      harness.advance(4.9)
      #expect(harness.sockets.attempts.count == count)
      #expect(seen.state.value.error == nil)
      harness.advance(8.1)
      #expect(harness.sockets.attempts.count == count + 1)
    }
    #expect(refreshes.withLock { $0 } == (status == 401 ? 1 : 0))
  }

  @Test(arguments: [(7200, 7200), (86_400, 86_400), (100_000, 86_400)])
  func `L6: a Retry-After of hours is obeyed, up to a day`(asked: Int, pause: Int) throws {
    let harness = try SocketHarness()
    let seen = harness.subscribe()
    try harness.last.refuse(status: 429, retryAfter: .seconds(asked))
    harness.settle()
    #expect(pauses(seen) == [.seconds(pause + 1)])
  }

  @Test(arguments: [429, 503])
  func `L6: a response with GraphQL errors and a status that passes is tried again`(status: Int) throws {
    let harness = try StreamLiveTests.Harness(.eventStream)
    let body = Data(#"{"errors":[{"message":"Slower."}]}"#.utf8)
    harness.transport.expect(
      .any,
      .response(
        status: status, headers: ["Content-Type": "application/graphql-response+json", "Retry-After": "2"], body: body))
    harness.transport.always(.any, StreamLiveTests.Format.eventStream.response([1]))
    let seen = harness.run()
    #expect(harness.transport.requests.count == 2)
    #expect(seen.state.value.isCompleted)
  }

  @Test
  func `a server that answers no ping, but sends other things, has its subscriptions announced once a ping is overdue`()
    throws
  {
    let harness = try SocketHarness()
    let seen = harness.subscribe()
    let attempt = try harness.last
    attempt.acknowledge()
    for _ in 0..<3 {
      harness.advance(3)
      attempt.send(#"{"type":"ping"}"#)
    }
    #expect(seen.elements == [])
    harness.advance(1)
    #expect(seen.elements == [.connected])
    #expect(!attempt.isDisposed)
    // Those that come later, too.
    let second = harness.subscribe()
    harness.advance(5)
    attempt.send(#"{"type":"ping"}"#)
    harness.advance(5)
    #expect(second.elements == [.connected])
  }

  @Test func `in the older protocol, the answer to a later ping answers those before it, and a stray pong none`() throws
  {
    let harness = try SocketHarness(legacy: true)
    let seen = harness.subscribe()
    let attempt = try harness.last
    attempt.acknowledge()
    attempt.strayPong()
    harness.settle()
    #expect(seen.elements == [])
    #expect(attempt.state.value.pings == 1)
    // A second ping is sent while the first is on its way: the connection was silent.
    harness.advance(9)
    attempt.send(#"{"type":"ka"}"#)
    let large = Data(#"{"query":"\#(String(repeating: "x", count: 3 << 20))"}"#.utf8)
    let request = try HTTPRequest(method: .post, url: harness.client.baseURL, body: large, isReplayable: true)
    let all = (0..<6).map { _ in Seen(harness.client.graphQL.live.open(LiveOperation(request), on: harness.client)) }
    harness.settle()
    for _ in 0..<6 {
      attempt.pong()
      harness.settle()
    }
    #expect(attempt.ids.count == 7)
    #expect(all.allSatisfy { $0.elements.count == 1 })
    #expect(seen.elements == [.connected])
  }

  @Test func `L7: a mutation that the socket did not take goes out on the next connection`() throws {
    let harness = try SocketHarness()
    let (other, first) = try harness.connected()
    first.sendError.withLock { $0 = RequestError(.overloaded, "Full.") }
    let seen = try mutate(on: harness)
    harness.advance(1)
    try harness.last.acknowledge()
    #expect(harness.sockets.attempts.count == 2)
    #expect(seen.state.value.error == nil)
    #expect(other.state.value.error == nil)
    #expect(try harness.last.ids.count == 2)
  }

  @Test func `L7: a mutation on a socket that fails for good may have been carried out, whatever the error says`()
    throws
  {
    let harness = try SocketHarness(attempts: 1)
    let (query, attempt) = try harness.connected()
    let mutation = try mutate(on: harness)
    harness.settle()
    #expect(attempt.ids.count == 2)
    attempt.sendError.withLock { $0 = RequestError(.overloaded, "Full.") }
    attempt.send(#"{"type":"ping"}"#)
    harness.settle()
    let error = try #require(mutation.state.value.error)
    #expect(error.kind == .overloaded)
    #expect(error.reached == .maybe)
    #expect(query.state.value.error?.kind == .overloaded)
  }

  @Test func `L7: a mutation that has had a result was carried out, whatever error follows`() throws {
    let harness = try SocketHarness(attempts: 1)
    let attempt = try harness.connected().1
    let mutation = try mutate(on: harness)
    harness.settle()
    attempt.next(attempt.ids[1], 7)
    attempt.send(refusal(attempt.ids[1], "UNAUTHENTICATED"))
    harness.settle()
    let error = try #require(mutation.state.value.error)
    #expect(error.isUnauthenticated)
    #expect(error.reached == .maybe)
  }

  @Test func `a caller's thread carries out nothing: what it adds waits for the worker`() throws {
    let harness = try SocketHarness()
    let (seen, attempt) = try harness.connected()
    let count = attempt.all.count
    seen.dispose()
    #expect(attempt.all.count == count)
    harness.settle()
    #expect(attempt.messages.last?["type"] == "complete")
  }
}
