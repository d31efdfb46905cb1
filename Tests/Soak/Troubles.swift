import Foundation
import GraphQLClient
import HTTPClientCore
import HTTPMiddlewares
import SocketHTTP
import Streams
import Synchronization
import TestSupport

/// What goes wrong beside the soak's own requests, all at once and on one transport: thousands of origins, connections
/// that fall silent, names that resolve slowly, a machine that runs out of descriptors, an identity provider that is
/// dead, and observers that never return. Healthy requests go to the same transport meanwhile.
final class Troubles: Sendable {
  struct Counts: Sendable {
    var answered = 0
    var failed = 0
    var slowest = Duration.zero
    var firstFailure: String?
    /// Requests that need a token, and how often the dead identity provider was asked for one.
    var unauthorized = 0
    var refreshes = 0
    var shortages = 0
  }

  /// What a healthy request may take.
  static let deadline = Duration.seconds(2)
  private static let blockedObservers = 300
  private static let origins = 10_000

  private let runsOutOfDescriptors: Bool
  private let crowd: Crowd
  private let transport: SocketTransport
  private let middlewares: [any HTTPMiddleware]
  private let counts = Mutex(Counts())
  /// Opened once the observers may return.
  private let gate = DispatchSemaphore(value: 0)

  /// - Parameter runsOutOfDescriptors: Whether to do so every few seconds. In a shortage Dispatch may end the process
  ///   with SIGILL: once a second, if work waits for its global queues, it opens `/proc/self/task/…/stat` of each of
  ///   its threads, and takes a file that it cannot open for a thread that has exited.
  init(runsOutOfDescriptors: Bool) async throws {
    self.runsOutOfDescriptors = runsOutOfDescriptors
    crowd = try await Crowd()
    var configuration = SocketTransport.Configuration()
    // Reached within the warm-up, so that what the pool keeps is flat after it.
    configuration.maximumConnections = 500
    configuration.proxy = .none
    configuration.resolver = { host in
      guard host.hasPrefix("slow") else { return ["127.0.0.1"] }
      Thread.sleep(forTimeInterval: 3)
      throw URLError(.cannotFindHost)
    }
    transport = SocketTransport(configuration: configuration)
    middlewares = .standard()
  }

  /// Makes trouble until a time; returns what came of the healthy requests.
  func run(until end: ContinuousClock.Instant) async throws -> Counts {
    let blocked = try (0..<Self.blockedObservers).map { number in
      try client("blocked\(number)").transport.send(request("blocked\(number)")).subscribe(
        onNext: { [gate] _ in
          gate.wait()
          gate.signal()
        }, onError: { _ in })
    }
    try await withThrowingTaskGroup { group in
      for worker in 0..<2 { group.addTask { try await self.visitOrigins(worker, until: end) } }
      group.addTask { try await self.useSilentConnections(until: end) }
      for worker in 0..<4 { group.addTask { try await self.lookUpSlowNames(worker, until: end) } }
      group.addTask { try await self.askWithoutTokens(until: end) }
      if runsOutOfDescriptors { group.addTask { try await self.runOutOfDescriptors(until: end) } }
      try await group.waitForAll()
    }
    gate.signal()
    for subscription in blocked { subscription.dispose() }
    _ = try await crowd.stop()
    return counts.withLock { $0 }
  }

  private func url(_ host: String) throws -> URL {
    guard let url = URL(string: "http://\(host).test:\(crowd.port)/") else { throw URLError(.badURL) }
    return url
  }

  private func request(_ host: String) throws -> HTTPRequest { try HTTPRequest(method: .get, url: url(host)) }

  private func client(_ host: String) throws -> APIClient {
    try APIClient(
      baseURL: try url(host), transport: transport, middlewares: middlewares,
      timeouts: HTTPTimeouts(connect: .seconds(1), idle: .milliseconds(600), total: Self.deadline),
      allowsCleartext: true)
  }

  /// Sends a request that nothing is wrong with.
  private func visit(_ host: String, path: String = "") async throws {
    let (client, clock) = (try client(host), ContinuousClock())
    let start = clock.now
    let result: Result<String, any Error>
    do { result = .success(try await Visit(path: path).get(on: client).value) } catch { result = .failure(error) }
    let took = clock.now - start
    counts.withLock { counts in
      counts.slowest = max(counts.slowest, took)
      switch result {
      case .success: counts.answered += 1
      case .failure(let error):
        counts.failed += 1
        counts.firstFailure = counts.firstFailure ?? "\(host): \(error)"
      }
    }
  }

  private func visitOrigins(_ worker: Int, until end: ContinuousClock.Instant) async throws {
    var turn = worker
    while ContinuousClock.now < end {
      try await visit("o\(turn % Self.origins)")
      turn += 2
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  /// The first request leaves a connection that never answers again; the second finds it in the pool.
  private func useSilentConnections(until end: ContinuousClock.Instant) async throws {
    var turn = 0
    while ContinuousClock.now < end {
      turn += 1
      try await visit("quiet\(turn % 20)", path: "silent")
      try await visit("quiet\(turn % 20)")
      try await Task.sleep(for: .milliseconds(50))
    }
  }

  private func lookUpSlowNames(_ worker: Int, until end: ContinuousClock.Instant) async throws {
    var turn = 0
    while ContinuousClock.now < end {
      turn += 1
      let client = try client("slow\(worker)x\(turn)")
      async let _ = try? Visit().get(on: client).value
      try await Task.sleep(for: .milliseconds(200))
    }
  }

  private func askWithoutTokens(until end: ContinuousClock.Instant) async throws {
    var client = try client("tokens")
    client.middlewares = .standard(
      tokens: InMemoryTokenProvider { [self] _ in
        counts.withLock { $0.refreshes += 1 }
        return .error(RequestError(.httpStatus, "The refresh token was revoked.", status: 400))
      })
    while ContinuousClock.now < end {
      _ = try? await Visit().get(on: client).value
      counts.withLock { $0.unauthorized += 1 }
      try await Task.sleep(for: .milliseconds(2))
    }
  }

  /// Every few seconds there are no more descriptors than are open, for a third of a second.
  private func runOutOfDescriptors(until end: ContinuousClock.Instant) async throws {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    while ContinuousClock.now < end {
      try await Task.sleep(for: .seconds(4))
      guard let open = ProcessUsage.current?.descriptors else { continue }
      var short = rlimit(rlim_cur: rlim_t(open), rlim_max: limit.rlim_max)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &short)
      try await Task.sleep(for: .milliseconds(300))
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      counts.withLock { $0.shortages += 1 }
    }
  }
}

/// A request whose response is a text.
private struct Visit: APISession {
  typealias ResponseType = String
  var path = ""

  var responseParser: ResponseParser<String> { .text }
}
