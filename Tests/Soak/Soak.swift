import BFFOperations
import Foundation
import GraphQLClient
import HTTPClientCore
import HTTPMiddlewares
import Streams
import TestSupport

/// Sends queries and mutations through the standard stack to the real server, behind a proxy that spoils one in twenty,
/// under tokens that live a second, while a process full of ``Troubles`` is made, and a ``LiveWatch`` is kept; then says
/// whether all was as it has to be.
@main
struct Soak {
  /// What one request may take, and how late its deadline may come.
  private static let deadline = Duration.seconds(2)
  private static let tolerance = Duration.milliseconds(250)
  private static let workers = 8

  private let duration: Duration
  private let makesShortages: Bool
  private let seed: Int
  private let tally = Tally()

  static func main() async {
    let arguments = CommandLine.arguments
    let makesShortages = arguments.dropFirst(3) == ["--shortages"]
    guard arguments.count == (makesShortages ? 4 : 3), let seconds = Int(arguments[1]), seconds > 0,
      let seed = Int(arguments[2])
    else {
      print("usage: soak SECONDS SEED [--shortages]")
      exit(64)
    }
    do {
      exit(try await Soak(duration: .seconds(seconds), seed: seed, makesShortages: makesShortages).run() ? 0 : 1)
    } catch {
      print("The soak could not be run: \(error)")
      exit(70)
    }
  }

  private init(duration: Duration, seed: Int, makesShortages: Bool) {
    self.duration = duration
    self.seed = seed
    self.makesShortages = makesShortages
  }

  private func run() async throws -> Bool {
    let server = try await BFFServer.start(arguments: ["--auth", "http", "--token-ttl-s", "1"])
    let proxy = try await FaultyProxy(before: server, rate: 0.05, seed: seed)
    let client = try client(for: proxy.url)
    let troubles = try await Troubles(runsOutOfDescriptors: makesShortages)
    let end = ContinuousClock.now + duration
    async let troubled = troubles.run(until: end)
    let live = try await LiveWatch(before: server, seed: seed)
    async let watched = live.run(until: end)
    let usage = try await withThrowingTaskGroup(of: UsageLog?.self) { group in
      for worker in 0..<Self.workers {
        group.addTask {
          await work(worker, on: client, until: end)
          return nil
        }
      }
      group.addTask { try await watch(until: end) }
      return try await group.reduce(into: UsageLog()) { if let log = $1 { $0 = log } }
    }
    let (visits, likes) = try await (troubled, watched)
    let faults = try await proxy.stop()
    // Straight to the server, and with a token that does not expire.
    var direct = try APIClient(baseURL: server.graphqlURL)
    try direct.defaultHeaders.set("Authorization", to: "Bearer valid-token")
    direct.responseBodyLimit = 1 << 30
    let moments = try await ReadTitles().post(on: direct).value.data.getMomentsDetailsByUserID.moments
    let operations = try await server.stats().operations
    try await server.stop()
    return report(
      titles: moments.compactMap(\.title), faults: faults, operations: operations, usage: usage, visits: visits,
      likes: likes)
  }

  private func client(for url: URL) throws -> APIClient {
    // Tokens come through the proxy, too: some refreshes fail, and others have to follow.
    let logins = try APIClient(baseURL: url, timeouts: HTTPTimeouts(total: .seconds(1)))
    let tokens = InMemoryTokenProvider { _ in
      LogIn().post(on: logins).map { response in
        let token = response.data.login
        return AccessToken(token.accessToken, expiresAt: token.expiresAt)
      }
    }
    var client = try APIClient(
      baseURL: url, middlewares: .standard(tokens: tokens, concurrency: Self.workers / 2),
      // A server that hangs is given up in time for another attempt.
      timeouts: HTTPTimeouts(idle: .milliseconds(600), total: Self.deadline))
    client.observer = tally
    return client
  }

  private func work(_ worker: Int, on client: APIClient, until end: ContinuousClock.Instant) async {
    let clock = ContinuousClock()
    var turn = 0
    while clock.now < end {
      turn += 1
      let start = clock.now
      let isAnswered: Bool
      if turn % 5 == 0 {
        let title = "\(worker)/\(turn)"
        isAnswered = (try? await CreateMoment(title: title).post(on: client).value) != nil
        tally.update { counts in
          counts.mutations += 1
          if isAnswered { counts.created.insert(title) }
        }
      } else {
        isAnswered = (try? await Ping().post(on: client).value) != nil
        tally.update { counts in
          counts.queries += 1
          if !isAnswered { counts.failedQueries += 1 }
        }
      }
      let took = clock.now - start
      tally.update { $0.slowest = max($0.slowest, took) }
      // As a program does. While sign-ins that failed pause, requests fail at once, and a loop that does not wait would
      // count hundreds of failures for one.
      if !isAnswered { try? await Task.sleep(for: .milliseconds(250)) }
    }
  }

