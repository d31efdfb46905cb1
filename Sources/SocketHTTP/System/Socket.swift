import HTTPClientCore
import SystemBase

/// A stream socket that never blocks, never raises SIGPIPE, and is closed on exec.
///
/// This is only a descriptor: the code that opens it has to close it.
struct Socket: Hashable, Sendable {
  let descriptor: Int32

  /// How many descriptors of a process are left to others. Dispatch, for one, ends a process on Linux in which it finds
  /// none when it counts its threads, as it does each second while all of them are busy (`workqueue.c`).
  private static let reserve = 4

  /// Throws if there are only as many descriptors left as are left to others, once this one is open: a new one is the
  /// lowest that is free.
  static func checkReserve(besides descriptor: Int32) throws(SystemError) {
    let limit = sysconf(Int32(_SC_OPEN_MAX))
    if limit > 0, Int(descriptor) + reserve >= limit { throw SystemError(code: EMFILE) }
  }

  /// Opens a socket for an address family, unless the process has no more descriptors than are left to others.
  static func open(family: Int32) throws(SystemError) -> Socket {
    #if canImport(Darwin)
      let descriptor = socket(family, StreamSocket.type, 0)
      guard descriptor >= 0 else { throw .last }
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
      Socket(descriptor: descriptor).set(SO_NOSIGPIPE, of: SOL_SOCKET)
    #else
      let flags = StreamSocket.closesOnExec | StreamSocket.neverBlocks
      let descriptor = socket(family, StreamSocket.type | flags, 0)
      guard descriptor >= 0 else { throw .last }
    #endif
    let opened = Socket(descriptor: descriptor)
    do {
      try checkReserve(besides: descriptor)
    } catch {
      opened.close()
      throw error
    }
    if family != AF_UNIX { opened.set(TCP_NODELAY, of: Int32(IPPROTO_TCP)) }
    return opened
  }

  /// Has the system find out whether the peer of a TCP connection is still there.
  func set(_ liveness: SocketTransport.Configuration.Liveness) {
    let tcp = Int32(IPPROTO_TCP)
    if let idle = liveness.probeAfter {
      set(SO_KEEPALIVE, of: SOL_SOCKET)
      #if canImport(Darwin)
        set(TCP_KEEPALIVE, of: tcp, to: idle.whole(.seconds(1)))
      #else
        set(TCP_KEEPIDLE, of: tcp, to: idle.whole(.seconds(1)))
      #endif
      set(TCP_KEEPINTVL, of: tcp, to: liveness.probeInterval.whole(.seconds(1)))
      set(TCP_KEEPCNT, of: tcp, to: Int32(clamping: min(max(liveness.probeCount, 1), 127)))
    }
    #if !canImport(Darwin)
      if let timeout = liveness.unacknowledgedTimeout {
        set(TCP_USER_TIMEOUT, of: tcp, to: timeout.whole(.milliseconds(1)))
      }
    #endif
  }

  private func set(_ option: Int32, of level: Int32, to value: Int32 = 1) {
    var value = value
    setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout.size(ofValue: value)))
  }

  /// Begins to connect; the result is known when the socket becomes writable.
  func connect(to address: SocketAddress) throws(SystemError) {
    let result = address.withPointer { pointer, length in
      SystemBase.connect(descriptor, pointer, length)
    }
    // An interrupted connect continues by itself.
    if result < 0, errno != EINPROGRESS, errno != EINTR { throw .last }
  }

  /// The error of a finished connect, if it failed.
  func takeError() -> SystemError? {
    var code: Int32 = 0
    var length = socklen_t(MemoryLayout.size(ofValue: code))
    guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0 else { return .last }
    return code == 0 ? nil : SystemError(code: code)
  }

  /// Reads the bytes that are available; 0 means the end.
  func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
    guard let count = retryingOnInterrupt({ recv(descriptor, buffer.baseAddress, buffer.count, 0) }) else {
      throw .last
    }
    return count
  }

  #if canImport(Darwin)
    private static let sendFlags: Int32 = 0
  #else
    private static let sendFlags = Int32(MSG_NOSIGNAL)
  #endif

  /// Writes as many bytes as there is room for.
  func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
    guard
      let count = retryingOnInterrupt({
        SystemBase.send(descriptor, bytes.baseAddress, bytes.count, Self.sendFlags)
      })
    else { throw .last }
    return count
  }

  /// Writes as much of two consecutive pieces as there is room for.
  func send(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) throws(SystemError) -> Int {
    if first.isEmpty { return try send(second) }
    if second.isEmpty { return try send(first) }
    let sent = withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { pieces in
      pieces.initializeElement(at: 0, to: iovec(first))
      pieces.initializeElement(at: 1, to: iovec(second))
      var message = msghdr()
      message.msg_iov = pieces.baseAddress
      message.msg_iovlen = .init(pieces.count)
      return retryingOnInterrupt { sendmsg(descriptor, &message, Self.sendFlags) }
    }
    guard let sent else { throw .last }
    return sent
  }

  /// About how many bytes the system has taken, and the peer's has not; 0 if that is not known, as on a local socket.
  var unacknowledged: Int {
    #if canImport(Darwin)
      var count: Int32 = 0
      var length = socklen_t(MemoryLayout.size(ofValue: count))
      return getsockopt(descriptor, SOL_SOCKET, SO_NWRITE, &count, &length) == 0 ? Int(count) : 0
    #else
      // `tcp_info` of linux/tcp.h: `tcpi_snd_mss`, `tcpi_unacked` in segments, and `tcpi_notsent_bytes`.
      var words = [UInt32](repeating: 0, count: 37)
      var length = socklen_t(words.count * MemoryLayout<UInt32>.size)
      guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &words, &length) == 0 else { return 0 }
      return Int(words[4]) * Int(words[6]) + Int(words[36])
    #endif
  }

  /// The state of a socket that is not read from.
  enum Condition: Hashable {
    case quiet, readable, closed
  }

  /// Checks the state of the socket without reading from it.
  func condition() -> Condition {
    #if canImport(Darwin)
      let peerClosed: Int32 = 0
    #else
      let peerClosed: Int32 = 0x2000  // POLLRDHUP, which is missing in the Glibc module
    #endif
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN | peerClosed), revents: 0)
    guard retryingOnInterrupt({ Int(SystemBase.poll(&poll, 1, 0)) }) != nil else { return .closed }
    let events = Int32(poll.revents)
    if events & (POLLERR | POLLHUP | POLLNVAL | peerClosed) != 0 { return .closed }
    return events & POLLIN != 0 ? .readable : .quiet
  }

  /// Closes the descriptor; on Linux it is closed even if a signal interrupts the call.
  func close() {
    _ = SystemBase.close(descriptor)
  }
}

extension Duration {
  /// How many of a unit it is, rounded up: at least 1, and at most the 32,767 that the system takes for seconds.
  fileprivate func whole(_ unit: Duration) -> Int32 {
    let count = (self / unit).rounded(.up)
    let most: Double = unit == .seconds(1) ? 32_767 : Double(Int32.max)
    return Int32(min(max(count, 1), most))
  }
}

extension iovec {
  /// Describes bytes that are only read.
  fileprivate init(_ bytes: UnsafeRawBufferPointer) {
    self.init(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
  }
}
