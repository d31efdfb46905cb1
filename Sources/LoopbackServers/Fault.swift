import SystemBase

extension ScriptedServer {
  /// A kind of server that behaves badly, or at least unusually, with a name for tests that go through all of them.
  ///
  /// Each reads one request before it does anything else. A refused connection and one that never stands are not among
  /// them, as no server can do that: see `RefusingPort` and `UnansweredPort`.
  package struct Fault: Sendable, CustomStringConvertible {
    package let name: String
    package let script: [Step]

    package var description: String { name }

    package init(_ name: String, _ steps: [Step]) {
      self.name = name
      script = [.readRequest] + steps
    }
  }
}

extension ScriptedServer.Fault {
  /// All of them, in the order in which they stand below.
  package static let all: [Self] = [
    closedBeforeHeaders, closedInStatusLine, closedInHeaders, closedAfterHeaders, resetBeforeHeaders, resetAfterHeaders,
    resetInBody, truncatedContentLength, truncatedChunked, truncatedChunk, malformedChunkSize, garbageStatusLine,
    interimResponses, onlyInterimResponses, switchingProtocols, noContent, notModified, status600, endlessHeaders,
    endlessHeaderLine, endlessBody, drippingHeaders, drippingBody, neverAnswering, neverFinishing, wrongContentType,
    htmlWithStatus200, emptyBody, byteOrderMark, invalidUTF8, duplicateKeys, invalidJSON, truncatedGzip,
  ]

  private static let json = #"{"data":{"ok":true}}"#
  private static let partOfHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Le"
  private static let whole = RawResponse(body: json)

  // MARK: Cuts

  package static let closedBeforeHeaders = Self("closed before the headers", [.close])
  package static let closedInStatusLine = Self("closed in the status line", [.send("HTTP/1.1 20"), .close])
  package static let closedInHeaders = Self("closed in the headers", [.send(partOfHead), .close])
  package static let closedAfterHeaders = Self(
    "closed after the headers", [.send(RawResponse(body: "").bytes(contentLength: json.utf8.count)), .close])
  package static let resetBeforeHeaders = Self("reset before the headers", [.reset])
  package static let resetAfterHeaders = Self(
    "reset after the headers", [.send(RawResponse(body: "").bytes(contentLength: json.utf8.count)), .reset])
  package static let resetInBody = Self("reset in the body", [.send(whole.bytes(contentLength: 1000)), .reset])
  package static let truncatedContentLength = Self(
    "a body shorter than its Content-Length", [.send(whole.bytes(contentLength: 1000)), .close])
  package static let truncatedChunked = Self(
    "a chunked body without its last chunk", [.send(whole.unfinishedChunks(size: 7)), .close])
  package static let truncatedChunk = Self(
    "a chunked body cut within a chunk", [.send([UInt8](whole.unfinishedChunks(size: 7).dropLast(5))), .close])

  // MARK: Not HTTP, or its rare corners

  package static let malformedChunkSize = Self(
    "a chunk size that is no number",
    [.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n\(json)\r\n0\r\n\r\n"), .close])
  package static let garbageStatusLine = Self(
    "a garbage status line", [.send("SSH-2.0-OpenSSH_9.2\r\n\r\n"), .close])
  package static let interimResponses = Self(
    "interim responses before the final one",
    [.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), .send(whole), .close])
  package static let onlyInterimResponses = Self(
    "interim responses without end", [.sendForever([UInt8]("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".utf8))])
  package static let switchingProtocols = Self(
    "a switch of protocols that was not requested",
    [.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: upgrade\r\n\r\n"), .waitForClientToClose])
  package static let noContent = Self("status 204", [.send(RawResponse(204, contentType: nil)), .close])
  package static let notModified = Self("status 304", [.send(RawResponse(304, contentType: nil)), .close])
  package static let status600 = Self("status 600", [.send(RawResponse(600, body: json)), .close])
  package static let endlessHeaders = Self(
    "headers without end", [.send("HTTP/1.1 200 OK\r\n"), .sendForever([UInt8]("X-Filler: \(filler)\r\n".utf8))])
  package static let endlessHeaderLine = Self(
    "a header line without end", [.send("HTTP/1.1 200 OK\r\nX-Filler: "), .sendForever([UInt8](filler.utf8))])
  package static let endlessBody = Self(
    "a body without end",
    [
      .send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n\""),
      .sendForever([UInt8](repeating: 0x61, count: 65_536)),
    ])

  private static let filler = String(repeating: "x", count: 1000)

  // MARK: Slow

  package static let drippingHeaders = Self(
    "headers that drip", [.drip(whole.bytes, gap: .milliseconds(200))])
  package static let drippingBody = Self(
    "a body that drips",
    [
      .send(RawResponse(body: "").bytes(contentLength: 1000)),
      .drip([UInt8](repeating: 0x20, count: 1000), gap: .milliseconds(200)),
    ])
  package static let neverAnswering = Self("never answering", [.waitForClientToClose])
  package static let neverFinishing = Self(
    "never finishing the body", [.send(whole.bytes(contentLength: 1000)), .waitForClientToClose])

  // MARK: Right HTTP, wrong content

  package static let wrongContentType = Self(
    "a wrong content type", [.send(RawResponse(contentType: "image/png", body: json)), .close])
  package static let htmlWithStatus200 = Self(
    "HTML with status 200",
    [.send(RawResponse(contentType: "text/html", body: "<!doctype html><title>Sign in</title>")), .close])
  package static let emptyBody = Self("an empty body with status 200", [.send(RawResponse()), .close])
  package static let byteOrderMark = Self(
    "a byte order mark", [.send(RawResponse(body: [0xEF, 0xBB, 0xBF] + [UInt8](json.utf8))), .close])
  package static let invalidUTF8 = Self(
    "invalid UTF-8",
    [.send(RawResponse(body: [UInt8](#"{"data":{"ok":""#.utf8) + [0xC3, 0x28] + [UInt8](#""}}"#.utf8))), .close])
  package static let duplicateKeys = Self(
    "duplicate keys", [.send(RawResponse(body: #"{"data":{"ok":true},"data":{"ok":false}}"#)), .close])
  package static let invalidJSON = Self("invalid JSON", [.send(RawResponse(body: #"{"data":{"ok":true,}"#)), .close])
  package static let truncatedGzip = Self(
    "a truncated gzip body", [.send(gzipped(dropping: 20)), .close])

  /// Some JSON, compressed.
  package static let gzip = [UInt8](
    Data(
      base64Encoded: """
        H4sIAAAAAAACA6tWSkksSVSyqlbKz1ayKikqTdVRKkmtKFGyUsrNz03NKylWSMxLUcjNL0pVgAroKFBXRqm2FgDSp3lrhgAAAA==
        """) ?? Data())

  private static func gzipped(dropping count: Int) -> RawResponse {
    RawResponse(headers: [("Content-Encoding", "gzip")], body: [UInt8](gzip.dropLast(count)))
  }
}
