import Foundation
import HTTP
import LoopbackServers

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
