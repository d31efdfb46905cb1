import AsyncHTTPClient
import Foundation
import Hummingbird
import NIOCore
import NIOHTTP1

/// What `measure` compares `TimelineServer` with.
///
///     ByHand backend PORT         a GraphQL backend that responds to everything with one timeline, from memory
///     ByHand server PORT BFF_URL  the route `/timelines/:user`, written on async-http-client and JSONDecoder
@main
struct ByHand {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count >= 3, let port = Int(arguments[2]) else {
      return print("ByHand backend|server PORT [BFF_URL]")
    }
    let router = Router()
    if arguments[1] == "backend" {
      router.post("graphql") { request, _ in try await Backend.response(to: request) }
    } else {
      let url = arguments[3]
      router.get("timelines/:user") { _, context in
        try await TimelinePage.fetched(from: url, userID: context.parameters.require("user"))
      }
    }
    let configuration = ApplicationConfiguration(address: .hostname("127.0.0.1", port: port))
    try await Application(router: router, configuration: configuration).runService()
  }
}

private enum Backend {
  private static let timeline: ByteBuffer = {
    let moments = (0..<60).map { index in
      """
      {"id": "m0-\(index)", "userDetails": {"name": "Lin Wei", "avatar": "https://example.com/a.jpg"}, "type": "TEXT",
      "title": "Moment \(index)", "url": null, "photos": [], "createdDate": "1700000000", "isLiked": false,
      "likes": [{"id": "1", "avatar": "https://example.com/1.jpg"}]}
      """
    }
    let owner =
      #"{"id": "0", "name": "Lin Wei", "avatar": "https://example.com/a.jpg", "backgroundImage": "https://example.com/b.jpg"}"#
    return ByteBuffer(
      string: #"{"data": {"getMomentsDetailsByUserID": {"userDetails": \#(owner), "moments": ["#
        + moments.joined(separator: ",") + "]}}}")
  }()

  static func response(to request: Request) async throws -> Response {
    let query = String(buffer: try await request.body.collect(upTo: 1 << 20))
    let isLogin = query.contains("mutation logIn")
    let body = isLogin ? ByteBuffer(string: #"{"data": {"login": {"accessToken": "token"}}}"#) : timeline
    return Response(
      status: .ok, headers: [.contentType: "application/graphql-response+json"], body: .init(byteBuffer: body))
  }
}

private struct TimelinePage: Encodable, ResponseEncodable {
  struct Timeline: Decodable {
    struct Owner: Decodable { let name: String }
    let userDetails: Owner
    let moments: [Moment]
  }
  struct Moment: Codable {
    struct Author: Codable { let name: String, avatar: String }
    struct Liker: Codable { let id: String, avatar: String }
    let id: String, userDetails: Author, type: String, title: String?, url: String?
    let photos: [String], createdDate: String, isLiked: Bool?, likes: [Liker]?
  }

  let owner: String, page: Int, pageCount: Int, moments: [Moment]

  static func fetched(from url: String, userID: String) async throws -> TimelinePage {
    struct Body: Encodable {
      let query: String
      let variables: [String: String]
    }
    struct Response: Decodable {
      struct Data: Decodable { let getMomentsDetailsByUserID: Timeline }
      let data: Data
    }
    let query = """
      query getMomentsDetailsByUserID($userID: ID!) { getMomentsDetailsByUserID(userID: $userID) {
        userDetails { id name avatar backgroundImage } moments { id userDetails { name avatar } type title url photos
        createdDate isLiked likes { id avatar } } } }
      """
    var request = HTTPClientRequest(url: url)
    request.method = .POST
    request.headers.add(name: "Content-Type", value: "application/json")
    request.body = .bytes(try JSONEncoder().encode(Body(query: query, variables: ["userID": userID])))
    let response = try await HTTPClient.shared.execute(request, timeout: .seconds(10))
    let body = try await response.body.collect(upTo: 1 << 20)
    let timeline = try JSONDecoder().decode(Response.self, from: Data(body.readableBytesView)).data
      .getMomentsDetailsByUserID
    return TimelinePage(
      owner: timeline.userDetails.name, page: 1, pageCount: (timeline.moments.count + 19) / 20,
      moments: Array(timeline.moments.prefix(20)))
  }
}
