import Foundation
import HTTPClientCore
import Streams
import TestSupport

extension HTTPTransport {
  /// The whole answer.
  func response(
    to request: HTTPRequest, upTo limit: Int = 16 << 20
  ) async throws -> HTTPResponse {
    try await send(request).collect(upTo: limit).value
  }

  /// The kind of the error that an exchange ends with; `nil` where it succeeds.
  func kindOfError(for request: HTTPRequest) async -> RequestError.Kind? {
    do {
      _ = try await response(to: request)
      return nil
    } catch {
      return (error as? RequestError)?.kind
    }
  }
}

extension HTTPRequest {
  /// A request to a test's server.
  static func to(
    _ server: ScriptedServer, _ path: String = "", method: HTTPMethod = .post, headers: HTTPHeaders = [:],
    body: String? = "{}", timeouts: HTTPTimeouts = HTTPTimeouts(total: .seconds(15)), isReplayable: Bool = false
  ) throws -> HTTPRequest {
    try HTTPRequest(
      method: method, url: server.url.appending(path: path), headers: headers, body: body.map { Data($0.utf8) },
      timeouts: timeouts, isReplayable: isReplayable)
  }
}
