import Foundation
import GraphQLClient
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import StreamsTesting
import StrictJSON
import SystemBase
import TestSupport
import Testing

/// When a connection is given up, and when it is made again.
@Suite struct SupervisionTests {
  enum Remedy {
    case retry, refresh, fatal
  }

  /// Close codes of `graphql-transport-ws` and of RFC 6455, and what is to be done about them.
  static let codes: [(code: UInt16, remedy: Remedy)] =
    [4500, 4005, 4400, 4004, 4406, 4409, 4429].map { ($0, .fatal) } + [4401, 4403].map { ($0, .refresh) }
    + [4408, 4499, 4504, 3000, 4000, 4999].map { ($0, .retry) }
    + [1000, 1001, 1005, 1006, 1012, 1013, 1014].map { ($0, .retry) }
    + [1002, 1003, 1007, 1008, 1009, 1010, 1011].map { ($0, .fatal) }

  private static func provider() -> InMemoryTokenProvider {
    InMemoryTokenProvider(AccessToken("old")) { old in .just(AccessToken((old?.value ?? "") + "+new")) }
  }

  @Test(arguments: codes)
  func `L6: each close code is tried again, tried again with a new token, or final`(code: UInt16, remedy: Remedy) throws
  {
    let harness = try SocketHarness(tokens: Self.provider())
    let (seen, first) = try harness.connected()
    #expect(first.all.first?["payload"] == ["Authorization": "Bearer old"])
    #expect(first.request.headers["Authorization"] == "Bearer old")
    first.close(code, "because")
    harness.advance(1)
    let expected = remedy == .fatal ? 1 : 2
    #expect(harness.sockets.attempts.count == expected)
    #expect(first.isDisposed)
    switch remedy {
    case .fatal:
      let error = seen.state.value.error
      #expect(error?.kind == .closed)
      #expect((error?.cause as? LiveClosure)?.code == code)
      #expect(error?.message.contains("because") == true)
      #expect(error?.operationName == "countdown")
    case .retry, .refresh:
      let second = try harness.last
      second.acknowledge()
      second.pong()
      harness.settle()
      #expect(seen.elements.last == .reconnected)
      #expect(seen.elements.count == 3)
      let token = remedy == .refresh ? "Bearer old+new" : "Bearer old"
      #expect(second.all.first?["payload"] == ["Authorization": .string(token)])
      #expect(second.request.headers["Authorization"] == token)
    }
  }

  @Test(arguments: [4401, 4403] as [UInt16])
  func `L6: a token that is rejected twice ends the subscriptions`(code: UInt16) throws {
    let harness = try SocketHarness(tokens: Self.provider())
    let (seen, first) = try harness.connected()
    first.close(code)
    harness.settle()
    try harness.last.open()
    try harness.last.close(code)
    harness.advance(600)
    #expect(harness.sockets.attempts.count == 2)
    #expect((seen.state.value.error?.cause as? LiveClosure)?.code == code)
  }

  @Test(arguments: [true, false])
  func `a token may be refreshed again once a connection has lasted, or brought a value`(hasValue: Bool) throws {
    let harness = try SocketHarness(tokens: Self.provider())
    let (seen, first) = try harness.connected()
    first.close(4401)
    harness.settle()
    let second = try harness.last
    second.acknowledge()
    second.pong()
    if hasValue { second.next(second.ids[0], 1) } else { harness.advance(10) }
    second.close(4401)
    harness.advance(2)
    #expect(harness.sockets.attempts.count == 3)
    try harness.last.acknowledge()
    #expect(try harness.last.all.first?["payload"] == ["Authorization": "Bearer old+new+new"])
    #expect(seen.state.value.error == nil)
  }

  @Test
  func
    `a new token that no server has seen, as the next attempt was lost, and that expires meanwhile is refreshed, too`()
    throws
  {
    let harness = try SocketHarness(tokens: Self.provider())
    let (seen, first) = try harness.connected()
    first.close(4403)
    harness.settle()
    try harness.last.open()
    try harness.last.close(1006)
    harness.advance(8)
    #expect(harness.sockets.attempts.count == 3)
    try harness.last.open()
    try harness.last.close(4403)
    harness.advance(8)
    #expect(harness.sockets.attempts.count == 4)
    #expect(seen.state.value.error == nil)
    try harness.last.open()
    try harness.last.close(4403)
    harness.advance(600)
    #expect(harness.sockets.attempts.count == 4)
    #expect((seen.state.value.error?.cause as? LiveClosure)?.code == 4403)
  }

