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

/// Measures up to 5 times, and throws unless each time is long enough, and one is at most `leeway` longer than
/// expected.
///
/// A busy machine delays some measurements; a transport that is late by itself is late in all of them.
package func expectDelay(
  of expected: Duration, leeway: Duration = .milliseconds(250), _ measure: () async throws -> Duration
) async throws {
  var times: [Duration] = []
  repeat {
    let time = try await measure()
    times.append(time)
    try expect(time >= expected, "It took \(time), but should take \(expected).")
    if time <= expected + leeway { return }
  } while times.count < 5
  throw TransportConformance.Violation(description: "It took \(times), but should take \(expected).")
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
