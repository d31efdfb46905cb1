import HTTPClientCore
import LoopbackServers
import SystemBase

extension TransportConformance {
  /// T8: how an exchange with a misbehaving server ends.
  private enum Ending {
    case status(Int)
    case failure([RequestError.Kind])

    static func failure(_ kinds: RequestError.Kind...) -> Ending { .failure(kinds) }

    var isDeadline: Bool { if case .failure(let kinds) = self { kinds.contains(.timedOut) } else { false } }
  }

  private static let endings: [(ScriptedServer.Fault, Ending)] = [
    (.closedBeforeHeaders, .failure(.connectionLost)),
    (.closedInStatusLine, .failure(.connectionLost)),
    (.closedInHeaders, .failure(.connectionLost)),
    (.closedAfterHeaders, .failure(.connectionLost)),
    (.resetBeforeHeaders, .failure(.connectionLost)),
    (.resetAfterHeaders, .failure(.connectionLost)),
    (.resetInBody, .failure(.connectionLost)),
    (.truncatedContentLength, .failure(.connectionLost)),
    (.truncatedChunked, .failure(.connectionLost)),
    (.truncatedChunk, .failure(.connectionLost)),
    (.malformedChunkSize, .failure(.badResponse)),
    (.garbageStatusLine, .failure(.badResponse)),
    (.interimResponses, .status(200)),
    (.onlyInterimResponses, .failure(.badResponse, .tooLarge, .timedOut)),
    (.switchingProtocols, .failure(.badResponse)),
    (.noContent, .status(204)),
    (.notModified, .status(304)),
    (.status600, .status(600)),
    (.endlessHeaders, .failure(.tooLarge, .badResponse)),
    (.endlessHeaderLine, .failure(.tooLarge, .badResponse)),
    (.endlessBody, .failure(.tooLarge)),
    (.drippingHeaders, .failure(.timedOut)),
    (.drippingBody, .failure(.timedOut)),
    (.neverAnswering, .failure(.timedOut)),
    (.neverFinishing, .failure(.timedOut)),
    (.wrongContentType, .status(200)),
    (.htmlWithStatus200, .status(200)),
    (.emptyBody, .status(200)),
    (.byteOrderMark, .status(200)),
    (.invalidUTF8, .status(200)),
    (.duplicateKeys, .status(200)),
    (.invalidJSON, .status(200)),
    (.truncatedGzip, .failure(.connectionLost, .badResponse)),
  ]

  static let faults: [Case] =
    endings.map { fault, ending in
      Case("T8: \(fault) has a documented end") { transport in
        let server = try ScriptedServer(fault)
        // Cases that end with the deadline should end soon; the others get time, in case the machine is busy.
        let total: Duration = ending.isDeadline ? .milliseconds(900) : .seconds(20)
        let request = try server.request(timeouts: HTTPTimeouts(idle: .seconds(15), total: total))
        do {
          let status = try await transport.response(to: request).head.status
          guard case .status(status) = ending else {
            throw Violation(description: "The status is \(status), but the end should be \(ending).")
          }
        } catch let error as RequestError {
          guard case .failure(let kinds) = ending, kinds.contains(error.kind) else {
            throw Violation(description: "The error is '\(error)', but the end should be \(ending).")
          }
        }
      }
    } + [
      Case("T8: a response cut at any byte is a lost connection") { transport in
        let whole = RawResponse(body: "0123456789").chunked(size: 4)
        for cut in whole.indices {
          let server = try ScriptedServer([.readRequest, .send(Array(whole[..<cut])), .close])
          try await transport.expectFailure(.connectionLost, of: server.request())
        }
      },
      Case("T8: a refused connection is an error of its own") { transport in
        let port = try RefusingPort()
        guard let url = URL(string: "http://127.0.0.1:\(port.port)/") else { return }
        try await transport.expectFailure(.cannotConnect, of: HTTPRequest(method: .get, url: url))
      },
      Case("T8: what can be read in two ways is refused") { transport in
        let heads = [
          "Content-Length: 2\r\nContent-Length: 3", "Content-Length: 2\r\nTransfer-Encoding: chunked",
          "Content-Length : 2", "A: b\rc", "A: b\u{0}c",
        ]
        for head in heads {
          let server = try ScriptedServer([.readRequest, .send("HTTP/1.1 200 OK\r\n\(head)\r\n\r\n0\r\n\r\n"), .close])
          try await transport.expectFailure(.badResponse, of: server.request())
        }
      },
    ]
}

