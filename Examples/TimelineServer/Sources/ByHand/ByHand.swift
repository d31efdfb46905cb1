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
  static func main() async {
    let arguments = CommandLine.arguments.dropFirst()
    let url = arguments.dropFirst(2).first
    guard let kind = arguments.first, let port = arguments.dropFirst().first.flatMap({ Int($0) }), 0...65_535 ~= port,
      kind == "backend" && url == nil || kind == "server" && isWeb(url)
    else {
      FileHandle.standardError.write(Data("usage: ByHand backend PORT | server PORT BFF_URL\n".utf8))
      exit(64)
    }
    let router = Router()
    if let url {
      router.get("timelines/:user") { _, context in
        try await TimelinePage.fetched(from: url, userID: context.parameters.require("user"))
      }
    } else {
      router.post("graphql") { request, _ in try await Backend.response(to: request) }
    }
    let configuration = ApplicationConfiguration(address: .hostname("127.0.0.1", port: port))
    do {
      try await Application(router: router, configuration: configuration).runService()
    } catch {
      FileHandle.standardError.write(Data("ByHand: 127.0.0.1:\(port): \(error). Name another PORT.\n".utf8))
      exit(64)
    }
  }

  private static func isWeb(_ text: String?) -> Bool {
    guard let url = text.flatMap({ URL(string: $0) }) else { return false }
    return ["http", "https"].contains(url.scheme) && url.host()?.isEmpty == false
  }
}

private enum Backend {
  private static let timeline: ByteBuffer = {
    let moments = (0..<60).map { index in
      """
      {"id": "m0-\(index)", "userDetails": {"name": "Lin Wei", "avatar": "https://example.com/a.jpg"},
      "title": "Moment \(index)", "url": null, "photos": [], "createdDate": "1700000000", "isLiked": false,
      "likes": [{"id": "1", "name": "Sam Okafor"}]}
      """
    }
    return ByteBuffer(
      string: #"{"data": {"timeline": {"userDetails": {"name": "Lin Wei"}, "moments": ["#
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
    struct Liker: Codable { let id: String, name: String }
    let id: String, userDetails: Author, title: String?, url: String?
    let photos: [String], createdDate: String, isLiked: Bool, likes: [Liker]
  }

  let owner: String, page: Int, pageCount: Int, moments: [Moment]

  static func fetched(from url: String, userID: String) async throws -> TimelinePage {
    struct Body: Encodable {
      let query: String
      let variables: [String: String]
    }
    struct Response: Decodable {
      struct Data: Decodable { let timeline: Timeline }
      let data: Data
    }
    let query = """
      query Timeline($userID: ID!) { timeline: getMomentsDetailsByUserID(userID: $userID) {
        userDetails { name } moments { id userDetails { name avatar } title url photos createdDate isLiked
        likes { id name } } } }
      """
    var request = HTTPClientRequest(url: url)
    request.method = .POST
    request.headers.add(name: "Content-Type", value: "application/json")
    request.body = .bytes(try JSONEncoder().encode(Body(query: query, variables: ["userID": userID])))
    let response = try await HTTPClient.shared.execute(request, timeout: .seconds(10))
    let body = try await response.body.collect(upTo: 1 << 20)
    let timeline = try JSONDecoder().decode(Response.self, from: Data(body.readableBytesView)).data.timeline
    return TimelinePage(
      owner: timeline.userDetails.name, page: 1, pageCount: (timeline.moments.count + 19) / 20,
      moments: Array(timeline.moments.prefix(20)))
  }
}
