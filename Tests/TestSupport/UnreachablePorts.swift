import Glibc

/// A port at which every connection is refused, and that nobody else gets while this object lives.
package final class RefusingPort: Sendable {
  package let port: UInt16
  private let socket: Descriptor

  package init() throws {
    (socket, port) = try Loopback.bind()  // bound, never listening
  }
}

/// A port at which connecting never ends: its queue of connections is full, so the system drops each further attempt.
package final class UnansweredPort: Sendable {
  package let port: UInt16
  private let listener: Descriptor
  private let queue: [Descriptor]

  package init() throws {
    (listener, port) = try Loopback.listen(backlog: 0)
    var queue: [Descriptor] = []
    while true {
      let (socket, stands) = try Loopback.connect(port: port, withinMilliseconds: 200)
      queue.append(socket)
      if !stands { break }
    }
    self.queue = queue
  }
}
