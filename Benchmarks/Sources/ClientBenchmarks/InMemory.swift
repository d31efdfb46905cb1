import BenchmarkSupport
import Foundation
import HTTPClientCore
import Models
import Networking
import Streams
import StrictJSON

/// What a request costs apart from its transport and the decoding of its data: over a transport that responds at once,
/// from memory, with a stopwatch inside each operation.
struct InMemory {
  /// The transport's part is to make the response; passing its parts on is the SDK's.
  private struct Transport: HTTPTransport {
    let body: Data
    let head = HTTPResponseHead(status: 200, headers: ["Content-Type": "application/json"])
    let watch: Stopwatch?

    func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
      watch?.lap(\.rest)
      defer { watch?.lap(\.transport) }
      return .from([.head(head), .body(body)])
    }
  }

  private static let floor = 5.0
  private let session: GetMomentsByUserIDSession
  private let data: Data
  private let watch = Stopwatch()

  /// Without the stopwatch inside, everything but the freeing is one part.
  init(size: Int, isWatchedInside: Bool, middlewares: [any HTTPMiddleware] = []) throws {
    guard let url = URL(string: "http://127.0.0.1/graphql") else { throw URLError(.badURL) }
    let body = Data(Timeline.answer(of: size))
    let client = try APIClient(
      baseURL: url, transport: Transport(body: body, watch: isWatchedInside ? watch : nil), middlewares: middlewares)
    session = GetMomentsByUserIDSession(client: client)
    data = try Self.data(of: body)
  }

  /// The value of the member `data`, as it stands in the response.
  private static func data(of body: Data) throws -> Data {
    try JSONReader.reading(body.bytes) { json throws(JSONError) in
      var data = Data()
      try json.beginObject()
      while try json.nextKey() { data = Data(try json.readRaw().bytes) }
      return data
    }
  }

  /// Runs the whole operation `count` times.
  func run(_ count: Int) throws -> OperationTimes {
    let bag = DisposeBag()
    nonisolated(unsafe) var timeline: MomentsDetails?  // The transport calls back before it returns.
    return try (0..<count).map { _ in
      watch.start()
      session.getMoments(userID: "0").subscribe(onNext: { timeline = $0 }).disposed(by: bag)
      watch.lap(\.rest)
      guard timeline?.moments.isEmpty == false else { throw URLError(.badServerResponse) }
      timeline = nil
      watch.lap(\.freeing)
      let data = try JSONCoder().decode(GetMomentsByUserIDSession.Session.ResponseData.self, from: data)
      watch.lap(\.data)
      return withExtendedLifetime(data) { watch.times }
    }.middle
  }

  /// The times with the stopwatch inside, and those without it.
  ///
  /// The two alternate in short rounds, so that both run under the same conditions.
  static func measure(size: Int) throws -> [OperationTimes] {
    let ways = try [true, false].map { try InMemory(size: size, isWatchedInside: $0) }
    let rounds = try (0...50).map { _ in try ways.map { try $0.run(5_000_000 / size) } }
    // The first round warms up.
    return ways.indices.map { way in rounds.dropFirst().map { $0[way] }.middle }
  }

  /// Prints the table, and returns whether the floor is reached. Each process lays out its memory differently, which
  /// affects the times, so there are several processes for each line.
  static func compare(rounds: Int) throws -> Bool {
    print(
      "| timeline | whole µs | transport | data | freeing | the SDK's own | floor | whole, unwatched |\n"
        + "|---|---:|---:|---:|---:|---:|---:|---:|")
    var isReached = true
    for size in [2000, 20_000] {
      let processes: [[OperationTimes]] = try (0..<max(rounds, 5)).map { _ in
        try OwnProcess.measure(["memory", "\(size)"])
      }
      let (times, unwatched) = (processes.map { $0[0] }.middle, processes.map { $0[1] }.middle)
      let isRowReached = times.sdk <= floor
      isReached = isRowReached && isReached
      let parts = [times.whole, times.transport, times.data, times.freeing, times.sdk].map { $0.formatted(1) }
      print(
        "| \(size / 1000) KB | \(parts.joined(separator: " | ")) | \(floor.formatted(1))\(isRowReached ? "" : " MISSED") "
          + "| \(unwatched.whole.formatted(1)) |")
    }
    return isReached
  }
}
