package import Foundation
import Glibc
import Synchronization

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
    Thread.detachNewThread { [listener, log, connections] in
      var number = 0
      while let socket = Self.accept(from: listener) {
        guard connections.insert(socket, number) else { break }
        log.update { $0.connections.append(ConnectionLog()) }
        let connection = ScriptedConnection(number: number, socket: socket, log: log)
        let steps = script(number)
        Thread.detachNewThread { [number] in
          connection.run(steps)
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
      let number = retryingOnInterrupt { Glibc.accept(listener.number, nil, nil) }
      if number >= 0 {
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        var yes: Int32 = 1
        setsockopt(number, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        return Descriptor(number)
      }
      // A client that gave up while it was queued is no reason to end; a listener that was shut down (EINVAL) is.
      guard errno == ECONNABORTED else { return nil }
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
