import Foundation
import HTTPClientCore
import SocketHTTP
import Streams
import TestSupport
import Testing

/// Responses that come before the request was read, and those that come before the response.
@Suite(.timeLimit(.minutes(1))) struct SocketTransportEarlyResponseTests {
  /// More than the buffers of two sockets hold.
  fileprivate static let size = 32 << 20

  @Test(arguments: [200, 201, 413])
  func `an early success does not end the sending, and an early refusal does`(status: Int) async throws {
    let server = try EarlyServer(status)
    let request = try HTTPRequest(method: .post, url: server.url, body: Data(count: Self.size))
    let transport = SocketTransport()
    let response = try await transport.response(to: request)
    #expect(response.head.status == status)
    #expect(response.body == Data("ok".utf8))
    let received = try await server.received.wait(for: "the end of the body") { $0.isOver }.count
    if status < 300 { #expect(received == Self.size) } else { #expect(received < Self.size) }
  }

  @Test func `interim responses are delivered to an observer that wants them`() async throws {
    let server = try ScriptedServer([
      .readRequest,
      .send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"),
      .send(RawResponse(body: "{}")),
    ])
    let heads = Monitor<[HTTPResponseHead]>([])
    var request = try HTTPRequest.to(server)
    request.onInterimResponse = { head in heads.update { $0.append(head) } }
    #expect(try await SocketTransport().response(to: request).head.status == 200)
    let interim = try await heads.wait(for: "interim responses") { $0.count == 2 }
    #expect(Set(interim.map(\.status)) == [100, 103])
    #expect(interim.contains { $0.headers["Link"] == "</a.css>" })
  }
}

/// A server that answers as soon as it has a request's head, and then reads all that comes.
private struct EarlyServer {
  let url: URL
  let received = Monitor((count: 0, isOver: false))

  init(_ status: Int) throws {
    let (listener, port) = try Loopback.listen(backlog: 8)
    url = try #require(URL(string: "http://127.0.0.1:\(port)/"))
    Thread.detachNewThread { [received] in
      let connection = accept(listener.number, nil, nil)
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      var count = recv(connection, &buffer, buffer.count, 0)
      let head = buffer.prefix(count).split(separator: UInt8(ascii: "\r"), omittingEmptySubsequences: false)
      let headLength = head.prefix { $0 != [UInt8(ascii: "\n")] }.reduce(0) { $0 + $1.count + 1 } + 3
      received.update { $0.count = count - headLength }
      let response = "HTTP/1.1 \(status) Early\r\nContent-Length: 2\r\n\r\nok"
      _ = send(connection, response, response.utf8.count, Int32(MSG_NOSIGNAL))
      repeat {
        count = recv(connection, &buffer, buffer.count, 0)
        received.update { $0.count += max(count, 0) }
      } while count > 0 && received.value.count < SocketTransportEarlyResponseTests.size
      received.update { $0.isOver = true }
      close(connection)
      listener.close()
    }
  }
}
