import Foundation
import GraphQLClient
import HTTPClientCore
import HTTPMiddlewares
import Streams
import StreamsTesting
import StrictJSON
import TestSupport
import Testing

@Suite struct WebSocketLiveTests {
  @Test
  func `a socket is opened with the first subscription, introduced by connection_init, and used once acknowledged`()
    throws
  {
    let harness = try SocketHarness()
    #expect(harness.sockets.attempts.isEmpty)
    let seen = harness.subscribe()
    let attempt = try harness.last
    #expect(attempt.request.url.absoluteString == "ws://127.0.0.1/graphql")
    #expect(attempt.request.subprotocols == ["graphql-transport-ws"])
    attempt.open()
    #expect(attempt.all == [["type": "connection_init"]])
    attempt.send(#"{"type":"connection_ack","payload":{"a":1}}"#)
    let subscribe = try #require(attempt.messages.first)
    #expect(subscribe["type"] == "subscribe")
    #expect(subscribe["payload"]?["operationName"] == "countdown")
    #expect(subscribe["payload"]?["variables"] == ["start": 3, "delayMs": 0])
    harness.settle()
    #expect(seen.elements.isEmpty)
    attempt.pong()
    harness.settle()
    #expect(seen.elements == [.connected])
  }

  @Test(arguments: [false, true])
  func `a payload that is not JSON fails the subscription, and no socket is opened without it`(legacy: Bool) throws {
    let harness = try SocketHarness(legacy: legacy, prepare: { $0.payload = .object(["weight": .number(.infinity)]) })
    let seen = harness.subscribe()
    #expect(seen.state.value.error?.kind == .invalidRequest)
    #expect(harness.sockets.attempts.isEmpty)
  }

  @Test func `operations share a socket, have ids of their own, and get their own results in order`() throws {
    let harness = try SocketHarness()
    let first = harness.subscribe()
    let second = harness.subscribe()
    let attempt = try harness.last
    attempt.acknowledge()
    let third = harness.subscribe()
    #expect(harness.sockets.attempts.count == 1)
    #expect(Set(attempt.ids).count == 3)
    let ids = attempt.ids
    attempt.next(ids[1], 1)
    attempt.next(ids[0], 2)
    attempt.next(ids[1], 3)
    attempt.next(ids[2], 4)
    attempt.complete(ids[1])
    harness.settle()
    #expect(first.elements == [.connected, .value(2)])
    #expect(second.elements == [.connected, .value(1), .value(3)])
    #expect(second.state.value.isCompleted)
    #expect(third.elements == [.connected, .value(4)])
  }

  @Test func `L5: a disposed subscription is completed on the server, and late messages for it are ignored`() throws {
    let harness = try SocketHarness()
    let (seen, attempt) = try harness.connected()
    let sibling = harness.subscribe()
    seen.dispose()
    harness.settle()
    #expect(attempt.messages.last == ["id": .string(attempt.ids[0]), "type": "complete"])
    attempt.next(attempt.ids[0], 7)
    attempt.complete(attempt.ids[0])
    attempt.send(#"{"id":"1","type":"error","payload":[{"message":"late"}]}"#)
    attempt.send(#"{"id":"nobody","type":"next","payload":{"data":{"countdown":1}}}"#)
    harness.settle()
    #expect(seen.elements == [.connected])
    #expect(!attempt.isDisposed)
    attempt.next(attempt.ids[1], 8)
    harness.settle()
    #expect(sibling.elements.last == .value(8))
    let again = harness.subscribe()
    #expect(Set(attempt.ids).count == 3)
    again.dispose()
  }

  @Test func `a completed operation's id is not used again, and is not completed by the client`() throws {
    let harness = try SocketHarness()
    let (seen, attempt) = try harness.connected()
    attempt.next(attempt.ids[0], 1)
    attempt.complete(attempt.ids[0])
    attempt.next(attempt.ids[0], 2)
    harness.settle()
    #expect(seen.elements == [.connected, .value(1)])
    #expect(seen.state.value.isCompleted)
    let again = harness.subscribe()
    #expect(attempt.ids.count == 2)
    #expect(Set(attempt.ids).count == 2)
    #expect(again.elements.isEmpty)
    #expect(!attempt.messages.contains { $0["type"] == "complete" })
  }

  @Test func `a subscription that is disposed before the socket is ready is never sent`() throws {
    let harness = try SocketHarness()
    let first = harness.subscribe()
    let second = harness.subscribe()
    let attempt = try harness.last
    attempt.open()
    first.dispose()
    attempt.send(#"{"type":"connection_ack"}"#)
    #expect(attempt.ids.count == 1)
    second.dispose()
    harness.settle()
    #expect(attempt.messages.count == 2)
  }

  @Test func `a socket that is no longer needed is dropped while it is being opened`() throws {
    let harness = try SocketHarness()
    harness.subscribe().dispose()
    harness.settle()
    #expect(try harness.last.isDisposed)
    #expect(harness.scheduler.pendingCount <= 1)
  }

  /// The server cannot answer a ping while it sends a long result.
  @Test
  func `L3: a socket on which parts of a long result arrive is kept, and given up 40 seconds after the last of them`()
    throws
  {
    let harness = try SocketHarness()
    let (seen, attempt) = try harness.connected()
    for _ in 0..<30 {
      harness.advance(6)
      attempt.request.onPart?()
      harness.settle()
    }
    #expect(seen.elements == [.connected])
    harness.advance(39)
    #expect(seen.elements == [.connected])
    harness.advance(2)
    #expect(seen.elements.count == 2)
    guard case .disconnected(let error, _)? = seen.elements.last else { return #expect(Bool(false), "it is kept") }
    #expect(error.kind == .timedOut)
  }

  @Test func `L5: the socket closes some time after its last subscription, unless another comes`() throws {
    let harness = try SocketHarness()
    let (seen, attempt) = try harness.connected()
    seen.dispose()
    harness.advance(4.9)
    let next = harness.subscribe()
    attempt.pong()
    harness.advance(10)
    #expect(attempt.closeCode == nil)
    #expect(harness.sockets.attempts.count == 1)
    next.dispose()
    harness.advance(5)
    #expect(attempt.closeCode == 1000)
    #expect(!attempt.isDisposed)
    attempt.close(1000)
    #expect(attempt.isDisposed)
    harness.advance(600)
    #expect(harness.sockets.attempts.count == 1)
  }

  @Test(arguments: [true, false])
  func `a subscription that begins while a socket closes uses the next one`(serverAnswers: Bool) throws {
    let harness = try SocketHarness()
    let (seen, attempt) = try harness.connected()
    seen.dispose()
    harness.advance(5)
    let next = harness.subscribe()
    #expect(attempt.ids.count == 1)
    #expect(harness.sockets.attempts.count == 1)
    if serverAnswers { attempt.close(1000) } else { harness.advance(5) }
    harness.settle()
    #expect(attempt.isDisposed)
    #expect(harness.sockets.attempts.count == 2)
    try harness.last.acknowledge()
    try harness.last.pong()
    harness.settle()
    #expect(next.elements == [.connected])
  }

  @Test func `a ping of the server's is answered at once with its payload, also before the acknowledgement`() throws {
    let harness = try SocketHarness()
    let seen = harness.subscribe()
    let attempt = try harness.last
    attempt.open()
    attempt.send(#"{"type":"ping","payload":{"n":[1]}}"#)
    attempt.send(#"{"type":"pong"}"#)
    attempt.send(#"{"type":"connection_ack"}"#)
    attempt.send(#"{"type":"ping"}"#)
    #expect(attempt.messages.first == ["type": "pong", "payload": ["n": [1]]])
    #expect(attempt.messages.last == ["type": "pong"])
    seen.dispose()
  }

  @Test func `a pong that nobody asked for announces nothing, and later operations are announced by theirs`() throws {
    let harness = try SocketHarness()
    let (_, attempt) = try harness.connected()
    attempt.pong()
    attempt.pong()
    let next = harness.subscribe()
    #expect(next.elements.isEmpty)
    attempt.pong()
    harness.settle()
    #expect(next.elements == [.connected])
  }

  @Test
  func `operations are sent as fast as the server reads them, so that they fit into what may wait for the socket`()
    throws
  {
    let harness = try SocketHarness()
    let size = 1 << 20
    let all = try (0..<12).map { number in
      let body = "{\"number\":\(number),\"text\":\"\(String(repeating: "x", count: size))\"}"
      let request = try HTTPRequest(
        method: .post, url: harness.client.baseURL, body: Data(body.utf8), isReplayable: true)
      return Seen(harness.client.graphQL.live.open(LiveOperation(request), on: harness.client))
    }
    for _ in 0..<2 {
      harness.settle()
      let attempt = try harness.last
      attempt.acknowledge()
      let sentCount = { attempt.state.value.texts.count { $0.hasPrefix("{\"id\":") } }
      var counts = [sentCount()]
      while sentCount() < all.count, counts.count < 20 {
        attempt.pong()
        counts.append(sentCount())
      }
      #expect(attempt.messages.compactMap { $0["payload"]?["number"]?.integerValue } == Array(0..<12))
      for (count, next) in zip([0] + counts, counts) { #expect((next - count) * size <= WebSocketLimits().unsent / 2) }
      attempt.pong()
      attempt.close(1012)
      harness.advance(1)
    }
    #expect(all.allSatisfy { $0.elements.contains(.reconnected) && $0.state.value.error == nil })
  }

  @Test func `an operation that is too large for a shared socket fails alone, and says so`() throws {
    let harness = try SocketHarness()
    let (sibling, attempt) = try harness.connected()
    let request = try HTTPRequest(
      method: .post, url: harness.client.baseURL, body: Data(count: (8 << 20) + 1), isReplayable: true)
    let seen = Seen(harness.client.graphQL.live.open(LiveOperation(request), on: harness.client))
    harness.settle()
    #expect(seen.state.value.error?.kind == .invalidRequest)
    #expect(attempt.ids.count == 1)
    #expect(sibling.state.value.error == nil)
    #expect(!attempt.isDisposed)
  }

  @Test func `a subscription with '@defer' is refused before anything is sent, and the error says why`() throws {
    struct Slow: GraphQLSubscription {
      typealias ResponseData = JSONValue
      static let query: GraphQLDocument = #"subscription slow { a { b ... @defer(label: "c") { c } } }"#
    }
    let harness = try SocketHarness()
    let seen = Seen(Slow().subscribe(on: harness.client))
    harness.settle()
    #expect(seen.state.value.error?.kind == .invalidRequest)
    #expect(harness.sockets.attempts.isEmpty)
    #expect(seen.state.value.error?.message.contains("take '@defer' and '@stream' out") == true)
  }

  @Test(arguments: [
    #"{"type":"hello"}"#, #"{"type":"next"}"#, #"{"type":"next","id":"1"}"#, #"{"type":"complete"}"#, "[]", "{",
    #"{"type":"data","id":"1","payload":{}}"#, "binary",
  ])
  func `a message that the protocol does not have ends the subscriptions with 4004`(text: String) throws {
    let harness = try SocketHarness()
    let (seen, attempt) = try harness.connected()
    if text == "binary" { attempt.sendBinary() } else { attempt.send(text) }
    harness.settle()
    #expect(seen.state.value.error?.kind == .badResponse)
    #expect(attempt.closeCode == 4004)
    #expect(attempt.isDisposed)
    harness.advance(600)
    #expect(harness.sockets.attempts.count == 1)
  }

  @Test func `an operation's errors end it alone, and no complete is sent for it`() throws {
    let harness = try SocketHarness()
    let (seen, attempt) = try harness.connected()
    let sibling = harness.subscribe()
    attempt.send(
      #"{"id":"\#(attempt.ids[0])","type":"error","payload":[{"message":"no","extensions":{"code":"NO"}}]}"#)
    attempt.next(attempt.ids[1], 5)
    harness.settle()
    #expect(seen.state.value.error?.graphQLErrors.first?.code == "NO")
    #expect(sibling.elements.last == .value(5))
    #expect(!attempt.messages.contains { $0["type"] == "complete" })
  }

  @Test func `a socket cannot be suspended for one subscription`() throws {
    let harness = try SocketHarness()
    var countdown = Countdown(1)
    countdown.buffering = .suspend
    #expect(harness.subscribe(countdown).state.value.error?.kind == .invalidRequest)
    #expect(harness.sockets.attempts.isEmpty)
  }

  @Test
  func `the older protocol: start, data, stop, an error as one object, and keep-alives before the acknowledgement`()
    throws
  {
    let harness = try SocketHarness(legacy: true)
    let first = harness.subscribe()
    let second = harness.subscribe()
    let attempt = try harness.last
    #expect(attempt.request.subprotocols == ["graphql-ws"])
    attempt.open()
    attempt.send(#"{"type":"ka"}"#)
    attempt.send(#"{"type":"connection_ack"}"#)
    #expect(attempt.messages.map { $0["type"] } == ["start", "start"])
    attempt.next(attempt.ids[0], 4)
    attempt.send(#"{"id":"\#(attempt.ids[1])","type":"error","payload":{"message":"no"}}"#)
    harness.settle()
    #expect(first.elements == [.connected, .value(4)])
    #expect(second.state.value.error?.graphQLErrors.first?.message == "no")
    first.dispose()
    harness.settle()
    #expect(attempt.messages.last == ["id": .string(attempt.ids[0]), "type": "stop"])
  }

  @Test(arguments: [true, false])
  func `the older protocol's keep-alives are missed only once the first has come`(sends: Bool) throws {
    let harness = try SocketHarness(legacy: true)
    let (seen, attempt) = try harness.connected()
    if sends {
      for _ in 0..<5 {
        attempt.send(#"{"type":"ka"}"#)
        harness.advance(29)
      }
      #expect(!attempt.isDisposed)
      #expect(attempt.state.value.pings == 1)
      // A keep-alive that is as frequent as a silence is long may come a little later.
      harness.advance(2)
      attempt.send(#"{"type":"ka"}"#)
      harness.advance(39)
      #expect(!attempt.isDisposed)
      #expect(attempt.state.value.pings == 1)
      harness.advance(1)
      #expect(attempt.isDisposed)
      #expect(attempt.closeCode == 4499)
    } else {
      harness.advance(30)
      #expect(!attempt.isDisposed)
      #expect(attempt.state.value.pings == 2)
      harness.advance(10)
      #expect(attempt.isDisposed)
    }
    #expect(seen.elements.count == 2)
  }

  @Test(arguments: [true, false])
  func `connection_error refuses the connection, on either protocol`(legacy: Bool) throws {
    let harness = try SocketHarness(legacy: legacy)
    let seen = harness.subscribe()
    for _ in 0..<2 {
      try harness.last.open()
      try harness.last.send(#"{"type":"connection_error","payload":{"message":"Could not verify JWT"}}"#)
      harness.settle()
    }
    #expect(harness.sockets.attempts.count == 2)
    #expect(seen.state.value.error?.isForbidden == true)
    #expect(seen.state.value.error?.message.contains("Could not verify JWT") == true)
  }
}