  private func watch(until end: ContinuousClock.Instant) async throws -> UsageLog {
    var usage = UsageLog()
    while ContinuousClock.now < end {
      try await Task.sleep(for: min(.seconds(1), duration / 60))
      usage.sample()
    }
    return usage
  }

  private func report(
    titles: [String], faults: [String: Int], operations: [String: Int], usage: UsageLog,
    visits: Troubles.Counts, likes: LiveWatch.Counts
  ) -> Bool {
    let counts = tally.value
    let doubled = titles.count - Set(titles).count
    let lost = counts.created.subtracting(titles).count
    let spoiled = faults.filter { $0.key != "none" }.values.reduce(0, +)
    let growth = usage.growth()
    print(
      """
      \(counts.queries) queries, of which \(counts.failedQueries) failed; \(counts.mutations) mutations, of which \
      \(counts.mutations - counts.created.count) failed
      \(counts.attempts) attempts, \(counts.retries) retries, \(counts.challenges) challenges, \
      \(operations["login"] ?? 0) tokens
      \(spoiled) of \(faults.values.reduce(0, +)) requests spoiled: \(Self.list(faults.filter { $0.key != "none" }))
      failures: \(Self.list(counts.failures))
      amid troubles \(visits.answered) requests were answered and \(visits.failed) failed, the slowest after \
      \(visits.slowest); \(visits.shortages) times there were no descriptors; \
      \(visits.unauthorized) requests asked a dead identity provider \(visits.refreshes) times
      live: \(likes.likes) likes, \(likes.cuts) cuts, \(likes.values) values, \(likes.gaps) gaps reported
      live connections spoiled: \(Self.list(likes.faults))
      the slowest took \(counts.slowest); at the end \((usage.latest?.memory ?? 0) >> 10) KiB, \
      \(usage.latest?.descriptors ?? 0) descriptors, \(usage.latest?.threads ?? 0) threads
      """)
    let checks = [
      // A run in which nothing could have gone wrong would show nothing.
      (
        "half of the mutations succeeded, at least",
        counts.created.count * 2 >= counts.mutations && counts.mutations > 0
      ),
      ("requests were spoiled and sent again", spoiled > 0 && counts.retries > 0),
      ("tokens were renewed", operations["login"] ?? 0 > 1),
      ("every request ended within its deadline", counts.slowest <= Self.deadline + Self.tolerance),
      ("every request was seen to end", counts.requests == counts.queries + counts.mutations),
      ("no mutation was carried out twice (\(doubled))", doubled == 0),
      ("no mutation that succeeded is missing (\(lost))", lost == 0),
      ("retries stayed within their budget", counts.retries <= counts.requests / 10 + 10),
      // What looks like an answer, and is none, is not asked for again, nor is what waits for a token that fails.
      ("three queries in a hundred failed, at most", counts.failedQueries * 100 <= 3 * max(counts.queries, 100)),
      // Name look-ups, silent connections, shortages, blocked observers and thousands of origins are no excuse.
      (
        "amid troubles every healthy request was answered within its deadline (\(visits.firstFailure ?? "all were"))",
        visits.failed == 0 && visits.answered > 0 && visits.slowest <= Troubles.deadline + Self.tolerance
      ),
      ("live connections were cut, and made again", likes.cuts > 0 && likes.gaps >= likes.cuts && likes.values > 0),
      (
        "live connections were refused, and spoiled amid what they carried",
        likes.faults.contains { $0.key.hasPrefix("stream ") }
          && likes.faults.contains { $0.key != "none" && !$0.key.hasPrefix("stream ") }
      ),
      ("no like came twice or too late (\(likes.doubled))", likes.doubled == 0),
      ("no like is missing without a gap that was reported (\(likes.lost))", likes.lost == 0),
      (
        "all subscriptions lasted, and were up to date (\(likes.failure ?? "no failure"))",
        likes.failure == nil && likes.upToDate == 3
      ),
      ("there were troubles", (visits.shortages > 0) == makesShortages && visits.refreshes > 0),
      ("a dead identity provider was asked seldom", visits.refreshes * 10 <= visits.unauthorized),
      ("memory is flat (\((growth?.memory ?? 0) >> 10) KiB more)", growth.map { $0.memory < 5 << 20 } ?? false),
      ("descriptors are flat (\(growth?.descriptors ?? 0) more)", growth.map { $0.descriptors <= 64 } ?? false),
      ("threads are flat (\(growth?.threads ?? 0) more)", growth.map { $0.threads <= 2 } ?? false),
    ]
    for (what, isTrue) in checks { print(isTrue ? "ok    " : "FAILED", what) }
    return checks.allSatisfy(\.1)
  }

  private static func list(_ counts: [String: Int]) -> String {
    counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
  }
}
