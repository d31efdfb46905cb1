import Synchronization
package import SystemBase

/// A TCP server on 127.0.0.1 that does on each connection what its script says, well-mannered or not.
///
/// It serves as the peer for tests of what a client makes of bytes, cuts, resets and silence. Every connection has a
/// thread of its own. What clients sent and when they closed is in `log`, which tests can wait on.
///
///     let server = try ScriptedServer([.readRequest, .send("HTTP/1.1 200 OK\r\nContent-"), .close])
///
/// It stops when it is released; its open connections are then shut.
package final class ScriptedServer: Sendable {
  package let port: UInt16

  /// What has happened so far.
  package let log: Monitor<Log>

  private let listener: Descriptor
  private let connections = OpenConnections()

  /// Starts a server whose connections follow these scripts: the first connection the first, and so on; when there are
  /// more connections than scripts, the last script counts for the rest.
  package convenience init(_ scripts: [Step]...) throws {
    try self.init { number in
      scripts.isEmpty ? [] : scripts[min(number, scripts.count - 1)]
    }
  }

  /// Starts a server that has this fault on every connection.
  package convenience init(_ fault: Fault) throws {
    try self.init(fault.script)
  }

  /// Starts a server that takes a script for each connection; they are numbered from 0 in the order of acceptance.
  package init(script: @escaping @Sendable (_ connection: Int) -> [Step]) throws {
    (listener, port) = try Loopback.listen(backlog: 512)
    log = Monitor(Log())
    // The thread holds these parts and not the server, so that the server can be released while the thread runs.
    try startThread(named: "ScriptedServer") { [listener, log, connections] in
      var number = 0
      while let socket = Self.accept(from: listener) {
        guard connections.insert(socket, number) else { break }
        log.update { $0.connections.append(ConnectionLog()) }
        let connection = ScriptedConnection(number: number, socket: socket, log: log)
        let steps = script(number)
        do throws(SystemError) {
          try startThread(named: "Scripted") { [number] in
            connection.run(steps)
            connections.remove(number)
          }
        } catch {
          connections.remove(number)
        }
        number += 1
      }
      listener.close()
    }
  }

  deinit {
    stop()
  }

  /// The server's root, such as `http://127.0.0.1:40001/`.
  package var url: URL {
    guard let url = URL(string: "http://127.0.0.1:\(port)/") else { preconditionFailure("A port makes a valid URL.") }
    return url
  }

  /// The requests that were read to their end, in that order, from all connections.
  package var requests: [Request] { log.value.requests }

  /// Waits until this many requests have been read, and gives all that were.
  @discardableResult
  package func waitForRequests(
    _ count: Int = 1, within limit: Duration = .seconds(60), file: StaticString = #fileID, line: UInt = #line
  ) async throws -> [Request] {
    try await log.wait(for: "\(count) requests", within: limit, file: file, line: line) { $0.requests.count >= count }
      .requests
  }

  /// Waits until the client has closed or reset a connection, and gives the time at which that was noticed, which is at
  /// once in every step that waits, and at the next byte in one that sends.
  @discardableResult
  package func waitForClientToClose(
    connection: Int = 0, within limit: Duration = .seconds(60), file: StaticString = #fileID, line: UInt = #line
  ) async throws -> ContinuousClock.Instant {
    let log = try await log.wait(
      for: "the client to close connection \(connection)", within: limit, file: file, line: line
    ) {
      $0.connections.count > connection && $0.connections[connection].clientClosed != nil
    }
    return log.connections[connection].clientClosed ?? .now
  }

  /// Refuses further connections and shuts the open ones; a client sees each of them end.
  package func stop() {
    listener.shutDown()
    connections.shutDown()
  }

  private static func accept(from listener: Descriptor) -> Descriptor? {
    while true {
      let number = uninterrupted { SystemBase.accept(listener.number, nil, nil) }
      if number >= 0 {
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        var yes: Int32 = 1
        setsockopt(number, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        return Descriptor(number)
      }
      switch errno {
      // A client that gave up while it was queued is no reason to end; a listener that was shut down (EINVAL) is.
      case ECONNABORTED: break
      // Nor is a shortage in the process, which some tests make; no event says when it is over.
      case EMFILE, ENFILE: usleep(1_000)
      default: return nil
      }
    }
  }
}

/// The connections that a stop has to shut down.
private final class OpenConnections: Sendable {
  private struct State {
    var isStopped = false
    var sockets: [Int: Descriptor] = [:]
  }

  private let state = Mutex(State())

  /// False when the server has been stopped.
  func insert(_ socket: Descriptor, _ number: Int) -> Bool {
    state.withLock { state in
      if !state.isStopped { state.sockets[number] = socket }
      return !state.isStopped
    }
  }

  func remove(_ number: Int) {
    state.withLock { $0.sockets[number] = nil }
  }

  func shutDown() {
    let sockets = state.withLock { state in
      state.isStopped = true
      return state.sockets.values.map { $0 }
    }
    for socket in sockets { socket.shutDown() }
  }
}

extension ScriptedServer {
  /// What has happened on a server's connections.
  package struct Log: Sendable {
    /// In the order of acceptance.
    package internal(set) var connections: [ConnectionLog] = []

    /// The requests that were read to their end, in that order.
    package internal(set) var requests: [Request] = []
  }

  /// What has happened on one connection.
  package struct ConnectionLog: Sendable {
    package internal(set) var bytesReceived = 0

    /// Bytes that the system took; a client that does not read lets this come to rest.
    package internal(set) var bytesSent = 0

    /// When it was noticed that the client had closed or reset the connection; nil where the server was first.
    package internal(set) var clientClosed: ContinuousClock.Instant?

    /// Whether the connection's script has ended, and with it the connection.
    package internal(set) var isOver = false
  }
}

/// One connection of a `ScriptedServer`, used by its thread alone.
struct ScriptedConnection {
  enum End: Error {
    case clientClosed
    case serverDone
  }

  /// Bytes that came but are not consumed yet, and the request that was read last.
  struct Reading {
    var buffer: [UInt8] = []
    var request: ScriptedServer.Request?
  }

  let number: Int
  let socket: Descriptor
  let log: Monitor<ScriptedServer.Log>

  func run(_ steps: [ScriptedServer.Step]) {
    var reading = Reading()
    do throws(End) {
      for step in steps { try perform(step, &reading) }
      closePolitely()
    } catch {
      if error == .clientClosed, !socket.isShutDown { record { $0.clientClosed = .now } }
    }
    socket.close()
    record { $0.isOver = true }
  }

  private func perform(_ step: ScriptedServer.Step, _ reading: inout Reading) throws(End) {
    switch step {
    case .readRequest:
      var request = try readHead(&reading)
      request.body = try readBody(of: request, &reading)
      reading.request = request
      log.update { [request] in $0.requests.append(request) }
    case .readHead:
      reading.request = try readHead(&reading)
    case .send(let bytes):
      try send(bytes)
    case .sendPieces(let pieces, let gap):
      for (index, piece) in pieces.enumerated() {
        if index > 0 { try pause(gap) }
        try send(piece)
      }
    case .sendForever(let bytes):
      while true { try send(bytes) }
    case .respond(let makeResponse):
      guard let request = reading.request else { return }
      try send(makeResponse(request).bytes)
      if request["Connection"]?.lowercased() == "close" { try perform(.close, &reading) }
    case .wait(let latch):
      try wait(for: latch)
    case .waitForClientToClose:
      try pause(nil)
    case .finishSending:
      shutdown(socket.number, Int32(SHUT_WR))
    case .close:
      closePolitely()
      throw .serverDone
    case .reset:
      socket.resetWhenClosed()
      throw .serverDone
    case .forever(let steps):
      while true {
        for step in steps { try perform(step, &reading) }
      }
    }
  }
}

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
      if uninterrupted({ poll(&entry, 1, milliseconds) }) > 0 { throw .clientClosed }
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
    _ = uninterrupted { poll(&entries, 2, -1) }
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
        return line.hasSuffix("\r") ? String(line.dropLast()) : line
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
