import Foundation
import GraphQLClient
import HTTPClientCore
import SocketHTTP
import Streams
import StrictJSON
import TestSupport
import Testing

/// What becomes of subscriptions when their transport is shut down.
@Suite(.timeLimit(.minutes(2))) struct ShutdownTests {
  @Test
  func `L9: at a shutdown each operation is completed, the socket is closed with 1000, and the subscriptions fail`()
    throws
  {
    let harness = try SocketHarness()
    let (first, attempt) = try harness.connected()
    let second = harness.subscribe()
    let isDone = harness.sockets.shutDown()
    harness.settle()
    #expect(isDone())
    let goodbye = attempt.messages.suffix(2)
    #expect(goodbye.map { $0["type"] } == ["complete", "complete"])
    #expect(goodbye.compactMap { $0["id"]?.stringValue } == attempt.ids)
    #expect(attempt.closeCode == 1000)
    #expect(attempt.isDisposed)
    attempt.next(attempt.ids[0], 1)
    harness.settle()
    for seen in [first, second] {
      #expect(seen.state.value.error?.kind == .connectionLost)
      #expect(seen.state.value.error?.cause is TransportShutdown)
      #expect(seen.elements.compactMap(\.value).isEmpty)
    }
    harness.advance(600)
    #expect(harness.sockets.attempts.count == 1)
  }

  @Test(arguments: [true, false])
  func `an attempt is given up at a shutdown`(isUpgraded: Bool) throws {
    let harness = try SocketHarness()
    let seen = harness.subscribe()
    let attempt = try harness.last
    if isUpgraded { attempt.open() }
    let isDone = harness.sockets.shutDown()
    harness.settle()
    #expect(isDone())
    #expect(attempt.isDisposed)
    #expect(attempt.closeCode == (isUpgraded ? 1000 : nil))
    #expect(attempt.messages.isEmpty)
    #expect(seen.state.value.error?.cause is TransportShutdown)
    harness.advance(600)
    #expect(harness.sockets.attempts.count == 1)
  }

  @Test func `subscriptions that wait for another attempt fail at a shutdown, and there is none`() throws {
    let harness = try SocketHarness()
    let (seen, attempt) = try harness.connected()
    attempt.close(1012)
    let isDone = harness.sockets.shutDown()
    harness.settle()
    #expect(isDone())
    #expect(seen.state.value.error?.cause is TransportShutdown)
    harness.advance(600)
    #expect(harness.sockets.attempts.count == 1)
  }

  @Test
  func
    `a socket that is kept without subscriptions is closed at a shutdown, and one that was never used is not missed`()
    throws
  {
    let harness = try SocketHarness()
    let (seen, attempt) = try harness.connected()
    seen.dispose()
    let isDone = harness.sockets.shutDown()
    harness.settle()
    #expect(isDone())
    #expect(attempt.closeCode == 1000)
    #expect(attempt.isDisposed)
    #expect(try SocketHarness().sockets.shutDown()())
  }

  @Test func `a subscription that begins after the shutdown fails at once, as the transport does`() throws {
    let harness = try SocketHarness()
    let seen = harness.subscribe()
    try harness.last.fail(RequestError(.cannotConnect, "The transport was shut down.", cause: TransportShutdown()))
    harness.settle()
    #expect(seen.state.value.error?.kind == .cannotConnect)
    #expect(seen.state.value.error?.cause is TransportShutdown)
    harness.advance(600)
    #expect(harness.sockets.attempts.count == 1)
  }

  @Test func `a client that is released is not notified`() throws {
    let sockets = try {
      let harness = try SocketHarness()
      harness.subscribe().dispose()
      harness.settle()
      #expect(harness.sockets.handlerCount == 1)
      return harness.sockets
    }()
    #expect(sockets.handlerCount == 0)
  }

  @Test(arguments: LiveWay.allCases)
  func `L9: on the real server, one call completes all subscriptions and closes the socket with 1000, within a second`(
    way: LiveWay
  ) async throws {
    let server = try await BFFServer.start()
    let transport = SocketTransport()
    var client = try APIClient(baseURL: server.graphqlURL, transport: transport)
    client.graphQL.live = way.transport(.persistent)
    let all = (0..<5).map { _ in Seen(Liked(userID: "1").subscribe(on: client)) }
    for seen in all { try await seen.state.wait { $0.elements.count == 1 } }
    try await server.waitForSubscribers { $0 >= 5 }
    let stopwatch = Stopwatch()
    await transport.shutdown()
    #expect(stopwatch.elapsed < .seconds(1))
    for seen in all {
      let error = try await seen.state.wait { $0.isEnded }.error
      #expect(error?.kind == .connectionLost)
      #expect(error?.cause is TransportShutdown)
      #expect(error?.operationName == "liked")
    }
    try await server.waitForSubscribers { $0 == 0 }
    if way == .webSocket {
      try await eventually { try await !server.stats().closes.isEmpty }
      let stats = try await server.stats()
      #expect(stats.completes == 5)
      #expect(stats.closes == ["1000": 1])
    }
    let late = Seen(Liked(userID: "1").subscribe(on: client))
    #expect(try await late.state.wait { $0.isEnded }.error?.kind == .cannotConnect)
  }

  @Test func `a slow observer does not delay a shutdown, and gets its error later`() async throws {
    let server = try await BFFServer.start()
    let transport = SocketTransport()
    var client = try APIClient(baseURL: server.graphqlURL, transport: transport)
    client.graphQL.live = .webSocket()
    let gate = DispatchSemaphore(value: 0)
    let seen = Seen(Countdown(1000, delayMs: 1).subscribe(on: client)) { _ in gate.wait() }
    try await seen.state.wait { !$0.elements.isEmpty }
    await transport.shutdown()
    #expect(!seen.state.value.isEnded)
    for _ in 0..<1001 { gate.signal() }
    #expect(try await seen.state.wait { $0.isEnded }.error?.cause is TransportShutdown)
  }
}
