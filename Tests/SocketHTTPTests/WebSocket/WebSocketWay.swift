import Foundation
import Streams
import TestSupport

@testable import HTTPClientCore
@testable import SocketHTTP

/// How a connection reaches its server: the laws are the same.
enum WebSocketWay: CaseIterable {
  /// On a socket of its own.
  case socket
  /// On a stream of a connection in HTTP/2 (RFC 8441), through the gateway.
  case stream

  /// A transport for a connection with this request, after another request has made what it needs. Where it did not find a
  /// stream, an upgrade in HTTP/1.1 would fail, since the gateway takes none.
  func transport(for request: WebSocketRequest) async throws -> SocketTransport {
    switch self {
    case .socket: return SocketTransport()
    case .stream:
      let transport = try await HTTP2Gateway.inClearText.value.transport()
      try await prepare(transport, for: request)
      return transport
    }
  }

  func prepare(_ transport: SocketTransport, for request: WebSocketRequest) async throws {
    guard self == .stream else { return }
    let origin = HTTPRequest(
      method: .options, target: request.target, headers: [:], body: nil, timeouts: HTTPTimeouts(total: .seconds(20)),
      operationName: nil, isReplayable: true)
    _ = try await transport.response(to: origin)
  }

  func connect(_ request: WebSocketRequest) async throws -> Observable<WebSocketEvent> {
    try await transport(for: request).connect(request)
  }
}
