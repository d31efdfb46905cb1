import BenchmarkSupport
import Foundation
import HTTP
import JSON
import Models
import Networking
import Streams

/// What a request costs beside its transport and the decoding of its answer: over a transport that answers at once, from
/// memory.
struct InMemory {
  private struct Transport: HTTPTransport {
    let body: Data
    let head: HTTPResponseHead

    func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
      .from([.head(head), .body(body)])
    }
  }

  private static let floor = 5.0
  private let body: Data
  private let transport: Transport
  private let session: GetMomentsByUserIDSession
  private let request: HTTPRequest

  init(size: Int) throws {
    guard let url = URL(string: "http://127.0.0.1/graphql") else { throw URLError(.badURL) }
    body = Data(Timeline.answer(of: size))
    transport = Transport(
      body: body, head: HTTPResponseHead(status: 200, headers: ["Content-Type": "application/json"]))
    session = GetMomentsByUserIDSession(client: try APIClient(baseURL: url, transport: transport))
    request = try HTTPRequest(method: .post, url: url, body: Data(count: 600))
  }

  /// The whole way, so many times.
  func run(_ count: Int) throws {
    let bag = DisposeBag()
    nonisolated(unsafe) var moments = 0  // The transport calls back before it returns.
    for _ in 0..<count {
      session.getMoments(userID: "0").subscribe(onNext: { moments += $0.moments.count }).disposed(by: bag)
    }
    guard moments > 0 else { throw URLError(.badServerResponse) }
  }

  private func runTransport(_ count: Int) throws {
    let bag = DisposeBag()
    nonisolated(unsafe) var parts = 0  // As above.
    for _ in 0..<count { transport.send(request).subscribe(onNext: { _ in parts += 1 }).disposed(by: bag) }
    guard parts == count * 2 else { throw URLError(.badServerResponse) }
  }

  private func runDecoding(_ count: Int) throws {
    var moments = 0
    for _ in 0..<count {
      moments += try Answer(json: body.bytes).data.getMomentsDetailsByUserID.moments.count
    }
    guard moments > 0 else { throw URLError(.badServerResponse) }
  }

  /// The envelope and no more, read straight from the bytes.
  private struct Answer: JSONDecodable {
    let data: GetMomentsByUserIDSession.Session.ResponseData

    init(from json: inout JSONReader) throws(JSONError) {
      var data: GetMomentsByUserIDSession.Session.ResponseData?
      try json.beginObject()
      while try json.nextKey() { data = try json.read() }
      self.data = try json.require(data, "data")
    }
  }

  /// The microseconds that each takes: the whole way, the transport, the decoding, and what is left of the whole.
  ///
  /// Medians of many short rounds, each of which gives a difference of its own: what is compared ran on the processor as it
  /// was then.
  func measure() throws -> [Double] {
    let works = [run, runTransport, runDecoding]
    var rounds: [[Double]] = []
    for round in 0...50 {
      let times = try works.map { work in
        let start = processorTime()
        try work(2_000_000 / body.count)
        return (processorTime() - start) / Double(2_000_000 / body.count) * 1e6
      }
      // The first round warms up.
      if round > 0 { rounds.append(times + [times[0] - times[1] - times[2]]) }
    }
    return Self.medians(rounds)
  }

  private static func medians(_ rows: [[Double]]) -> [Double] {
    (0...3).map { column in rows.map { $0[column] }.sorted()[rows.count / 2] }
  }

  /// Prints the table, and says whether the floor is reached. Each process lays out its memory in its own way, which shows:
  /// there are several for each line.
  static func compare(rounds: Int) throws -> Bool {
    print("| timeline | whole µs | transport | decoding | the SDK's own | floor |\n|---|---:|---:|---:|---:|---:|")
    var isReached = true
    for size in [2000, 20_000] {
      let medians = medians(try (0..<max(rounds, 5)).map { _ in try OwnProcess.measure(["memory", "\(size)"]) })
      let isRowReached = medians[3] <= floor
      isReached = isRowReached && isReached
      print(
        "| \(size / 1000) KB | \(medians.map { $0.formatted(1) }.joined(separator: " | ")) "
          + "| \(floor.formatted(1))\(isRowReached ? "" : " MISSED") |")
    }
    return isReached
  }
}
