import Foundation
import GRPCOverHTTP2
import HTTPClientCore
import Models
import MomentsService
import Networking
import Streams
import SwiftProtobuf
import Testing

/// What a real server does not send, or does not show.
@Suite struct GRPCOverHTTP2Tests {
  private static let gRPC: HTTPHeaders = ["Content-Type": "application/grpc"]
  private static let html: HTTPHeaders = ["Content-Type": "text/html"]
  private static let gzip: HTTPHeaders = ["Content-Type": "application/grpc", "grpc-encoding": "gzip"]
  private static let gRPCWithStatus: HTTPHeaders = ["Content-Type": "application/grpc", "grpc-status": "0"]
  private static let success: HTTPHeaders = ["grpc-status": "0"]
  private static let empty: [UInt8] = [0, 0, 0, 0, 0]

  private static func response(
    _ status: Int = 200, _ headers: HTTPHeaders = gRPC, _ body: [UInt8] = empty, trailers: HTTPHeaders = success
  ) -> HTTPResponse {
    HTTPResponse(head: HTTPResponseHead(status: status, headers: headers), body: Data(body), trailers: trailers)
  }

  static let failures: [(HTTPResponse, RequestError.Kind, says: String, status: Int?)] = [
    // From something in front of the service.
    (response(503, html, [], trailers: [:]), .connectionLost, "503", nil),
    (response(429, html, [], trailers: [:]), .connectionLost, "429", nil),
    (response(401, html, [], trailers: [:]), .gRPC, "unauthenticated", 401),
    (response(403, html, [], trailers: [:]), .gRPC, "permissionDenied", 403),
    (response(404, html, [], trailers: [:]), .gRPC, "unimplemented", 501),
    (response(400, html, [], trailers: [:]), .gRPC, "internalError", 500),
    (response(302, html, [], trailers: [:]), .gRPC, "unknown", 500),
    (response(503), .connectionLost, "503", nil),
    (response(200, html), .badResponse, "text/html", 200),
    // Statuses.
    (response(200, ["grpc-status": "5"], [], trailers: [:]), .gRPC, "notFound", 404),
    (response(503, ["grpc-status": "16"], [], trailers: [:]), .gRPC, "unauthenticated", 401),
    (response(trailers: ["grpc-status": "8"]), .rateLimited, "resourceExhausted", 429),
    (response(trailers: ["grpc-status": "99"]), .gRPC, "unknown", 500),
    (response(trailers: ["grpc-status": "zero"]), .gRPC, "unknown", 500),
    (response(trailers: ["grpc-status": "5", "grpc-message": "caf%C3%A9"]), .gRPC, "notFound: café", 404),
    (response(trailers: ["grpc-status": "5", "grpc-message": "100%"]), .gRPC, "notFound: 100%", 404),
    (response(trailers: [:]), .badResponse, "no grpc-status", 200),
    (response(200, gRPCWithStatus, trailers: [:]), .badResponse, "no grpc-", 200),
    // Messages.
    (response(200, gRPC, []), .badResponse, "no message", 200),
    (response(200, gRPC, [0, 0, 0, 0]), .badResponse, "no message", 200),
    (response(200, gRPC, [0, 0, 0, 0, 2, 1]), .badResponse, "cut off", 200),
    (response(200, gRPC, [0, 255, 255, 255, 255, 1]), .badResponse, "cut off", 200),
    (response(200, gRPC, empty + empty), .badResponse, "more than one", 200),
    (response(200, gzip, [1, 0, 0, 0, 0]), .badResponse, "by 'gzip', which was not asked for", 200),
    (response(200, gRPC, [2, 0, 0, 0, 0]), .badResponse, "a flag 2", 200),
  ]

  @Test(arguments: failures)
  func `what is no success is an error`(
    _ response: HTTPResponse, _ kind: RequestError.Kind, says text: String, status: Int?
  ) throws {
    let error = try #require(throws: RequestError.self) { try response.grpcMessage() }
    #expect(error.kind == kind)
    #expect(error.message.contains(text))
    #expect(error.status == status)
  }

  @Test func `a message that comes in pieces is put together`() async throws {
    let transport = ScriptedTransport([0, 0, 0, 0, 6, 10, 4, 10, 2, 105, 100].map { .body(Data([$0])) })
    let details = try await session(transport).getMoments(userID: "0").value
    #expect(details.userDetails.id == "id")
  }

