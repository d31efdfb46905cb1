import Foundation
import Glibc

/// Moving bytes, waiting, and noticing that the client has gone.
extension ScriptedConnection {
  func record(_ change: (inout ScriptedServer.ConnectionLog) -> Void) {
    log.update { change(&$0.connections[number]) }
  }

  // MARK: Sending

  func send(_ bytes: [UInt8]) throws(End) {
    // In slices, so that the log shows how far a client that stopped reading has let the server come.
    for start in stride(from: 0, to: bytes.count, by: 65_536) {
      let slice = bytes[start..<min(start + 65_536, bytes.count)]
      guard socket.send(slice) else { throw .clientClosed }
      record { $0.bytesSent += slice.count }
    }
  }

  /// A FIN before the close, and nothing left unread: a close with unread bytes would send a RST.
  func closePolitely() {
    shutdown(socket.number, Int32(SHUT_WR))
    while !socket.receive(flags: Int32(MSG_DONTWAIT)).isEmpty {}
  }

  // MARK: Waiting

  /// Waits for the time, or without end; throws as soon as the client has closed.
  func pause(_ time: Duration?) throws(End) {
    var entry = pollfd(fd: socket.number, events: closedByPeer, revents: 0)
    let end = time.map { ContinuousClock.now + $0 }
    while true {
      let rest = end.map { max(.zero, $0 - .now) }
      // Rounded up to the next millisecond, so that the last round is not a busy one.
      let milliseconds = rest.map { $0.milliseconds } ?? -1
      if retryingOnInterrupt({ poll(&entry, 1, milliseconds) }) > 0 { throw .clientClosed }
      if rest == .zero { return }
    }
  }

  func wait(for latch: Latch) throws(End) {
    guard let (reader, writer) = try? Descriptor.pipe() else { throw .serverDone }
    // The reader stays, too: a write without one would end the process by SIGPIPE.
    latch.whenOpen { [reader] in withExtendedLifetime(reader) { writer.writeByte() } }
    var entries = [
      pollfd(fd: socket.number, events: closedByPeer, revents: 0),
      pollfd(fd: reader.number, events: Int16(POLLIN), revents: 0),
    ]
    _ = retryingOnInterrupt { poll(&entries, 2, -1) }
    if entries[0].revents != 0 { throw .clientClosed }
  }

  // MARK: Reading

  func readHead(_ reading: inout Reading) throws(End) -> ScriptedServer.Request {
    let end = [UInt8]("\r\n\r\n".utf8)
    var searched = 0
    while true {
      if let range = reading.buffer[searched...].firstRange(of: end) {
        let head = String(decoding: reading.buffer[..<range.lowerBound], as: UTF8.self)
        reading.buffer.removeSubrange(..<range.upperBound)
        return ScriptedServer.Request(connection: number, head: head)
      }
      searched = max(0, reading.buffer.count - end.count + 1)
      try receive(&reading)
    }
  }

  func readBody(of request: ScriptedServer.Request, _ reading: inout Reading) throws(End) -> [UInt8] {
    if request["Expect"]?.lowercased() == "100-continue" { try send([UInt8]("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
    if request["Transfer-Encoding"]?.lowercased() == "chunked" { return try readChunks(&reading) }
    return try read(request["Content-Length"].flatMap { Int($0) } ?? 0, &reading)
  }

  private func readChunks(_ reading: inout Reading) throws(End) -> [UInt8] {
    var body: [UInt8] = []
    while true {
      let size = Int(try readLine(&reading).prefix { $0 != ";" }, radix: 16) ?? 0
      body += try read(size, &reading)
      if size > 0 {
        _ = try readLine(&reading)
      } else {
        while try readLine(&reading) != "" {}  // trailers
        return body
      }
    }
  }

  private func readLine(_ reading: inout Reading) throws(End) -> String {
    while true {
      if let end = reading.buffer.firstIndex(of: 0x0A) {
        let line = String(decoding: reading.buffer[..<end], as: UTF8.self)
        reading.buffer.removeSubrange(...end)
        return line.trimmingCharacters(in: .whitespacesAndNewlines)
      }
      try receive(&reading)
    }
  }

  private func read(_ count: Int, _ reading: inout Reading) throws(End) -> [UInt8] {
    while reading.buffer.count < count { try receive(&reading) }
    let bytes = [UInt8](reading.buffer.prefix(count))
    reading.buffer.removeFirst(count)
    return bytes
  }

  private func receive(_ reading: inout Reading) throws(End) {
    let bytes = socket.receive()
    guard !bytes.isEmpty else { throw .clientClosed }
    record { $0.bytesReceived += bytes.count }
    reading.buffer += bytes
  }
}

/// `POLLRDHUP`, which the C library's module does not show: the peer has closed, whether or not all was read.
private let closedByPeer: Int16 = 0x2000
