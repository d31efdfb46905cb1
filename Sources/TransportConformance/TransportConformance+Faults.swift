import Foundation
import HTTP
import LoopbackServers

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
