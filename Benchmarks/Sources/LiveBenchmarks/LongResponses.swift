import BenchmarkSupport
import Foundation
import GraphQLClient
import HTTPClientCore
import Streams
import StrictJSON

/// Responses that come in very many pieces: what they take in processor time, which must grow with their size alone.
enum LongResponses {
  /// Seconds of processor time.
  private static let most = (result: 0.2, streamed: 0.4, growing: 0.5)

  /// Prints the table; returns whether the floors were reached.
  static func compare(rounds: Int) async throws -> Bool {
    var rows: [(name: String, times: [Double], most: Double)] = [
      ("a multipart result of 4 MiB in pieces of 1 KiB, each with a brace at its end", [], most.result),
      ("`data(on:)` of 20,000 streamed items, each in a part", [], most.streamed),
      ("`responses(on:)` of 20,000 streamed items, each in a piece", [], most.growing),
    ]
    for _ in 0..<rounds {
      rows[0].times.append(try await time(largeResult))
      rows[1].times.append(try await time { _ = try await Streamed().data(on: client(pieces: 1)).value })
      rows[2].times.append(
        try await time {
          var last: Streamed.ResponseData?
          for try await response in try Streamed().responses(on: client(pieces: count)).values { last = response.data }
          guard last?.items.count == count else { throw Missing() }
        })
    }
    print("\n| responses in many pieces | processor time |\n|---|---:|")
    var isReached = true
    for row in rows {
      let median = row.times.sorted()[rounds / 2]
      let isMissed = median > row.most
      print(
        "| \(row.name) | \(median.formatted(2)) s, at most \(row.most.formatted(1)) s\(isMissed ? ": MISSED" : "") |")
      if isMissed { isReached = false }
    }
    return isReached
  }

  private struct Missing: Error {}

  private static func time(_ body: () async throws -> Void) async throws -> Double {
    let start = processorTime()
    try await body()
    return processorTime() - start
  }

  // MARK: - A large result

  private static func largeResult() async throws {
    let piece = String(repeating: "a", count: 1023) + "}"
    let text = String(repeating: piece, count: 4096)
    let body = Data("--b\r\n\r\n{\"payload\":{\"data\":{\"text\":\"\(text)\"}}}\r\n--b--".utf8)
    var client = try APIClient(
      baseURL: url, transport: Server(contentType: "multipart/mixed; boundary=b", body: body, pieces: body.count / 1024)
    )
    client.graphQL.live = .multipart()
    guard try await Large().data(on: client).value.text.utf8.count == 4 << 20 else { throw Missing() }
  }

  private struct Large: GraphQLSubscription {
    struct ResponseData: Decodable, Sendable { let text: String }
    struct Variables: Encodable, Sendable {}
    static let query: GraphQLDocument = "subscription large { text }"
    let variables = Variables()
  }

  // MARK: - Streamed items

  private static let count = 20_000
  private static let url = URL(string: "http://127.0.0.1/graphql") ?? URL(fileURLWithPath: "/")

  private struct Streamed: GraphQLSession {
    struct ResponseData: Decodable, Sendable { let items: [Int] }
    static let query: GraphQLDocument = "query streamed { items @stream(initialCount: 0) }"
  }

  private static func client(pieces: Int) throws -> APIClient {
    var body = "--b\r\n\r\n{\"data\":{\"items\":[]},\"hasNext\":true}\r\n"
    for number in 0..<count {
      body += "--b\r\nContent-Type: application/json\r\n\r\n"
      body += "{\"incremental\":[{\"path\":[\"items\",\(number)],\"items\":[\(number)]}],\"hasNext\":true}\r\n"
    }
    body += "--b\r\n\r\n{\"hasNext\":false}\r\n--b--"
    return try APIClient(
      baseURL: url, transport: Server(contentType: "multipart/mixed; boundary=b", body: Data(body.utf8), pieces: pieces)
    )
  }

  /// Sends a body in so many pieces.
  private struct Server: HTTPTransport {
    let contentType: String
    let body: Data
    let pieces: Int

    func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
      .deferred {
        let fields = try HTTPHeaders([HTTPField(name: "Content-Type", value: contentType)])
        let size = (body.count + pieces - 1) / pieces
        let parts = stride(from: 0, to: body.count, by: size).map { start in
          HTTPResponsePart.body(body[start..<min(start + size, body.count)])
        }
        return .from([.head(HTTPResponseHead(status: 200, headers: fields))] + parts)
      }
    }
  }
}