  @Test(arguments: ["UNAUTHENTICATED", "SUBSCRIPTION_JWT_EXPIRED"])
  func `L6: an operation that is refused for its token gets a connection with a new one, once`(code: String) throws {
    let harness = try SocketHarness(tokens: Self.provider())
    let (seen, first) = try harness.connected()
    let refusal = #"[{"message":"expired","extensions":{"code":"\#(code)"}}]"#
    first.send(#"{"id":"\#(first.ids[0])","type":"error","payload":\#(refusal)}"#)
    harness.settle()
    #expect(harness.sockets.attempts.count == 2)
    #expect(first.isDisposed)
    let second = try harness.last
    #expect(second.request.headers["Authorization"] == "Bearer old+new")
    second.acknowledge()
    second.send(#"{"id":"\#(second.ids[0])","type":"next","payload":{"data":null,"errors":\#(refusal)}}"#)
    harness.settle()
    #expect(second.messages.last?["type"] == "complete")
    harness.advance(600)
    #expect(seen.state.value.error?.graphQLErrors.first?.code == code)
    #expect(harness.sockets.attempts.count == 2)
  }

  @Test func `L6: an operation that is refused with a new token, too, ends alone, also if its siblings do well`() throws
  {
    let harness = try SocketHarness(tokens: Self.provider())
    let (seen, first) = try harness.connected()
    let sibling = harness.subscribe()
    let refusal = #"[{"message":"not yours","extensions":{"code":"UNAUTHENTICATED"}}]"#
    first.next(first.ids[1], 3)
    first.send(#"{"id":"\#(first.ids[0])","type":"error","payload":\#(refusal)}"#)
    harness.settle()
    let second = try harness.last
    second.acknowledge()
    second.next(second.ids[1], 2)
    second.send(#"{"id":"\#(second.ids[0])","type":"error","payload":\#(refusal)}"#)
    second.next(second.ids[1], 1)
    harness.advance(5)
    #expect(harness.sockets.attempts.count == 2)
    #expect(!second.isDisposed)
    #expect(seen.state.value.error?.isUnauthenticated == true)
    #expect(sibling.elements.compactMap(\.value) == [3, 2, 1])
    #expect(sibling.state.value.error == nil)
  }

  @Test
  func `an operation that is refused with a new token, which an attempt that was lost took nowhere, gets another`()
    throws
  {
    let harness = try SocketHarness(tokens: Self.provider())
    let (seen, first) = try harness.connected()
    let refusal = #"[{"message":"expired","extensions":{"code":"UNAUTHENTICATED"}}]"#
    first.send(#"{"id":"\#(first.ids[0])","type":"error","payload":\#(refusal)}"#)
    harness.settle()
    try harness.last.open()
    try harness.last.close(1006)
    harness.advance(8)
    let third = try harness.last
    third.acknowledge()
    third.send(#"{"id":"\#(third.ids[0])","type":"error","payload":\#(refusal)}"#)
    harness.advance(8)
    #expect(harness.sockets.attempts.count == 4)
    #expect(seen.state.value.error == nil)
  }

  @Test func `L6: an operation may be refused for its token once in each connection that has lasted`() throws {
    let harness = try SocketHarness(tokens: Self.provider())
    let (seen, _) = try harness.connected()
    let refusal = #"[{"message":"expired","extensions":{"code":"UNAUTHENTICATED"}}]"#
    for count in 1...4 {
      let attempt = try harness.last
      harness.advance(20)
      attempt.send(#"{"id":"\#(attempt.ids[0])","type":"error","payload":\#(refusal)}"#)
      harness.settle()
      #expect(harness.sockets.attempts.count == count + 1)
      try harness.last.acknowledge()
      try harness.last.pong()
    }
    harness.settle()
    #expect(seen.state.value.error == nil)
    #expect(seen.elements.last == .reconnected)
  }

  @Test func `R5: a token that requests have replaced while the socket was dialled is taken, not refreshed again`()
    throws
  {
    let refreshes = Locked(0)
    let provider = InMemoryTokenProvider(AccessToken("old", account: "1")) { _ in
      refreshes.withLock { $0 += 1 }
      return .just(AccessToken("new", account: "1"))
    }
    let harness = try SocketHarness(tokens: provider)
    let seen = harness.subscribe()
    let first = try harness.last
    #expect(first.request.headers["Authorization"] == "Bearer old")
    provider.setToken(AccessToken("theirs", account: "1"))
    first.open()
    first.close(4403)
    harness.settle()
    #expect(try harness.last.request.headers["Authorization"] == "Bearer theirs")
    #expect(refreshes.withLock { $0 } == 0)
    #expect(seen.state.value.error == nil)
  }

  @Test(arguments: [
    (408, Remedy.retry), (425, .retry), (429, .retry), (500, .retry), (502, .retry), (503, .retry), (504, .retry),
    (401, .refresh), (403, .refresh), (400, .fatal), (404, .fatal), (406, .fatal), (410, .fatal), (501, .fatal),
    (204, .fatal), (200, .fatal),
  ])
  func `the statuses by which an upgrade is refused are tried again, with a new token, or final`(
    status: Int, remedy: Remedy
  ) throws {
    let harness = try SocketHarness(tokens: Self.provider())
    let seen = harness.subscribe()
    try harness.last.refuse(status: status)
    harness.advance(1)
    #expect(harness.sockets.attempts.count == (remedy == .fatal ? 1 : 2))
    #expect((seen.state.value.error == nil) == (remedy != .fatal))
    let token = try harness.last.request.headers["Authorization"]
    #expect(token == (remedy == .refresh ? "Bearer old+new" : "Bearer old"))
  }

  @Test func `L6: retry-After is obeyed, with jitter on top`() throws {
    let harness = try SocketHarness()
    let seen = harness.subscribe()
    try harness.last.refuse(status: 503, retryAfter: .seconds(90))
    harness.settle()
    guard case .disconnected(_, let pause) = seen.elements.last else {
      Issue.record("\(seen.elements)")
      return
    }
    #expect(pause == .seconds(91))
    harness.advance(90.9)
    #expect(harness.sockets.attempts.count == 1)
    harness.advance(0.1)
    #expect(harness.sockets.attempts.count == 2)
  }

  @Test(arguments: [0, 0.5])
  func `L6: pauses double up to a minute, and any part of them may be chosen`(random: Double) throws {
    let harness = try SocketHarness(attempts: nil, random: { random })
    let seen = harness.subscribe()
    for _ in 0..<9 {
      try harness.last.fail(RequestError(.cannotConnect, "Refused."))
      harness.advanceToNextAttempt()
    }
    let pauses = seen.elements.compactMap { event -> Duration? in
      if case .disconnected(_, let pause) = event { pause } else { nil }
    }
    let whole: [Double] = [1, 2, 4, 8, 16, 32, 60, 60, 60]
    #expect(pauses == whole.map { .seconds($0 * (1 - random)) })
  }

  @Test func `L6: the pauses start over only after a connection has lasted`() throws {
    let harness = try SocketHarness(attempts: nil)
    let seen = harness.subscribe()
    func cut(after seconds: Double) throws -> Duration? {
      let attempt = try harness.last
      attempt.acknowledge()
      attempt.pong()
      harness.advance(seconds)
      attempt.close(1012)
      harness.settle()
      guard case .disconnected(_, let pause) = seen.elements.last else { return nil }
      harness.scheduler.advance(by: pause)
      return pause
    }
    #expect(try (0..<4).map { _ in try cut(after: 9) } == [1, 2, 4, 8].map { .seconds($0) })
    #expect(try cut(after: 10) == .seconds(1))
    #expect(try cut(after: 9) == .seconds(2))
  }

  @Test func `subscriptions fail with the last error once so many attempts in a row have failed`() throws {
    let harness = try SocketHarness(attempts: 3)
    let seen = harness.subscribe()
    for number in 0..<3 {
      try harness.last.fail(RequestError(.cannotConnect, "Refused \(number)."))
      harness.advanceToNextAttempt()
    }
    #expect(harness.sockets.attempts.count == 3)
    #expect(seen.state.value.error?.message == "Refused 2.")
    #expect(seen.elements.count == 2)
  }

  @Test func `L6: a subscriber that subscribes again and again waits as long as one that stays`() throws {
    let harness = try SocketHarness()
    for _ in 0..<3 {
      let seen = harness.subscribe()
      if harness.sockets.attempts.count == 1 { try harness.last.fail(RequestError(.cannotConnect, "Refused.")) }
      seen.dispose()
    }
    let seen = harness.subscribe()
    #expect(harness.sockets.attempts.count == 1)
    harness.advance(1)
    #expect(harness.sockets.attempts.count == 2)
    seen.dispose()
  }

  @Test func `a server that does not acknowledge in 10 seconds is left with 4504, and tried again`() throws {
    let harness = try SocketHarness()
    let seen = harness.subscribe()
    let first = try harness.last
    first.open()
    harness.advance(9.9)
    #expect(first.closeCode == nil)
    harness.advance(0.1)
    #expect(first.closeCode == 4504)
    #expect(first.isDisposed)
    harness.advance(1)
    #expect(harness.sockets.attempts.count == 2)
    #expect(seen.state.value.error == nil)
  }

  @Test func `a connection that is not made in time is given up, and tried again`() throws {
    let harness = try SocketHarness()
    let seen = harness.subscribe()
    harness.advance(20)
    #expect(try harness.last.isDisposed)
    harness.advance(1)
    #expect(harness.sockets.attempts.count == 2)
    harness.settle()
    #expect(seen.elements.count == 1)
  }

  @Test func `L3: a ping is sent after 30 silent seconds, and a connection without a sign of life is closed with 4499`()
    throws
  {
    let harness = try SocketHarness()
    let (seen, first) = try harness.connected()
    let pings = { first.all.count { $0["type"] == "ping" } }
    let before = pings()
    harness.advance(29)
    first.next(first.ids[0], 1)
    harness.advance(29.9)
    #expect(pings() == before)
    harness.advance(0.1)
    #expect(pings() == before + 1)
    harness.advance(9.9)
    first.pong()
    harness.advance(30)
    #expect(pings() == before + 2)
    harness.advance(10)
    #expect(first.closeCode == 4499)
    #expect(first.isDisposed)
    harness.advance(1)
    #expect(harness.sockets.attempts.count == 2)
    guard case .disconnected(let error, _) = seen.elements.last else {
      Issue.record("\(seen.elements)")
      return
    }
    #expect(error.kind == .timedOut)
  }

  @Test func `L2: all operations are sent again in their order after a reconnect, and the gap comes before the values`()
    throws
  {
    let harness = try SocketHarness()
    let all = (1...20).map { number in
      var countdown = Countdown(number)
      countdown.variables.start = number
      return harness.subscribe(countdown)
    }
    let first = try harness.last
    first.acknowledge()
    first.pong()
    harness.settle()
    all[4].dispose()
    first.fail(RequestError(.connectionLost, "Cut."))
    harness.advance(1)
    let second = try harness.last
    second.acknowledge()
    let starts = second.messages.compactMap { $0["payload"]?["variables"]?["start"] }
    #expect(starts == (1...20).filter { $0 != 5 }.map { .integer(Int64($0)) })
    // A value that comes before the pong proves that the server has the operation, too.
    second.next(second.ids[0], 9)
    harness.settle()
    #expect(all[0].elements.suffix(2) == [.reconnected, .value(9)])
    #expect(all[1].elements.count == 2)
    second.pong()
    harness.settle()
    #expect(all[1].elements.last == .reconnected)
    #expect(all[0].elements.last == .value(9))
    #expect(all[4].elements == [.connected])
  }

  @Test func `L1: an old socket is closed before the next is opened, and is not heard any more`() throws {
    let harness = try SocketHarness()
    let (seen, first) = try harness.connected()
    let id = first.ids[0]
    first.close(1001)
    harness.advance(1)
    let second = try harness.last
    #expect(first.isDisposed)
    #expect(second !== first)
    second.acknowledge()
    first.next(id, 1)
    first.send(#"{"type":"connection_ack"}"#)
    first.send("{")
    first.close(4400)
    second.next(second.ids[0], 2)
    harness.settle()
    #expect(seen.elements.last == .value(2))
    #expect(!seen.elements.contains(.value(1)))
    #expect(seen.state.value.error == nil)
  }

  @Test func `L7: a mutation is not sent again when its connection is lost, and a query is`() throws {
    let harness = try SocketHarness()
    func operation(_ isReplayable: Bool) throws -> Seen<LiveEvent<Data>> {
      let request = try HTTPRequest(
        method: .post, url: harness.client.baseURL, body: Data(#"{"query":"…"}"#.utf8), isReplayable: isReplayable)
      let seen = Seen(harness.client.graphQL.live.open(LiveOperation(request), on: harness.client))
      harness.settle()
      return seen
    }
    // It has not been sent yet when the first attempt fails, so it may wait for the next.
    let early = try operation(false)
    try harness.last.fail(RequestError(.cannotConnect, "Refused."))
    harness.advance(1)
    #expect(early.state.value.error == nil)
    let query = try operation(true)
    let first = try harness.last
    first.acknowledge()
    #expect(first.ids.count == 2)
    first.fail(RequestError(.connectionLost, "Cut."))
    harness.settle()
    #expect(early.state.value.error?.kind == .connectionLost)
    #expect(early.state.value.error?.reached == .maybe)
    harness.advance(2)
    try harness.last.acknowledge()
    #expect(try harness.last.ids.count == 1)
    #expect(query.state.value.error == nil)
  }

  @Test func `URL, headers and payload are made for each attempt`() throws {
    let count = Locked(0)
    let harness = try SocketHarness(prepare: { opening in
      let number = count.withLock { count in
        count += 1
        return count
      }
      opening.url = try url("wss://example.com/\(number)")
      try opening.headers.set("X-Number", to: "\(number)")
      opening.payload = ["number": .integer(Int64(number))]
    })
    let seen = harness.subscribe()
    for number in 1...3 {
      let attempt = try harness.last
      attempt.open()
      #expect(attempt.request.url.path() == "/\(number)")
      #expect(attempt.request.headers["X-Number"] == "\(number)")
      #expect(attempt.all.first?["payload"] == ["number": .integer(Int64(number))])
      attempt.close(1001)
      harness.advanceToNextAttempt()
    }
    seen.dispose()
  }

  @Test func `S1: a client with another user's tokens has a socket of its own`() throws {
    var harness = try SocketHarness(tokens: Self.provider())
    let first = harness.subscribe()
    let other = InMemoryTokenProvider(AccessToken("other", account: "2")) { _ in .never() }
    harness.client.middlewares = [AuthMiddleware(other)]
    let second = harness.subscribe()
    #expect(harness.sockets.attempts.map { $0.request.headers["Authorization"] } == ["Bearer old", "Bearer other"])
    first.dispose()
    second.dispose()
  }

  @Test(arguments: [nil, "other"])
  func `S1: a subscription ends when its account signs out, or another signs in`(account: String?) throws {
    let provider = InMemoryTokenProvider(AccessToken("old", account: "1")) { _ in .never() }
    let harness = try SocketHarness(tokens: provider)
    let (seen, first) = try harness.connected()
    provider.setToken(account.map { AccessToken("new", account: $0) })
    first.close(1012)
    harness.advance(60)
    #expect(harness.sockets.attempts.count == 1)
    #expect(seen.state.value.error?.kind == .cancelled)
  }

  @Test func `R5: one refresh serves a rejected connection and rejected requests`() throws {
    let refreshes = Locked(0)
    let subject = ReplaySubject<AccessToken>.create(bufferSize: 1)
    let provider = InMemoryTokenProvider(AccessToken("old")) { _ in
      refreshes.withLock { $0 += 1 }
      return subject.asObservable().take(1)
    }
    let harness = try SocketHarness(tokens: provider)
    let (seen, first) = try harness.connected()
    let other = harness.subscribe()
    first.close(4401)
    harness.settle()
    #expect(harness.sockets.attempts.count == 1)
    subject.onNext(AccessToken("new"))
    harness.settle()
    #expect(try harness.last.request.headers["Authorization"] == "Bearer new")
    #expect(refreshes.withLock { $0 } == 1)
    seen.dispose()
    other.dispose()
  }

  @Test(arguments: [
    true, false,
  ])
  func `a refresh that fails for a while is tried again, and one that is refused ends the subscriptions`(isOutage: Bool)
    throws
  {
    let count = Locked(0)
    let provider = InMemoryTokenProvider(AccessToken("old")) { _ in
      let number = count.withLock { count in
        count += 1
        return count
      }
      if number > 1 { return .just(AccessToken("new")) }
      return .error(RequestError(.httpStatus, "No.", status: isOutage ? 503 : 400))
    }
    let harness = try SocketHarness(tokens: provider)
    let (seen, first) = try harness.connected()
    first.close(4401)
    harness.advanceToNextAttempt()
    if isOutage {
      #expect(try harness.last.request.headers["Authorization"] == "Bearer new")
      #expect(seen.state.value.error == nil)
    } else {
      #expect(seen.state.value.error?.isUnauthenticated == true)
      #expect(harness.sockets.attempts.count == 1)
    }
  }

  @Test func `a socket that takes nothing more is left, and another is made`() throws {
    let harness = try SocketHarness()
    let (seen, first) = try harness.connected()
    first.sendError.withLock { $0 = RequestError(.overloaded, "Full.") }
    let other = harness.subscribe()
    #expect(first.isDisposed)
    harness.advance(1)
    try harness.last.acknowledge()
    #expect(try harness.last.ids.count == 2)
    seen.dispose()
    other.dispose()
  }
}
