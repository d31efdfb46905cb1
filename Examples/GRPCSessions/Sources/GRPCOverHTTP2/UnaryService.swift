public import Foundation
public import HTTPClientCore
import Models
import MomentsService
import Streams
import SwiftProtobuf

/// The service that sessions call: unary calls of gRPC as requests of a transport, which has to speak HTTP/2 and give
/// trailers, as `SocketTransport` does.
public struct UnaryService: Sendable {
  private let transport: any HTTPTransport
  private let url: URL
  private let timeout: Duration
  private let middlewares: [any HTTPMiddleware]

  /// How large a response may be: 4 MiB of message, which is what gRPC takes by default, and the five bytes before it.
  private static let largestResponse = (4 << 20) + 5

  /// Calls the service at a URL, in front of whose methods its path stands. `timeout` is the deadline of a call, which the
  /// server gets, too. Middlewares see a call as the request that it is, so one that repeats requests repeats calls, if they
  /// are replayable; of a call that failed, they see the status of HTTP alone, not that of gRPC.
  public init(
    _ transport: some HTTPTransport, url: URL, timeout: Duration = .seconds(60), middlewares: [any HTTPMiddleware] = []
  ) {
    self.transport = transport
    self.url = url
    self.timeout = timeout
    self.middlewares = middlewares
  }

  /// A cold stream of one call's response; disposing resets the call's stream, which cancels it on the server. Its errors are
  /// `RequestError`s: those of the transport as they are, with how far the request has come, and those of gRPC.
  func call(
    _ name: String, _ message: some Message & Sendable,
    configure: @escaping @Sendable (inout HTTPRequest) throws -> Void = { _ in }
  ) -> Observable<MomentsDetails> {
    Observable<HTTPResponse>.deferred { [self] in
      var request = try HTTPRequest(
        method: .post, url: url.appending(path: "moments.v1.MomentsService/\(name)"),
        headers: ["Content-Type": "application/grpc+proto", "TE": "trailers"],
        body: try grpcBody(message.serializedBytes()),
        // A service may think for as long as the deadline allows without a sign of life.
        timeouts: HTTPTimeouts(idle: nil, total: timeout), operationName: name)
      try request.headers.set("grpc-timeout", to: grpcTimeout(timeout))
      request.readsWholeResponse = true
      try configure(&request)
      return transport.send(request, through: middlewares).collect(upTo: Self.largestResponse)
    }
    .map { try MomentsDetails(timeline(in: $0.grpcMessage())) }
    .catch { throw RequestError(wrapping: $0).named(name) }
  }
}

/// A message as the body of a request: a flag, that it is not compressed, and its size come before it.
private func grpcBody(_ message: Data) throws(RequestError) -> Data {
  guard let size = UInt32(exactly: message.count) else {
    throw RequestError(.invalidRequest, "The message is larger than 4 GiB.")
  }
  return Data([0]) + withUnsafeBytes(of: size.bigEndian) { Data($0) } + message
}

private func timeline(in message: Data) throws(RequestError) -> Moments_V1_Timeline {
  do {
    return try Moments_V1_Timeline(serializedBytes: message)
  } catch {
    throw RequestError(.undecodable, "The message is no timeline: \(error)", cause: error)
  }
}

/// The value of `grpc-timeout`: a positive number of at most eight digits, and its unit.
package func grpcTimeout(_ timeout: Duration) -> String {
  for (unit, letter) in [(Duration.milliseconds(1), "m"), (.seconds(1), "S"), (.seconds(3600), "H")] {
    let count = max(1, (timeout / unit).rounded(.up))
    if count < 1e8 { return "\(Int(count))\(letter)" }
  }
  return "99999999H"
}
