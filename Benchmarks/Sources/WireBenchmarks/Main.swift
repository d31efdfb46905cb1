import Foundation
import HTTPClientCore
import HTTPMiddlewares
import Measuring
import Networking
import Stores
import Streams

/// What a query costs by each of the ways that `GraphQLSettings.wire` and the caches offer: bytes of its messages, and
/// processor time, over a transport that responds at once on the calling thread, so that nothing else is counted.
///
///     WireBenchmarks [ROUNDS]      prints the table; ends with 1 where the floor is missed
///     WireBenchmarks WAY COUNT     only one way, for a profile
@main
struct Main {
  static func main() throws {
    let arguments = CommandLine.arguments.dropFirst().map { $0 }
    let ways = try Way.all()
    if let way = ways.first(where: { $0.name == arguments.first }) {
      return (0..<(Int(arguments.last ?? "") ?? 10_000)).forEach { _ in way.run() }
    }
    let rounds = max(5, arguments.first.flatMap { Int($0) } ?? 7)
    var times = ways.map { _ in [Double]() }
    for round in 0...rounds {
      for (index, way) in ways.enumerated() {
        let start = processorNanoseconds()
        for _ in 0..<20_000 / way.queries { way.run() }
        // The first round warms up.
        if round > 0 { times[index].append((processorNanoseconds() - start) / 20_000) }
      }
    }
    print("| a query | bytes sent | bytes received | µs |\n|---|---:|---:|---:|")
    var medians: [String: Double] = [:]
    for (way, times) in zip(ways, times) {
      let (sent, received) = way.bytesPerQuery()
      let median = times.sorted()[rounds / 2] / 1000
      medians[way.name] = median
      print("| \(way.name) | \(sent) | \(received) | \(median.formatted(.number.precision(.fractionLength(2)))) |")
    }
    func extra(_ name: String) -> Double { (medians[name] ?? .infinity) - (medians[Way.storeName] ?? 0) }
    let isReached = extra(Way.cachedRequestName) <= 3
    print(
      """

      A cached request over a hit of a store: \(extra(Way.cachedRequestName).formatted(.number.precision(.fractionLength(2)))) \
      µs of 3\(isReached ? "" : ", MISSED"); a cached query, with its session: \
      \(extra(Way.cachedName).formatted(.number.precision(.fractionLength(2)))) µs
      """)
    exit(isReached ? 0 : 1)
  }
}

/// One way to get a timeline.
private struct Way {
  static let cachedName = "GET with hash, fresh in the cache"
  static let cachedRequestName = "the same as a request, without a session"
  static let storeName = "a hit of a Store"

  let name: String
  /// How many queries a run sends.
  var queries = 1
  var transport: Transport?
  let run: () -> Void

  /// The bytes of the messages of one run, divided among its queries.
  func bytesPerQuery() -> (sent: Int, received: Int) {
    guard let transport else { return (0, 0) }
    let before = (transport.sent, transport.received)
    run()
    return ((transport.sent - before.0) / queries, (transport.received - before.1) / queries)
  }

  static func all() throws -> [Way] {
    [
      try way("POST") { $0.graphQL.wire = .post },
      try way("GET") { $0.graphQL.wire = .get },
      try way("GET with hash") { $0.graphQL.wire = .persistedQueries() },
      try way("POST in batches of 10", queries: 10) { $0.graphQL.wire.batching = .within(.seconds(1), upTo: 10) },
      try way("GET with hash, confirmed by 304") {
        $0.middlewares = [CacheMiddleware()]
        $0.graphQL.wire = .persistedQueries()
        try $0.defaultHeaders.set("Cache-Control", to: "no-cache")
      },
      try way(cachedName) {
        $0.middlewares = [CacheMiddleware()]
        $0.graphQL.wire = .persistedQueries()
      },
      try cachedRequest(),
      store(),
    ]
  }

  /// The response of a cache to a request that is made already, and is not decoded.
  private static func cachedRequest() throws -> Way {
    let hash = String(repeating: "0123456789abcdef", count: 4)
    let query = [
      "operationName": "getMomentsDetailsByUserID", "variables": #"{"userID":"0","withLikes":true}"#,
      "extensions": #"{"persistedQuery":{"sha256Hash":"\#(hash)","version":1}}"#,
    ].map { "\($0.key)=\($0.value.percentEncoded)" }.joined(separator: "&")
    guard let url = URL(string: "http://127.0.0.1/graphql?\(query)") else { throw URLError(.badURL) }
    let transport = Transport(count: 1)
    let request = try HTTPRequest(method: .get, url: url)
    let cache = [CacheMiddleware()]
    return Way(name: cachedRequestName, transport: transport) {
      _ = transport.send(request, through: cache).collect(upTo: 1 << 20)
        .subscribe(onNext: { _ in }, onError: { fatalError("\($0)") })
    }
  }

  private static func way(
    _ name: String, queries: Int = 1, _ change: (inout APIClient) throws -> Void
  ) throws -> Way {
    guard let url = URL(string: "http://127.0.0.1/graphql") else { throw URLError(.badURL) }
    let transport = Transport(count: queries)
    var client = try APIClient(baseURL: url, transport: transport)
    try change(&client)
    let session = GetMomentsByUserIDSession(client: client)
    return Way(name: name, queries: queries, transport: transport) {
      for _ in 0..<queries {
        _ = session.getMoments(userID: "0").subscribe(onNext: { _ in }, onError: { fatalError("\($0)") })
      }
    }
  }

  private static func store() -> Way {
    let store = Store<String, String>(.ofStream { _ in .never() })
    store.save("a", for: "0")
    return Way(name: storeName) { store.get("0", .cacheFirst).subscribe(onNext: { _ in }).dispose() }
  }
}

/// Responds at once, confirms what is asked about by its tag, and counts bytes as HTTP/1.1 writes them. All runs are on
/// one thread.
private final class Transport: HTTPTransport, @unchecked Sendable {
  private(set) var sent = 0
  private(set) var received = 0
  private let response: Data
  private let headers: HTTPHeaders = [
    "Content-Type": "application/json", "Cache-Control": "max-age=3600", "ETag": "\"a\"",
  ]

  init(count: Int) {
    let user =
      #"{"id":"0","name":"Lin Wei","avatar":"https://img.example.com/0.png","backgroundImage":"https://img.example.com/0b.png"}"#
    let one = #"{"data":{"getMomentsDetailsByUserID":{"userDetails":\#(user),"moments":[]}}}"#
    response = Data(count == 1 ? one.utf8 : "[\(repeatElement(one, count: count).joined(separator: ","))]".utf8)
  }

  func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    sent += "\(request.method) \(request.requestTarget) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8.count
    sent += Self.count(request.headers) + (request.body?.count ?? 0)
    let isKnown = request.headers["If-None-Match"] != nil
    received += "HTTP/1.1 200 OK\r\n\r\n".utf8.count + Self.count(headers) + (isKnown ? 0 : response.count)
    let head = HTTPResponseHead(status: isKnown ? 304 : 200, headers: headers)
    return isKnown ? .just(.head(head)) : .from([.head(head), .body(response)])
  }

  private static func count(_ headers: HTTPHeaders) -> Int {
    headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
  }
}
