import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import SocketHTTP
import Streams
import SystemBase
import TestSupport
import Testing

/// Subscriptions on the real server: behind TLS and a proxy, cut, raced, flooded.
@Suite(.timeLimit(.minutes(5))) struct LiveRaceTests {
  private func like(_ momentID: String, by userID: String, _ isLiked: Bool, _ client: APIClient) async throws {
    _ = try await SetLike(variables: .init(momentID: momentID, userID: userID, isLiked: isLiked)).post(on: client).value
  }

  /// Pauses that take no time worth mentioning.
  private var quick: LiveSettings {
    var settings = LiveSettings.persistent
    settings.pauses = Backoff(initial: .milliseconds(20), maximum: .milliseconds(100))
    return settings
  }

  @Test(arguments: LiveWay.allCases, [false, true])
  func
    `subscriptions go over TLS with an authority and a client certificate of one's own, and through a proxy's tunnel`(
      way: LiveWay, hasProxy: Bool
    ) async throws
  {
    let authority = try TestCertificate(.init(commonName: "Authority", isAuthority: true))
    let certificate = try TestCertificate(.init(names: ["IP:127.0.0.1", "DNS:server.test"]), signedBy: authority)
    let me = try TestCertificate(.init(commonName: "Me"), signedBy: authority)
    var settings = TLSServerSettings(certificate: certificate)
    settings.clientAuthority = authority
    let relay = try await TLSRelay(
      to: BFFServer.shared().port, TLSServerContext(settings),
      tunnelAnswer: hasProxy ? "HTTP/1.1 200 OK\r\n\r\n" : nil)
    var configuration = SocketTransport.Configuration()
    configuration.tls = TLSConfiguration(
      trust: .only(.bytes(authority.certificate)),
      identity: ClientIdentity(certificates: .bytes(me.certificate), privateKey: .bytes(me.key)))
    if hasProxy { configuration.proxy = ProxyConfiguration(https: "http://127.0.0.1:\(relay.port)") }
    let endpoint = hasProxy ? "https://server.test/graphql" : "https://127.0.0.1:\(relay.port)/graphql"
    var client = try APIClient(baseURL: url(endpoint), transport: SocketTransport(configuration: configuration))
    client.graphQL.live = way.transport()
    let seen = Seen(Countdown(20).data(on: client))
    let end = try await seen.state.wait { $0.isEnded }
    #expect(end.elements.map(\.countdown) == Array((0...20).reversed()))
    #expect(end.error == nil)
    #expect(relay.tunnelRequests.value.isEmpty != hasProxy)
  }

  @Test(
    arguments: LiveWay.allCases
  )
  func `L1, L2: through cuts, no like is seen twice or out of order, and each gap is reported`(way: LiveWay)
    async throws
  {
    let server = try await BFFServer.start()
    let relay = try CuttingRelay(to: server.port)
    let direct = try APIClient(baseURL: server.graphqlURL)
    let client = try way.client(url("http://127.0.0.1:\(relay.port)/graphql"), quick)
    let seen = Seen(Liked(userID: "1").subscribe(on: client))
    let rounds = TestScale.count(5, long: 100)
    var number = 0
    for _ in 0..<rounds {
      try await seen.state.wait { state in
        switch state.elements.last {
        case .disconnected, nil: false
        default: true
        }
      }
      for _ in 0..<5 {
        try await like("m1-\(number % 5)", by: "\(number / 5 % 6)", number / 30 % 2 == 0, direct)
        number += 1
      }
      let before = seen.elements.count { if case .disconnected = $0 { true } else { false } }
      relay.cutAll()
      try await seen.state.wait { state in
        state.elements.count { if case .disconnected = $0 { true } else { false } } > before
      }
    }
    try await seen.state.wait { $0.elements.last == .reconnected }
    var isOpen = false
    for event in seen.elements {
      switch event {
      case .connected, .reconnected: isOpen = true
      case .disconnected: isOpen = false
      case .value: #expect(isOpen, "a value came between a loss and the report of the gap")
      case .resumed, .dropped, .failed: Issue.record("\(event)")
      }
    }
    let values = seen.elements.compactMap(\.value?.data.momentLiked)
    for (value, next) in zip(values, values.dropFirst()) { #expect(value != next) }
  }

  @Test(arguments: LiveWay.allCases)
  func
    `L5: after thousands of times subscribing and disposing at random, the server has no subscription, and nobody got anything late`(
      way: LiveWay
    ) async throws
  {
    let server = try await BFFServer.start()
    let transport = SocketTransport()
    var client = try APIClient(baseURL: server.graphqlURL, transport: transport)
    client.graphQL.live = way.transport()
    let keeper = Seen(Liked(userID: "2").subscribe(on: client))
    try await server.waitForSubscribers { $0 == 1 }
    let descriptors = try #require(ProcessUsage.current).descriptors
    let (values, late) = (Locked(0), Locked(0))
    let count = way.isSocket ? TestScale.count(250, long: 12_500) : TestScale.count(75, long: 2_500)
    let task = Task.detached { [client] in
      try TestSupport.race(4) { thread in
        var random = SplitMix(seed: UInt64(thread))
        for _ in 0..<count {
          let (disposal, hasValue) = (Locked((isDone: false, late: 0)), DispatchSemaphore(value: 0))
          let subscription = Countdown(3).subscribe(on: client).subscribe(
            onNext: { event in
              guard event.value != nil else { return }
              // One event may have been on its way on another thread.
              let isLate = disposal.withLock { disposal in
                if disposal.isDone { disposal.late += 1 }
                return disposal.late > 1
              }
              if isLate { late.withLock { $0 += 1 } }
              values.withLock { $0 += 1 }
              hasValue.signal()
            })
          switch Int.random(in: 0..<8, using: &random) {
          case 0: _ = hasValue.wait(timeout: .now() + 30)
          case 1...4: Thread.sleep(forTimeInterval: .random(in: 0...0.002, using: &random))
          default: break
          }
          subscription.dispose()
          disposal.withLock { $0.isDone = true }
        }
      }
    }
    try await task.value
    try await server.waitForSubscribers { $0 == 1 }
    #expect(late.withLock { $0 } == 0)
    #expect(values.withLock { $0 } > 0)
    if way.isSocket { #expect(try await server.stats().requests["websocket"] == 1) }
    keeper.dispose()
    try await server.waitForSubscribers { $0 == 0 }
    await transport.shutdown()
    #expect(try #require(ProcessUsage.current).descriptors <= descriptors + 8)
  }

  @Test(arguments: LiveWay.allCases)
  func `L5: while accounts come and go, each subscription ends with its own, and nothing comes after that`(way: LiveWay)
    async throws
  {
    let server = try await BFFServer.start()
    let provider = InMemoryTokenProvider(AccessToken("0", account: "0")) { _ in .never() }
    var client = try APIClient(
      baseURL: server.graphqlURL, transport: SocketTransport(),
      middlewares: [AuthMiddleware(provider, challenge: .graphQL)])
    client.graphQL.live = way.transport()
    let (turn, done) = (Locked(0), Locked(0))
    let problems = Locked<[String]>([])
    let count = TestScale.count(40, long: 1_000)
    let task = Task.detached { [client] in
      try TestSupport.race(4) { thread in
        if thread == 0 {
          while done.withLock({ $0 }) < 3 {
            Thread.sleep(forTimeInterval: 0.01)
            let next = turn.withLock { $0 } + 1
            provider.setToken(AccessToken("\(next)", account: "\(next)"))
            turn.withLock { $0 = next }
          }
          return
        }
        for _ in 0..<count {
          // The account is of this turn, or already of the next.
          let begin = turn.withLock { $0 }
          let (late, end) = (Locked(0), DispatchSemaphore(value: 0))
          let subscription = Countdown(100_000).subscribe(on: client).subscribe(
            onNext: { event in
              guard turn.withLock({ $0 }) >= begin + 2 else { return }
              // One event may have been on its way on another thread.
              let isLate = late.withLock { late in
                late += 1
                return late > 1
              }
              if isLate { problems.withLock { $0.append("\(event) came after the sign-out") } }
            },
            onError: { error in
              if (error as? RequestError)?.kind != .cancelled { problems.withLock { $0.append("\(error)") } }
              end.signal()
            },
            onCompleted: { problems.withLock { $0.append("it completed") } })
          if end.wait(timeout: .now() + 30) == .timedOut { problems.withLock { $0.append("it has no end") } }
          subscription.dispose()
        }
        done.withLock { $0 += 1 }
      }
    }
    try await task.value
    #expect(problems.withLock { Array($0.prefix(5)) } == [])
    try await server.waitForSubscribers { $0 == 0 }
  }

  @Test
  func `L3: pings are answered within a second, and a silent server is found, while hundreds of observers are blocked`()
    async throws
  {
    let program = RepositoryLayout.root.appendingPathComponent("Tests/GraphQLClientTests/Live/pings.py").path
    let server = try await ChildProcess(PythonEnvironment.python(), [program, "300", "50"], input: .open)
    func line(_ name: String) async throws -> [String: Double] {
      let output = try await server.waitForOutput(containing: "\"\(name)\"")
      let line = output.split(separator: "\n").first { $0.contains("\"\(name)\"") } ?? ""
      return try JSONDecoder().decode([String: Double].self, from: Data(line.utf8))
    }
    let port = Int(try await line("port")["port"] ?? 0)
    var settings = quick
    (settings.silence, settings.pong) = (.seconds(1), .seconds(1))
    let client = try LiveWay.webSocket.client(url("http://127.0.0.1:\(port)/graphql"), settings)
    let gate = DispatchSemaphore(value: 0)
    let blocked = (0..<300).map { _ in
      Seen(Countdown(0).subscribe(on: client)) { _ in
        gate.wait()
        gate.signal()
      }
    }
    defer {
      gate.signal()
      for seen in blocked { seen.dispose() }
    }
    let longest = try await line("socket")
    #expect(longest["socket", default: 9] < 1, "\(longest)")
    #expect(longest["protocol", default: 9] < 1, "\(longest)")
    let again = try await line("again")["again", default: 99]
    #expect(again < 5, "a silent server was found after \(again) s")
  }

  @Test func `L3, L4: an observer that is blocked delays neither its siblings on the socket nor the connection`()
    async throws
  {
    let client = try LiveWay.webSocket.client(await BFFServer.shared().graphqlURL)
    let gate = DispatchSemaphore(value: 0)
    let blocked = Seen(Countdown(2_000).subscribe(on: client)) { _ in gate.wait() }
    try await blocked.state.wait { !$0.elements.isEmpty }
    let free = Seen(Countdown(2_000).data(on: client)) { _ in }
    let end = try await free.state.wait { $0.isEnded }
    #expect(end.isCompleted)
    #expect(end.elements.last?.countdown == 0)
    for _ in 0..<3_000 { gate.signal() }
    let late = try await blocked.state.wait { $0.isEnded }
    let dropped = late.elements.reduce(0) { if case .dropped(let count) = $1 { $0 + count } else { $0 } }
    #expect(dropped > 0)
    #expect(dropped + late.elements.count { $0.value != nil } == 2_001)
  }

  @Test(arguments: [LiveWay.eventStream, .multipart])
  func `L4: by suspend, a response waits for its observer, and nothing is lost`(way: LiveWay) async throws {
    let client = try way.client(await BFFServer.shared().graphqlURL)
    var countdown = Countdown(5_000)
    countdown.buffering = .suspend
    let seen = Seen(countdown.data(on: client)) { data in
      if data.countdown % 1_000 == 0 { Thread.sleep(forTimeInterval: 0.05) }
    }
    let end = try await seen.state.wait { $0.isEnded }
    #expect(end.elements.map(\.countdown) == Array((0...5_000).reversed()))
  }

  @Test(arguments: LiveWay.allCases)
  func `a token that expires while subscribed is replaced at the next connection`(way: LiveWay) async throws {
    // On a busy machine it takes a while until a new token is sent: one that has expired by then ends the subscription.
    let server = try await BFFServer.start(arguments: ["--auth", "http", "--token-ttl-s", "3"])
    let relay = try CuttingRelay(to: server.port)
    let tokens = try BFFTokens(url: server.graphqlURL)
    _ = try await tokens.refresh(replacing: nil).value
    var client = try way.client(url("http://127.0.0.1:\(relay.port)/graphql"), quick)
    client.middlewares = [AuthMiddleware(tokens, challenge: .graphQL)]
    let seen = Seen(Liked(userID: "1").subscribe(on: client))
    try await seen.state.wait { $0.elements.contains(.connected) }
    for _ in 0..<2 {
      let expiry = tokens.currentToken?.expiresAt ?? .now
      try await Task.sleep(for: .seconds(max(expiry.timeIntervalSinceNow, 0)))
      relay.cutAll()
      // An event stream may be connected again before the server has refused the old token in it.
      try await seen.state.wait { $0.elements.last == .reconnected && tokens.currentToken?.expiresAt != expiry }
    }
    #expect(seen.state.value.error == nil)
    #expect(try await server.stats().operations["refreshToken"] ?? 0 >= 3)
  }

  @Test func `subscribing a thousand times on one socket, and again after a cut, leaves each with its values`()
    async throws
  {
    let server = try await BFFServer.start()
    let relay = try CuttingRelay(to: server.port)
    // On a busy machine the server works longer on so many than it may take to answer a ping.
    var patient = quick
    patient.pong = .seconds(60)
    let client = try LiveWay.webSocket.client(url("http://127.0.0.1:\(relay.port)/graphql"), patient)
    let direct = try APIClient(baseURL: server.graphqlURL)
    let count = TestScale.count(300, long: 2_000)
    let all = (0..<count).map { _ in Seen(Liked(userID: "1").subscribe(on: client)) }
    for seen in all { try await seen.state.wait { $0.elements == [.connected] } }
    relay.cutAll()
    for seen in all { try await seen.state.wait { $0.elements.last == .reconnected } }
    try await like("m1-1", by: "4", true, direct)
    for seen in all { try await seen.state.wait { $0.elements.last?.value?.data.momentLiked.id == "m1-1" } }
    #expect(all.allSatisfy { $0.elements.count { $0.value != nil } == 1 })
    #expect(try await server.stats().requests["websocket"] == 2)
    for seen in all { seen.dispose() }
    try await server.waitForSubscribers { $0 == 0 }
  }
}
