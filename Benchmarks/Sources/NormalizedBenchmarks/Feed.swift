import Foundation
import GraphQLClient
import HTTPClientCore
import Streams
import StrictJSON
import Synchronization

/// A feed of moments: for 100 KB, 480 entities in some 900 objects.
struct Feed: Sendable {
  static let schema = """
    type Query { feed(first: Int!): [Moment!]! }
    type Moment { id: ID! title: String createdDate: String isLiked: Boolean photos: [String!]! place: Place author: User!
      comments: [Comment!]! }
    type User { id: ID! name: String! avatar: String }
    type Comment { id: ID! text: String author: User! }
    type Place { name: String }
    """

  let momentCount: Int

  /// The response with no moments.
  static let empty = Data(#"{"data":{"feed":[]}}"#.utf8)

  /// The response.
  var body: Data {
    var json = "{\"data\":{\"feed\":["
    for number in 0..<momentCount {
      if number > 0 { json += "," }
      json += "{\"__typename\":\"Moment\",\"id\":\"m\(number)\",\"title\":\"The title of \(number), of some length\""
      json += ",\"createdDate\":\"2026-11-\(10 + number % 20)T08:00:00Z\",\"isLiked\":\(number % 3 == 0)"
      json += ",\"photos\":[\"https://cdn.example.com/\(number)/a.jpg\"],\"place\":"
      json += number % 5 == 0 ? "{\"__typename\":\"Place\",\"name\":\"Place \(number)\"}" : "null"
      json += ",\"author\":\(user(number)),\"comments\":["
      if number % 5 < 2 {
        let comment = number / 5 * 2 + number % 5
        json += "{\"__typename\":\"Comment\",\"id\":\"c\(comment)\",\"text\":\"A comment\",\"author\":"
        json += user(number + 1) + "}"
      }
      json += "]}"
    }
    return Data((json + "]}}").utf8)
  }

  /// The response with another title of one moment, which has as many bytes.
  func changed(_ number: Int) -> Data {
    Data(
      String(decoding: body, as: UTF8.self).replacing("The title of \(number),", with: "New title of \(number),").utf8)
  }

  private func user(_ number: Int) -> String {
    let number = number % max(momentCount / 5, 1)
    return "{\"__typename\":\"User\",\"id\":\"u\(number)\",\"name\":\"User \(number)\""
      + ",\"avatar\":\"https://cdn.example.com/u\(number)\"}"
  }

  struct User: JSONSelection, Decodable, Sendable {
    let id: String
    let name: String
    let avatar: String?

    init(selecting json: inout JSONReader) throws(JSONError) {
      (id, name, avatar) = try (json.string("id"), json.string("name"), json.optionalString("avatar"))
    }
  }

  struct Comment: JSONSelection, Decodable, Sendable {
    let id: String
    let text: String?
    let author: User

    init(selecting json: inout JSONReader) throws(JSONError) {
      (id, text, author) = try (json.string("id"), json.optionalString("text"), json.value("author"))
    }
  }

  struct Place: JSONSelection, Decodable, Sendable {
    let name: String?

    init(selecting json: inout JSONReader) throws(JSONError) { name = try json.optionalString("name") }
  }

  struct Moment: JSONSelection, Decodable, Sendable {
    let id: String
    let title: String?
    let createdDate: String?
    let isLiked: Bool?
    let photos: [String]
    let place: Place?
    let author: User
    let comments: [Comment]

    init(selecting json: inout JSONReader) throws(JSONError) {
      (id, title) = try (json.string("id"), json.optionalString("title"))
      (createdDate, isLiked) = try (json.optionalString("createdDate"), json.optionalBool("isLiked"))
      (photos, place) = try (json.strings("photos"), json.optionalValue("place"))
      (author, comments) = try (json.value("author"), json.list("comments"))
    }
  }

  struct Moments: JSONSelection, Decodable, Sendable {
    let feed: [Moment]

    init(selecting json: inout JSONReader) throws(JSONError) { feed = try json.list("feed") }
  }
}

/// The feed as typed values. `Other` makes an operation of its own, which reads the same.
struct GetFeed: GraphQLSession {
  struct Variables: Encodable, Hashable, Sendable {
    let first: Int
    let other: Int
  }

  typealias ResponseData = Feed.Moments

  static let query =
    "query getFeed($first: Int!, $other: Int) { feed(first: $first) { ...MomentFields } }" + fields
  let variables: Variables

  init(_ other: Int = 0) { variables = Variables(first: 1000, other: other) }

  static let fields: GraphQLDocument = """
    fragment MomentFields on Moment {
      id title createdDate isLiked photos place { name } author { id name avatar }
      comments { id text author { id name avatar } }
    }
    """
}

/// The feed as bytes, which are checked and skipped.
struct GetFeedBytes: GraphQLSession {
  struct ResponseData: JSONDecodable, Decodable, Sendable {
    let count: Int

    init(from json: inout JSONReader) throws(JSONError) { count = try json.readRaw().bytes.count }
    init(from decoder: any Decoder) throws { count = 0 }
  }

  static let query =
    "query getFeedBytes($first: Int!, $other: Int) { feed(first: $first) { ...MomentFields } }" + GetFeed.fields
  let variables: GetFeed.Variables

  init(_ other: Int = 0) { variables = GetFeed.Variables(first: 1000, other: other) }
}

/// A server that responds at once, from memory.
final class FeedServer: HTTPTransport {
  private let kept: Mutex<Data>

  init(_ body: Data) { kept = Mutex(body) }

  var body: Data {
    get { kept.withLock { $0 } }
    set { kept.withLock { $0 = newValue } }
  }

  func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    .from([.head(HTTPResponseHead(status: 200, headers: ["Content-Type": "application/json"])), .body(body)])
  }

  /// A client of this server.
  func client() throws -> APIClient {
    guard let url = URL(string: "http://127.0.0.1/graphql") else { throw URLError(.badURL) }
    return try APIClient(baseURL: url, transport: self)
  }
}

extension Observable {
  /// The first element, of a stream that has it at once.
  func first() throws -> Element {
    let result = Mutex<Result<Element, any Error>?>(nil)
    subscribe(
      onNext: { element in result.withLock { $0 = $0 ?? .success(element) } },
      onError: { error in result.withLock { $0 = $0 ?? .failure(error) } }
    ).dispose()
    guard let result = result.withLock({ $0 }) else { throw URLError(.timedOut) }
    return try result.get()
  }
}
