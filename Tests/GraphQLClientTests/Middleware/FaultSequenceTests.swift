import BFFOperations
import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import HTTPClientCore
import HTTPMiddlewares
import Streams
import Synchronization
import TestSupport
import Testing

@Suite("The standard stack, the real server, and faults between them")
struct FaultSequenceTests {
  /// Decides the faults; `MOMENTS_TEST_SEED` does a run again.
  private static let seed =
    ProcessInfo.processInfo.environment["MOMENTS_TEST_SEED"].flatMap { Int($0) } ?? .random(in: 1...1 << 30)

  @Test func `R1: no sequence of faults carries an undeclared mutation out twice`() async throws {
    print("seed \(Self.seed)")
    let server = try await BFFServer.start(arguments: ["--auth", "http", "--token-ttl-s", "1"])
    let end = ContinuousClock.now + .seconds(TestScale.count(4, long: 60))
    let lanes = try await withThrowingTaskGroup(of: Lane.self) { group in
      for number in 0..<4 {
        group.addTask {
          let lane = try await Lane(number, before: server, seed: Self.seed)
          return try await lane.run(until: end)
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }

    var direct = try APIClient(baseURL: server.graphqlURL)
    try direct.defaultHeaders.set("Authorization", to: "Bearer valid-token")
    let timeline = try await ReadTitles().post(on: direct).value.data.getMomentsDetailsByUserID
    let titles = timeline.moments.compactMap(\.title)
    let arrivals = try await server.stats().operations["createMoment"] ?? 0
    try await server.stop()

    let twice = Dictionary(grouping: titles, by: \.self).filter { $1.count > 1 }.keys
    #expect(twice.isEmpty, "seed \(Self.seed): carried out twice")
    // Each has come to the server once, and once more where its token was turned down.
    let sent = lanes.reduce(0) { $0 + $1.mutationCount + $1.events.mutationChallenges }
    #expect(arrivals <= sent, "seed \(Self.seed): the server's counter")
    let created = lanes.reduce(into: Set()) { $0.formUnion($1.created) }
    #expect(created.isSubset(of: titles), "seed \(Self.seed): some were lost")
    // A run in which nothing could have gone wrong would show nothing.
    #expect(titles.count > created.count, "Some were carried out, and their answers spoiled.")
    #expect(lanes.contains { $0.events.retries > 0 })
    #expect(lanes.contains { $0.events.mutationChallenges > 0 })
    #expect(created.count >= 20)
  }
}

/// One after the other, requests of many short-lived clients through a proxy that spoils every other request.
private struct Lane {
  let events = Events()
  private(set) var created: Set<String> = []
  private(set) var mutationCount = 0

  private let number: Int
  private let proxy: FaultyProxy
  private let tokens: InMemoryTokenProvider

  init(_ number: Int, before server: BFFServer, seed: Int) async throws {
    self.number = number
    proxy = try await FaultyProxy(before: server, rate: 0.5, seed: seed + number)
    let logins = try APIClient(baseURL: server.graphqlURL)
    tokens = InMemoryTokenProvider { _ in
      LogIn().post(on: logins).map { response in
        // Nobody says when it expires, so that challenges come.
        AccessToken(response.data.login.accessToken)
      }
    }
  }

  func run(until end: ContinuousClock.Instant) async throws -> Lane {
    var lane = self
    var count = 0
    // However slow the machine is, some are carried out.
    while ContinuousClock.now < end || lane.created.count < 5 {
      // So few for one circuit breaker that it does not open.
      let client = try client()
      for _ in 0..<15 where ContinuousClock.now < end || lane.created.count < 5 {
        count += 1
        let title = "\(number)/\(count)"
        if count.isMultiple(of: 3) {
          _ = try? await Ping().post(on: client).value
          continue
        }
        lane.mutationCount += 1
        if (try? await CreateMoment(title: title).post(on: client).value.data) != nil { lane.created.insert(title) }
      }
    }
    _ = try await proxy.stop()
    return lane
  }

  private func client() throws -> APIClient {
    var client = try APIClient(
      baseURL: proxy.url, middlewares: .standard(tokens: tokens, retries: 5),
      timeouts: HTTPTimeouts(idle: .milliseconds(250), total: .seconds(1)))
    client.observer = events
    return client
  }
}

/// Counts what asks for another attempt.
private final class Events: RequestObserver {
  private let counts = Mutex((retries: 0, mutationChallenges: 0))

  var retries: Int { counts.withLock { $0.retries } }
  var mutationChallenges: Int { counts.withLock { $0.mutationChallenges } }

  func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
    let isMutation = request.operationName == "createMoment"
    return { event in
      switch event {
      case .retrying: self.counts.withLock { $0.retries += 1 }
      case .challenged where isMutation: self.counts.withLock { $0.mutationChallenges += 1 }
      default: break
      }
    }
  }
}
