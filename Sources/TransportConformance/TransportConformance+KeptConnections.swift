import Foundation
import HTTP
import LoopbackServers

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
