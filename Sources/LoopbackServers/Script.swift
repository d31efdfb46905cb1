import SystemBase

extension ScriptedServer {
  /// What the server does next on a connection.
  ///
  /// A step that finds that the client has closed ends the script. At the end of a script the connection is closed.
  package enum Step: Sendable {
    /// Reads a whole request, its body by `Content-Length` or chunked, and records it. `Expect: 100-continue` is
    /// responded to.
    case readRequest

    /// Reads a request's head only, and records nothing; its body stays unread.
    case readHead

    /// Sends the bytes; waits where the client does not read them.
    case send([UInt8])

    /// Sends one piece after another, each in a segment of its own, with a gap between them.
    case sendPieces([[UInt8]], gap: Duration)

    /// Sends the bytes again and again, until the client closes.
    case sendForever([UInt8])

    /// Sends what the closure makes of the request that was read last, and closes where that asked for it.
    case respond(@Sendable (Request) -> RawResponse)

    /// Waits until the test opens the latch.
    case wait(for: Latch)

    /// Does nothing until the client closes: the server that never responds.
    case waitForClientToClose

    /// Closes the server's direction only (a FIN); the client may continue to send.
    case finishSending

    /// Closes the connection in the polite way: with a FIN, also where the client's bytes have not been read.
    case close

    /// Ends the connection with a RST.
    case reset

    /// Repeats the steps until the client closes.
    indirect case forever([Step])
  }
}

extension ScriptedServer.Step {
  /// Sends the text as UTF-8.
  package static func send(_ text: String) -> Self {
    .send([UInt8](text.utf8))
  }

  package static func send(_ response: RawResponse) -> Self {
    .send(response.bytes)
  }

  /// Sends the bytes in pieces that begin at these offsets.
  package static func send(_ bytes: [UInt8], splitAt offsets: [Int], gap: Duration = .milliseconds(1)) -> Self {
    let bounds = [0] + offsets.filter { 0 < $0 && $0 < bytes.count }.sorted() + [bytes.count]
    return .sendPieces(zip(bounds, bounds.dropFirst()).map { [UInt8](bytes[$0..<$1]) }, gap: gap)
  }

  /// Sends byte by byte.
  package static func drip(_ bytes: [UInt8], gap: Duration) -> Self {
    .sendPieces(bytes.map { [$0] }, gap: gap)
  }
}

extension [ScriptedServer.Step] {
  /// A well-mannered server that responds to every request of a kept-alive connection.
  package static func answering(
    _ respond: @escaping @Sendable (ScriptedServer.Request) -> RawResponse
  ) -> [ScriptedServer.Step] {
    [.forever([.readRequest, .respond(respond)])]
  }
}

extension ScriptedServer {
  /// A request as it came over the wire.
  package struct Request: Sendable {
    /// The number of its connection, from 0.
    package let connection: Int

    /// The head without the empty line that ends it.
    package let head: String

    package internal(set) var body: [UInt8] = []

    package var method: String { startLine(0) }
    package var target: String { startLine(1) }

    /// The fields in the order in which they came, white space around values removed.
    package var headers: [(name: String, value: String)] {
      head.components(separatedBy: "\r\n").dropFirst().map { line in
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count == 2 ? String(parts[1].trimmed) : "")
      }
    }

    /// The value of the first field of this name, in whatever case.
    package subscript(name: String) -> String? {
      headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    private func startLine(_ index: Int) -> String {
      let words = head.prefix { $0 != "\r\n" }.split(separator: " ")
      return index < words.count ? String(words[index]) : ""
    }
  }
}

/// A response to put on the wire, right or wrong as it may be: nothing is checked.
package struct RawResponse: Sendable {
  package var status: Int
  package var headers: [(name: String, value: String)]
  package var body: [UInt8]

  /// A response whose body is JSON unless another content type is given; nil sends none.
  package init(
    _ status: Int = 200, contentType: String? = "application/json", headers: [(name: String, value: String)] = [],
    body: [UInt8]
  ) {
    self.status = status
    self.headers = (contentType.map { [("Content-Type", $0)] } ?? []) + headers
    self.body = body
  }

  package init(
    _ status: Int = 200, contentType: String? = "application/json", headers: [(name: String, value: String)] = [],
    body: String = ""
  ) {
    self.init(status, contentType: contentType, headers: headers, body: [UInt8](body.utf8))
  }

  /// The response with a `Content-Length`, save where the status forbids one.
  package var bytes: [UInt8] {
    let hasNoBody = (100..<200).contains(status) || status == 204 || status == 304
    return head(adding: hasNoBody ? [] : [("Content-Length", "\(body.count)")]) + body
  }

  /// The response with a `Content-Length` that may be another than the body's.
  package func bytes(contentLength: Int) -> [UInt8] {
    head(adding: [("Content-Length", "\(contentLength)")]) + body
  }

  /// The response as one that ends when the connection does.
  package var bytesUntilClose: [UInt8] {
    head(adding: [("Connection", "close")]) + body
  }

  /// The response in chunks of at most this size.
  package func chunked(size: Int, trailers: [(name: String, value: String)] = []) -> [UInt8] {
    var bytes = unfinishedChunks(size: size) + [UInt8]("0\r\n".utf8)
    for (name, value) in trailers { bytes += [UInt8]("\(name): \(value)\r\n".utf8) }
    return bytes + [UInt8]("\r\n".utf8)
  }

  /// The response in chunks, without the last chunk that says that it is whole.
  package func unfinishedChunks(size: Int) -> [UInt8] {
    var bytes = head(adding: [("Transfer-Encoding", "chunked")])
    for start in stride(from: 0, to: body.count, by: size) {
      let chunk = body[start..<min(start + size, body.count)]
      bytes += [UInt8]("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + [UInt8]("\r\n".utf8)
    }
    return bytes
  }

  private func head(adding added: [(name: String, value: String)]) -> [UInt8] {
    let lines = (headers + added).map { "\($0.name): \($0.value)\r\n" }
    return [UInt8]("HTTP/1.1 \(status) Status\r\n\(lines.joined())\r\n".utf8)
  }
}