extension TransportConformance {
  /// T6: deadlines.
  static let deadlines: [Case] = [
    Case("T6: the idle deadline comes on time") { transport in
      try await checkSilence(transport, HTTPTimeouts(idle: .milliseconds(300), total: nil))
    },
    Case("T6: the total deadline comes on time") { transport in
      try await checkSilence(transport, HTTPTimeouts(idle: nil, total: .milliseconds(300)))
    },
    Case("T6: a connection that never stands ends at its deadline") { transport in
      let port = try UnansweredPort()
      guard let url = URL(string: "http://127.0.0.1:\(port.port)/") else { return }
      let timeouts = HTTPTimeouts(connect: .milliseconds(300), idle: nil, total: nil)
      let request = try HTTPRequest(method: .get, url: url, timeouts: timeouts)
      try await checkDeadline(.milliseconds(300), transport, request)
    },
    Case("T6: bytes that drip keep an exchange alive, and the total deadline ends it") { transport in
      let server = try ScriptedServer(.drippingBody)
      let timeouts = HTTPTimeouts(idle: .milliseconds(600), total: .milliseconds(1100))
      try await checkDeadline(.milliseconds(1100), transport, server.request(timeouts: timeouts))
    },
    Case("T6: a deadline that has passed already fails at once") { transport in
      let server = try ScriptedServer(.neverAnswering)
      for timeouts in [HTTPTimeouts(total: .zero), HTTPTimeouts(total: .seconds(-1)), HTTPTimeouts(connect: .zero)] {
        try await checkDeadline(.zero, transport, server.request(timeouts: timeouts))
      }
    },
    Case("T6: no deadlines at all is a way to wait") { transport in
      let server = try ScriptedServer(.answering { _ in RawResponse() })
      let timeouts = HTTPTimeouts(connect: nil, idle: nil, total: nil)
      try expect(
        try await transport.response(to: server.request(timeouts: timeouts)).head.status, equals: 200, "The status")
    },
  ]

  private static func checkSilence(_ transport: any HTTPTransport, _ timeouts: HTTPTimeouts) async throws {
    for method in [HTTPMethod.get, .post] {
      let server = try ScriptedServer(.neverAnswering)
      try await checkDeadline(.milliseconds(300), transport, server.request(method, timeouts: timeouts))
      try await server.waitForClientToClose()
    }
  }

  private static func checkDeadline(
    _ deadline: Duration, _ transport: any HTTPTransport, _ request: HTTPRequest
  ) async throws {
    try await expectDelay(of: deadline) {
      let start = ContinuousClock.now
      try await transport.expectFailure(.timedOut, of: request)
      return .now - start
    }
  }
}

extension TransportConformance {
  /// T10: a kept connection may turn out to be dead, and that must not fail a request without need.
  static let keptConnections: [Case] = [
    Case("T10: a connection that the server has closed is replaced silently") { transport in
      let server = try ScriptedServer([.readRequest, .send(RawResponse(body: "{}")), .close])
      for count in 1...20 {
        try expect(try await transport.response(to: server.request()).head.status, equals: 200, "The status")
        try await server.log.wait { $0.connections.filter(\.isOver).count == count }
      }
      try expect(server.requests.count, equals: 20, "The number of requests")
    },
    Case("T10: a request that may have been processed is not sent again") { transport in
      let server = try ScriptedServer(
        [.readRequest, .send(RawResponse(body: "{}")), .readRequest, .close], .answering { _ in RawResponse() })
      _ = try await transport.response(to: server.request())
      try await transport.expectFailure(.connectionLost, of: server.request())
      try expect(server.requests.count, equals: 2, "The number of requests")
    },
    Case("T10: a repeatable request is sent again if its kept connection dies") { transport in
      let server = try ScriptedServer(
        [.readRequest, .send(RawResponse(body: "{}")), .readRequest, .close], .answering { _ in RawResponse(201) })
      _ = try await transport.response(to: server.request())
      let response = try await transport.response(to: server.request(isReplayable: true))
      try expect(response.head.status, equals: 201, "The status")
      try expect(server.requests.count, equals: 3, "The number of requests")
    },
    Case("T10: a request whose response has begun is not sent again, even if it is repeatable") { transport in
      let server = try ScriptedServer(
        [
          .readRequest, .send(RawResponse(body: "{}")),
          .readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"), .close,
        ], .answering { _ in RawResponse(201) })
      try expect(try await transport.response(to: server.request()).head.status, equals: 200, "The first status")
      try await transport.expectFailure(.connectionLost, of: server.request(isReplayable: true))
      try expect(server.requests.count, equals: 2, "The number of requests")
    },
    Case("T10: unrequested bytes never become the response to the next request") { transport in
      let server = try ScriptedServer(
        [
          .readRequest, .send(RawResponse(200, body: "{}").bytes + RawResponse(418, body: "poison").bytes),
          .waitForClientToClose,
        ], .answering { _ in RawResponse(201) })
      try expect(try await transport.response(to: server.request()).head.status, equals: 200, "The first status")
      try expect(try await transport.response(to: server.request()).head.status, equals: 201, "The second status")
    },
    Case("T10: a connection that the server says it will close is not used again") { transport in
      let server = try ScriptedServer(
        .answering { _ in RawResponse(headers: [("Connection", "close")], body: "{}") })
      for _ in 0..<3 { _ = try await transport.response(to: server.request()) }
      try expect(server.log.value.connections.count, equals: 3, "The number of connections")
    },
  ]
}
