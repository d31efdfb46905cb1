import SystemBase

/// TCP sockets on 127.0.0.1, which child processes do not inherit.
package enum Loopback {
  /// A socket bound to a port, by default one that the system chooses; with `isShared`, a server that names the port can
  /// listen there meanwhile.
  static func bind(port: UInt16 = 0, isShared: Bool = false) throws -> (socket: Descriptor, port: UInt16) {
    let socket = try makeSocket()
    var flag: Int32 = isShared ? 1 : 0
    setsockopt(socket.number, SOL_SOCKET, SO_REUSEADDR, &flag, socklen_t(MemoryLayout<Int32>.size))
    var address = address(port: port)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withSockaddr(&address) { SystemBase.bind(socket.number, $0, length) }
    try FailedCall.check(bound, "bind")
    let named = withSockaddr(&address) { getsockname(socket.number, $0, &length) }
    try FailedCall.check(named, "getsockname")
    return (socket, UInt16(bigEndian: address.sin_port))
  }

  /// A socket that listens at a ``RefusingPort``, or at a port that the system chose.
  package static func listen(
    at refusing: RefusingPort? = nil, backlog: Int32
  ) throws -> (socket: Descriptor, port: UInt16) {
    let (socket, port) = try bind(port: refusing?.port ?? 0, isShared: refusing != nil)
    try FailedCall.check(SystemBase.listen(socket.number, backlog), "listen")
    return (socket, port)
  }

  /// A connected socket; waits until the connection stands.
  package static func connect(port: UInt16) throws -> Descriptor {
    let socket = try makeSocket()
    let result = uninterrupted { startConnecting(socket, port: port) }
    try FailedCall.check(result, "connect")
    return socket
  }

  /// A socket that is made without waiting, and whether its connection stands within the limit.
  package static func connect(
    port: UInt16, withinMilliseconds limit: Int32
  ) throws -> (socket: Descriptor, stands: Bool) {
    let socket = try makeSocket(flags: StreamSocket.neverBlocks)
    if startConnecting(socket, port: port) == 0 { return (socket, true) }
    guard errno == EINPROGRESS else { throw FailedCall(call: "connect", code: errno) }
    var entry = pollfd(fd: socket.number, events: Int16(POLLOUT), revents: 0)
    return (socket, uninterrupted { poll(&entry, 1, limit) } == 1)
  }

  private static func makeSocket(flags: Int32 = 0) throws -> Descriptor {
    let type = StreamSocket.type | StreamSocket.closesOnExec | flags
    return Descriptor(try FailedCall.check(socket(AF_INET, type, 0), "socket"))
  }

  private static func startConnecting(_ socket: Descriptor, port: UInt16) -> Int32 {
    var address = address(port: port)
    return withSockaddr(&address) {
      SystemBase.connect(socket.number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
    }
  }

  private static func address(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return address
  }

  private static func withSockaddr<Result>(
    _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> Result
  ) -> Result {
    withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
    }
  }
}

extension Descriptor {
  /// Sends all bytes; false when the peer is gone or the socket was shut down.
  package func send(_ bytes: ArraySlice<UInt8>) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
      let sent = rest.withUnsafeBytes { buffer in
        uninterrupted { SystemBase.send(number, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL)) }
      }
      guard sent > 0 else { return false }
      rest = rest.dropFirst(sent)
    }
    return true
  }

  /// Makes closing it send a RST.
  package func resetWhenClosed() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(number, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
  }

  /// The next bytes, at most `limit`; none at the end, and none after a failure.
  package func receive(upTo limit: Int = 65_536, flags: Int32 = 0) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      count = max(0, uninterrupted { recv(number, buffer.baseAddress, limit, flags) })
    }
  }
}

/// A port at which every connection is refused, and that the system gives to no other socket while this object lives.
///
/// A server that asks for this very port gets it, with `SO_REUSEADDR`; when it ends, the port refuses again.
package final class RefusingPort: Sendable {
  package let port: UInt16
  private let socket: Descriptor

  package init() throws {
    (socket, port) = try Loopback.bind(isShared: true)  // bound, never listening
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

  /// How many connections to it are being made now, besides its own; nil where the system does not tell.
  package var attempts: Int? {
    guard let file = fopen("/proc/self/net/tcp", "re") else { return nil }
    defer { fclose(file) }
    // Line by line, for such a file has no size, and comes in parts.
    var (lines, line) = ([[Substring]](), [CChar](repeating: 0, count: 512))
    while fgets(&line, Int32(line.count), file) != nil {
      let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      lines.append(text.split(separator: " "))
    }
    // Columns 1 and 2 are the addresses of both sides, as in 0100007F:1F90, and 3 is the state: 02 is SYN_SENT. A table
    // that changes while it is read may have a line twice.
    let attempts = lines.filter { columns in
      guard columns.count > 3, let port = columns[2].split(separator: ":").last else { return false }
      return UInt16(port, radix: 16) == self.port && columns[3] == "02"
    }
    return Set(attempts.map { $0[1] }).count - 1
  }
}
