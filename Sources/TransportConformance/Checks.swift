import Foundation
import HTTP
import LoopbackServers
import Streams

/// Throws unless two values are equal.
func expect<Value: Equatable>(_ value: Value, equals expected: Value, _ what: String) throws {
  guard value == expected else {
    throw TransportConformance.Violation(description: "\(what) is \(value), but should be \(expected).")
  }
}

/// Throws unless a condition holds.
func expect(_ condition: Bool, _ what: String) throws {
  guard condition else { throw TransportConformance.Violation(description: what) }
}

/// Throws unless a time is at most a quarter of a second longer than another.
func expect(_ time: Duration, isShortlyAfter expected: Duration) throws {
  try expect(
    time >= expected && time <= expected + .milliseconds(250), "It took \(time), but should take \(expected).")
}

extension HTTPTransport {
  func response(to request: HTTPRequest, upTo limit: Int = 1 << 20) async throws -> HTTPResponse {
    try await send(request).collect(upTo: limit).value
  }

  /// Throws unless an exchange fails with one of these kinds.
  func expectFailure(_ kinds: RequestError.Kind..., of request: HTTPRequest, upTo limit: Int = 1 << 20) async throws {
    let response: HTTPResponse
    do {
      response = try await self.response(to: request, upTo: limit)
    } catch let error as RequestError {
      return try expect(kinds.contains(error.kind), "The error is '\(error)', but should be one of \(kinds).")
    }
    throw TransportConformance.Violation(
      description: "The status is \(response.head.status), but there should be an error, one of \(kinds).")
  }
}

extension ScriptedServer {
  /// A request to this server.
  func request(
    _ method: HTTPMethod = .post, path: String = "", query: String? = nil, headers: HTTPHeaders = HTTPHeaders(),
    body: Data? = nil, timeouts: HTTPTimeouts = HTTPTimeouts(total: .seconds(20)), isReplayable: Bool = false
  ) throws -> HTTPRequest {
    var url = url.appending(path: path)
    if let query { url.append(queryItems: [URLQueryItem(name: "q", value: query)]) }
    return try HTTPRequest(
      method: method, url: url, headers: headers, body: body ?? (method == .post ? Data("{}".utf8) : nil),
      timeouts: timeouts, isReplayable: isReplayable)
  }
}
