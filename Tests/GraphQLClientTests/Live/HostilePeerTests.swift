import Dispatch
import Foundation
import Glibc
import GraphQLClient
import GraphQLClientTestSupport
import HTTPClientCore
import HTTPTestSupport
import Streams
import SystemBase
import TestSupport
import Testing

/// Servers that send without end, and observers that block, over real sockets.
@Suite(.serialized, .timeLimit(.minutes(5))) struct HostilePeerTests {
  /// A server of `flood.py`.
  private struct Flood {
    let process: ChildProcess
    let url: URL

    init(_ mode: String) async throws {
      let program = RepositoryLayout.root.appendingPathComponent("Tests/GraphQLClientTests/Live/flood.py").path
      process = try await ChildProcess(PythonEnvironment.python(), [program, mode], input: .open)
      let line = try await process.waitForOutput(containing: "\"port\"")
      let port = try JSONDecoder().decode([String: Int].self, from: Data(line.utf8))["port"] ?? 0
      url = try #require(URL(string: "http://127.0.0.1:\(port)/graphql"))
    }
  }

  /// The longest that calls took: by the clock, and in processor time of the caller's thread, which shows whether it does
  /// the work of others.
  private struct Calls: Sendable {
    var count = 0
    var longest = Duration.zero
    var longestWork = Duration.zero
    /// How many took more than a millisecond of processor time.
    var slow = 0

    mutating func measure(_ body: () -> Void) {
      let (start, work) = (ContinuousClock.now, Self.threadTime)
      body()
      let (duration, spent) = (ContinuousClock.now - start, Self.threadTime - work)
      count += 1
      longest = max(longest, duration)
      longestWork = max(longestWork, spent)
      if spent > .milliseconds(1) { slow += 1 }
    }

    private static var threadTime: Duration {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
  }

  private static var memory: Int { ProcessUsage.current?.memory ?? 0 }

  @Test(arguments: ["pings", "values"], [true, false])
  func `W2, L4: while a server floods its client, callers add their subscriptions and return, and memory stays bounded`(
    mode: String, blocks: Bool
  ) async throws {
    let flood = try await Flood(mode)
    let client = try LiveWay.webSocket.client(flood.url)
    let gate = DispatchSemaphore(value: 0)
    let (isBlocked, reached) = (Locked(blocks), Monitor(false))
    let first = Countdown(1).subscribe(on: client).subscribe(
      onNext: { _ in
        reached.update { $0 = true }
        if isBlocked.withLock({ $0 }) { gate.wait() }
      })
    // Over pings alone, a subscription is connected by the pong that is never sent, or once that counts as sent.
    if mode == "values" { try await reached.wait { $0 } }
    let before = Self.memory
    let all = Locked(Calls())
    let most = Locked(0)
    try await Task.detached {
      try TestSupport.race(3) { thread in
        let end = ContinuousClock.now + .seconds(TestScale.count(2, long: 20))
        var calls = Calls()
        while ContinuousClock.now < end {
          var subscription: (any Disposable)?
          calls.measure { subscription = Countdown(2).subscribe(on: client).subscribe(onNext: { _ in }) }
          calls.measure { subscription?.dispose() }
          if thread == 0 { most.withLock { $0 = max($0, Self.memory) } }
          Thread.sleep(forTimeInterval: 0.002)
        }
        all.withLock { all in
          all.count += calls.count
          all.slow += calls.slow
          all.longest = max(all.longest, calls.longest)
          all.longestWork = max(all.longestWork, calls.longestWork)
        }
      }
    }.value
    let calls = all.withLock { $0 }
    #expect(most.withLock { $0 } - before < 96 << 20, "bytes")
    #expect(calls.longestWork < .milliseconds(50), "of processor time, in \(calls)")
    #expect(calls.slow * 50 <= calls.count, "of more than a millisecond, in \(calls)")
    #expect(calls.longest < .seconds(1), "by the clock, in \(calls)")
    isBlocked.withLock { $0 = false }
    first.dispose()
    for _ in 0..<1000 { gate.signal() }
  }

  @Test func `L4: by suspend, streams whose observers block are not read from, whatever else their connections do`()
    async throws
  {
    let flood = try await Flood("values")
    var settings = LiveSettings()
    settings.stable = .milliseconds(100)  // a timer while the observer blocks
    let client = try LiveWay.eventStream.client(flood.url, settings)
    let gate = DispatchSemaphore(value: 0)
    let (isOver, reached) = (Locked(false), Monitor(0))
    var countdown = Countdown(1)
    countdown.buffering = .suspend
    let before = Self.memory
    let count = 40
    var calls = Calls()
    var subscriptions: [any Disposable] = []
    for _ in 0..<count {
      calls.measure {
        subscriptions.append(
          countdown.data(on: client).subscribe(
            onNext: { _ in
              reached.update { $0 += 1 }
              if isOver.withLock({ !$0 }) { gate.wait() }
            }))
      }
    }
    try await reached.wait { $0 == count }
    try await Task.sleep(for: .seconds(TestScale.count(2, long: 6)))
    #expect(reached.value == count)
    #expect(Self.memory - before < 64 << 20, "bytes")
    #expect(calls.longestWork < .milliseconds(50), "\(calls)")
    #expect(calls.longest < .seconds(1), "\(calls)")
    isOver.withLock { $0 = true }
    for subscription in subscriptions { subscription.dispose() }
    for _ in 0..<10 * count { gate.signal() }
  }

  /// A busy machine delays some rounds, but not all of them; what waits in the program would.
  @Test(arguments: [.dropOldest(), .suspend] as [LiveBuffering])
  func `L5, T7: disposing ends the exchange within 100 ms while its observer blocks, and the caller does not wait`(
    buffering: LiveBuffering
  ) async throws {
    let event = "event: next\ndata: {\"data\":{\"countdown\":1}}\n\n"
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    var countdown = Countdown(1)
    countdown.buffering = buffering
    var longest: [Duration] = []
    for _ in 0..<20 {
      let server = try ScriptedServer([.readRequest, .send(head + event + event), .waitForClientToClose])
      let client = try LiveWay.eventStream.client(server.url)
      let (gate, reached) = (DispatchSemaphore(value: 0), Monitor(0))
      let subscription = countdown.data(on: client).subscribe(
        onNext: { _ in
          reached.update { $0 += 1 }
          gate.wait()
        })
      try await reached.wait { $0 == 1 }
      let start = ContinuousClock.now
      subscription.dispose()
      let returned = ContinuousClock.now
      let closed = try await server.waitForClientToClose(within: .seconds(10))
      longest.append(max(closed, returned) - start)
      #expect(reached.value == 1)
      gate.signal()
      gate.signal()
      if let last = longest.last, last < .milliseconds(100) { break }
    }
    #expect(longest.contains { $0 < .milliseconds(100) }, "\(longest)")
  }

  @Test(arguments: [LiveWay.eventStream, .multipart], [false, true])
  func `L2, L3: a stream whose server ends its direction alone within a result, or stalls there, is lost in time`(
    way: LiveWay, stalls: Bool
  ) async throws {
    let result = #"{"data":{"countdown":1}}"#
    let (type, whole) =
      way == .eventStream
      ? ("text/event-stream", "event: next\ndata: \(result)\n\n")
      : (
        "multipart/mixed; boundary=-",
        "\r\n---\r\nContent-Type: application/json\r\n\r\n{\"payload\":\(result)}\r\n---\r\n"
      )
    let start = "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nTransfer-Encoding: chunked\r\n\r\n"
    // The chunk that has begun is larger.
    let body = "\(String(whole.utf8.count, radix: 16))\r\n\(whole)\r\nfff\r\n\(whole.dropLast(12))"
    var settings = LiveSettings()
    settings.attempts = 2
    settings.pauses = Backoff(initial: .milliseconds(1), maximum: .milliseconds(5))
    var count = 0
    // On a busy machine the silence may be over before the server has begun.
    for silence in [300, 1000, 3000, 9000] where count != 2 {
      let server = try ScriptedServer(
        [.readRequest, .send(start + body)] + (stalls ? [] : [.finishSending]) + [.waitForClientToClose])
      settings.streamSilence = .milliseconds(silence)
      let stopwatch = Stopwatch()
      let seen = Seen(Countdown(1).subscribe(on: try way.client(server.url, settings)))
      let end = try await seen.state.wait { $0.isEnded }
      count = end.elements.count(where: { $0.value != nil })
      guard count == 2 else { continue }
      #expect(end.error?.kind == (stalls ? .timedOut : .connectionLost))
      #expect(end.elements.contains(.reconnected))
      #expect(server.requests.count == 2)
      #expect(stopwatch.elapsed < .milliseconds(5000 + 2 * silence))
    }
    #expect(count == 2)
  }

  @Test(arguments: [LiveWay.eventStream, .multipart])
  func `L7: a mutation whose server reads the request and closes is sent once over a stream`(way: LiveWay) async throws
  {
    let server = try ScriptedServer([.readRequest, .close])
    var settings = LiveSettings()
    settings.pauses = Backoff(initial: .milliseconds(1), maximum: .milliseconds(5))
    let client = try way.client(server.url, settings)
    let request = try HTTPRequest(
      method: .post, url: server.url, body: Data(#"{"query":"mutation { a }"}"#.utf8), isReplayable: false)
    let seen = Seen(client.graphQL.live.open(LiveOperation(request), on: client))
    let end = try await seen.state.wait { $0.isEnded }
    #expect(server.requests.count == 1)
    #expect(end.error?.kind == .connectionLost)
    #expect(end.error?.reached == .maybe)
  }

  @Test func `L7: a mutation that never reached a server goes out once there is one`() async throws {
    let closed = try ScriptedServer([.close])
    let port = closed.port
    closed.stop()
    var settings = LiveSettings()
    settings.attempts = 3
    settings.pauses = Backoff(initial: .milliseconds(1), maximum: .milliseconds(5))
    let client = try LiveWay.eventStream.client(url("http://127.0.0.1:\(port)/"), settings)
    let request = try HTTPRequest(
      method: .post, url: client.baseURL, body: Data(#"{"query":"mutation { a }"}"#.utf8), isReplayable: false)
    let seen = Seen(client.graphQL.live.open(LiveOperation(request), on: client))
    let end = try await seen.state.wait { $0.isEnded }
    #expect(end.error?.kind == .cannotConnect)
    #expect(end.elements.count == 2)
  }
}
