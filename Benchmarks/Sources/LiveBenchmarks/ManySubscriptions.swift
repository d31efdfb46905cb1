import BenchmarkSupport
import Foundation
import GraphQLClient
import HTTPClientCore
import SocketHTTP
import Streams
import Synchronization

/// Many subscriptions on one WebSocket, on a server in a process of its own.
enum ManySubscriptions {
  /// How long it takes, in seconds, until all have got what they wait for; per subscription, microseconds of processor
  /// time for all that, and bytes of memory while they wait.
  struct Result: Codable {
    var subscribed = 0.0
    var back = 0.0
    var cancelled = 0.0
    var processor = 0.0
    var memory = 0.0
  }

  private static let count = 10_000
  /// Seconds from the new connection until all subscriptions have their value again.
  private static let mostBack = 1.0

  /// Prints the table; returns whether the floor was reached.
  static func compare(rounds: Int) throws -> Bool {
    guard Client.python.isAvailable else { return true }
    let results: [Result] = try (0..<rounds).map { _ in try OwnProcess.measure(["subscriptions", "\(count)"]) }
    func median(_ value: KeyPath<Result, Double>) -> Double { results.map { $0[keyPath: value] }.sorted()[rounds / 2] }
    let isReached = median(\.back) <= mostBack
    print(
      """

      | \(count) subscriptions on one socket | |
      |---|---:|
      | subscribed, and each has its value | \(median(\.subscribed).formatted(2)) s |
      | after a cut, each has its value again, from the new connection on \
      | \(median(\.back).formatted(2)) s, at most \(mostBack.formatted(0)) s\(isReached ? "" : ": MISSED") |
      | cancelled, and the server knows it | \(median(\.cancelled).formatted(2)) s |
      | processor time for each | \(median(\.processor).formatted(1)) µs |
      | memory for each | \((median(\.memory) / 1024).formatted(1)) KiB |
      """)
    return isReached
  }

  static func measure(_ count: Int) async throws -> Result {
    let server = try SubscriptionServer()
    var settings = LiveSettings()
    settings.pauses = Backoff(initial: .milliseconds(10), maximum: .milliseconds(10))
    var client = try APIClient(baseURL: server.url)
    client.graphQL.live = .webSocket(settings: settings)
    let values = Values()
    let bag = DisposeBag()
    func subscribe() {
      Connected().data(on: client).subscribe(onNext: { values.add($0.connectedAt) }).disposed(by: bag)
    }
    var result = Result()
    // The first makes the connection, as it does in an app.
    subscribe()
    await values.reach(1)
    let (start, begin, memory) = (ContinuousClock.now, processorTime(), residentMemory())
    for _ in 1..<count { subscribe() }
    await values.reach(count)
    result.subscribed = (.now - start) / .seconds(1)
    result.memory = (residentMemory() - memory) * 1_048_576 / Double(count)
    server.cut()
    await values.reach(2 * count)
    result.back = monotonicTime() - values.latest
    let cancelling = ContinuousClock.now
    bag.dispose()
    // The server has read what came before, once this one has its value.
    let last = Connected().data(on: client).subscribe(onNext: { values.add($0.connectedAt) })
    await values.reach(2 * count + 1)
    result.cancelled = (.now - cancelling) / .seconds(1)
    result.processor = (processorTime() - begin) / Double(count) * 1e6
    last.dispose()
    return result
  }

  /// The clock that the server uses, too.
  private static func monotonicTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

private struct Connected: GraphQLSubscription {
  struct ResponseData: Decodable, Sendable {
    let connectedAt: Double
  }
  static let query: GraphQLDocument = "subscription connected { connectedAt }"
}

/// Counts values, and keeps the greatest.
private final class Values: Sendable {
  private let state = Mutex((count: 0, latest: 0.0, goal: 0, waiting: CheckedContinuation<Void, Never>?.none))

  var latest: Double { state.withLock { $0.latest } }

  func add(_ value: Double) {
    let waiting = state.withLock { state in
      state.count += 1
      state.latest = max(state.latest, value)
      defer { if state.count >= state.goal { state.waiting = nil } }
      return state.count >= state.goal ? state.waiting : nil
    }
    waiting?.resume()
  }

  /// Waits until there were so many.
  func reach(_ goal: Int) async {
    await withCheckedContinuation { continuation in
      let isReached = state.withLock { state in
        guard state.count < goal else { return true }
        (state.goal, state.waiting) = (goal, continuation)
        return false
      }
      if isReached { continuation.resume() }
    }
  }
}

/// The server of `server.py`; it ends when this object is released.
private final class SubscriptionServer {
  let url: URL
  private let input = Pipe()

  private static let program = URL(filePath: #filePath).appending(path: "../server.py").standardized

  init() throws {
    let (process, output) = (Process(), Pipe())
    process.executableURL = Client.interpreter
    process.arguments = [Self.program.path()]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    guard let url = URL(string: "http://127.0.0.1:\(line.filter(\.isNumber))/graphql") else { throw URLError(.badURL) }
    self.url = url
  }

  /// Aborts all connections.
  func cut() { input.fileHandleForWriting.write(Data("cut\n".utf8)) }
}
