import AsyncHTTPClient
import BenchmarkSupport
import Foundation
import HTTPClientCore
import HTTPMiddlewares
import Models
import NIOCore
import NIOFoundationCompat
import Networking
import SocketHTTP
import Streams

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The clients that get a timeline: the SDK, and what one would write by hand.
enum Client: String, CaseIterable, Sendable {
  case ours = "SDK, SocketTransport"
  case byHand = "SDK, with a token in a field set by hand"
  case standard = "SDK, with tokens and the standard middlewares"
  case asyncHTTPClient = "async-http-client, JSONDecoder"
  case urlSession = "URLSession, JSONDecoder"

  /// A closure that gets one timeline.
  func makeSender(_ load: Load) throws -> @Sendable () async throws -> Void {
    switch self {
    case .ours: try Self.ours(load)
    case .byHand: try Self.ours(load, headers: ["Authorization": "Bearer \(Self.token)"])
    case .standard: try Self.ours(load, middlewares: Self.standardMiddlewares)
    case .asyncHTTPClient: Self.asyncHTTPClient(load)
    case .urlSession: try Self.urlSession(load)
    }
  }

  /// As in a server: each request carries a token of 800 bytes.
  static var standardMiddlewares: [any HTTPMiddleware] {
    .standard(tokens: InMemoryTokenProvider(AccessToken(token)) { _ in .never() }, retries: 2)
  }

  private static let token = String(repeating: "abcdefgh", count: 100)

  private static func ours(
    _ load: Load, headers: [String: String] = [:], middlewares: [any HTTPMiddleware] = []
  ) throws -> @Sendable () async throws -> Void {
    guard let url = URL(string: load.url) else { throw URLError(.badURL) }
    var fields = HTTPHeaders.userAgent()
    for (name, value) in headers { try fields.set(name, to: value) }
    var configuration = SocketTransport.Configuration()
    configuration.maximumConnectionsPerOrigin = max(load.width, 8)
    let session = GetMomentsByUserIDSession(
      client: try APIClient(
        baseURL: url, transport: SocketTransport(configuration: configuration), defaultHeaders: fields,
        middlewares: middlewares))
    return {
      let timeline = try await session.getMoments(userID: "0").value
      guard !timeline.moments.isEmpty else { throw URLError(.badServerResponse) }
    }
  }

  // What the other clients send and read is the same as the SDK's, written as one would by hand.

  private struct Body: Encodable {
    struct Variables: Encodable {
      let userID: String
      let withLikes: Bool
    }
    let query: String
    let operationName: String
    let variables: Variables
  }

  private struct Answer: Decodable {
    struct Content: Decodable { let getMomentsDetailsByUserID: MomentsDetails }
    let data: Content?
  }

  private static func body() throws -> Data {
    try JSONEncoder().encode(
      Body(
        query: GetMomentsByUserIDSession.Session.query.text, operationName: "getMomentsDetailsByUserID",
        variables: .init(userID: "0", withLikes: true)))
  }

  private static func check(_ answer: Answer) throws {
    guard let content = answer.data, !content.getMomentsDetailsByUserID.moments.isEmpty else {
      throw URLError(.badServerResponse)
    }
  }

  private static func asyncHTTPClient(_ load: Load) -> @Sendable () async throws -> Void {
    var configuration = HTTPClient.Configuration()
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = max(load.width, 8)
    configuration.httpVersion = .http1Only
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    return {
      var request = HTTPClientRequest(url: load.url)
      request.method = .POST
      request.headers.add(name: "Content-Type", value: "application/json")
      request.headers.add(name: "Accept", value: "application/json")
      request.body = .bytes(try body())
      let response = try await client.execute(request, timeout: .seconds(60))
      let buffer = try await response.body.collect(upTo: 1 << 20)
      try check(try JSONDecoder().decode(Answer.self, from: buffer))
    }
  }

  private static func urlSession(_ load: Load) throws -> @Sendable () async throws -> Void {
    guard let url = URL(string: load.url) else { throw URLError(.badURL) }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.httpMaximumConnectionsPerHost = max(load.width, 8)
    let session = URLSession(configuration: configuration)
    return {
      var request = URLRequest(url: url)
      request.httpMethod = "POST"
      request.setValue("application/json", forHTTPHeaderField: "Content-Type")
      request.setValue("application/json", forHTTPHeaderField: "Accept")
      request.httpBody = try body()
      let (data, _) = try await session.data(for: request)
      try check(try JSONDecoder().decode(Answer.self, from: data))
    }
  }
}
