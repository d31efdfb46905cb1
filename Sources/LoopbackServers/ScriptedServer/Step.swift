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
