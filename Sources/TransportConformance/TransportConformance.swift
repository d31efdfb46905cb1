public import HTTPClientCore
import LoopbackServers
import Streams
import SystemBase

/// What every ``HTTPTransport`` must do, as test cases that run a transport against real servers on 127.0.0.1,
/// well-behaved and misbehaving.
///
///     @Test(arguments: TransportConformance.cases)
///     func `it conforms`(_ test: TransportConformance.Case) async throws {
///       try await test.check(MyTransport())
///     }
///
/// A case takes a few seconds at most, and several may run at a time. A case that measures a deadline does so up to 5
/// times, since a busy machine may delay some of them.
public enum TransportConformance {
  /// One requirement for a transport.
  public struct Case: Sendable, CustomStringConvertible {
    /// The requirement, as a sentence.
    public let description: String

    private let body: @Sendable (any HTTPTransport) async throws -> Void

    init(_ description: String, _ body: @escaping @Sendable (any HTTPTransport) async throws -> Void) {
      self.description = description
      self.body = body
    }

    /// Throws a ``Violation`` if the transport does not meet the requirement, or another error if a server for the case
    /// fails.
    public func check(_ transport: some HTTPTransport) async throws {
      try await body(transport)
    }
  }

  /// What a transport did instead of what it must do.
  public struct Violation: Error, Hashable, CustomStringConvertible {
    /// What happened, and what should have happened.
    public let description: String
  }

  /// All cases.
  public static let cases: [Case] = messages + faults + deadlines + streams + keptConnections
}

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