  @Test func `a message that is not one of the service is not decodable`() async throws {
    let transport = ScriptedTransport([.body(Data([0, 0, 0, 0, 1, 255]))])
    let error = await #expect(throws: RequestError.self) { try await session(transport).getMoments(userID: "0").value }
    #expect(error?.kind == .undecodable)
    #expect(error?.operationName == "GetMoments")
  }

  @Test func `a response over the limit is not read`() async throws {
    let transport = ScriptedTransport(Array(repeating: .body(Data(count: 1 << 20)), count: 5))
    let error = await #expect(throws: RequestError.self) { try await session(transport).getMoments(userID: "0").value }
    #expect(error?.kind == .tooLarge)
  }

  @Test func `a call is a request with the message, its size and the deadline`() async throws {
    let (requests, log) = AsyncStream.makeStream(of: HTTPRequest.self)
    let transport = ScriptedTransport([]) { log.yield($0) }
    _ = try? await session(transport).getMoments(userID: "7").value
    log.finish()
    let request = try #require(await requests.first { _ in true })
    #expect(request.method == .post)
    #expect(request.requestTarget == "/api/moments.v1.MomentsService/GetMoments")
    #expect(request.body == Data([0, 0, 0, 0, 3, 10, 1, 55]))
    #expect(request.headers["Content-Type"] == "application/grpc+proto")
    #expect(request.headers["TE"] == "trailers")
    #expect(request.headers["grpc-timeout"] == "5000m")
    #expect(request.timeouts == HTTPTimeouts(idle: nil, total: .seconds(5)))
    #expect(throws: Never.self) { try request.checkFraming() }
    // By a middleware, which sees the call as a request.
    #expect(request.headers["X-Operation"] == "GetMoments")
  }

  @Test func `only what changes nothing, or has a key, may be sent again`() async throws {
    let (requests, log) = AsyncStream.makeStream(of: HTTPRequest.self)
    let service = try service(ScriptedTransport([]) { log.yield($0) })
    let session = UpdateMomentLikeSessionHTTP2(service)
    _ = try? await GetMomentsByUserIDSessionHTTP2(service).getMoments(userID: "0").value
    _ = try? await session.updateLike(true, momentID: "m0", fromUserID: "0").value
    _ = try? await session.updateLike(true, momentID: "m0", fromUserID: "0", idempotencyKey: "k-1").value
    log.finish()
    var mayBeSentAgain: [Bool] = []
    for await request in requests { mayBeSentAgain.append(request.isReplayable) }
    #expect(mayBeSentAgain == [true, false, true])
  }

  static let timeouts: [(Duration, String)] = [
    (.milliseconds(300), "300m"), (.nanoseconds(1), "1m"), (.zero, "1m"), (.seconds(-1), "1m"),
    (.seconds(99_999), "99999000m"), (.seconds(100_000), "100000S"), (.seconds(100_000_000), "27778H"),
    (.seconds(Int64.max), "99999999H"),
  ]

  @Test(arguments: timeouts)
  func `a deadline has eight digits at most, and is not shortened`(_ timeout: Duration, _ text: String) {
    #expect(grpcTimeout(timeout) == text)
  }

  private func service(_ transport: ScriptedTransport) throws -> UnaryService {
    try UnaryService(
      transport, url: #require(URL(string: "https://timelines.example/api")), timeout: .seconds(5),
      middlewares: [NameMiddleware()])
  }

  private func session(_ transport: ScriptedTransport) throws -> GetMomentsByUserIDSessionHTTP2 {
    GetMomentsByUserIDSessionHTTP2(try service(transport))
  }
}

/// Responds to each request with a body in pieces, and success behind it.
private struct ScriptedTransport: HTTPTransport {
  let body: [HTTPResponsePart]
  let onRequest: @Sendable (HTTPRequest) -> Void

  init(_ body: [HTTPResponsePart], onRequest: @escaping @Sendable (HTTPRequest) -> Void = { _ in }) {
    self.body = body
    self.onRequest = onRequest
  }

  func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    onRequest(request)
    let head = HTTPResponseHead(status: 200, headers: ["Content-Type": "application/grpc"])
    return .from([.head(head)] + body + [.trailers(["grpc-status": "0"])])
  }
}

/// Says in a header which operation a request carries.
private struct NameMiddleware: HTTPMiddleware {
  func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    .deferred {
      var request = request
      try request.headers.set("X-Operation", to: request.operationName ?? "")
      return next(request)
    }
  }
}
