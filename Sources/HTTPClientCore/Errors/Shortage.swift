package import SystemBase

extension SystemError {
  /// What this machine or process may lack for another socket.
  package enum Shortage: Hashable, Sendable {
    /// Descriptors, memory, or whatever else a socket of any kind holds until it is closed.
    case ofDescriptors
    /// Ports for further connections to one address; a closed connection holds its port for another minute.
    case ofPorts
  }

  /// What was lacking, if that is why the call failed.
  package var shortage: Shortage? {
    switch code {
    // ENOSPC is epoll's (epoll_ctl(2)), EAGAIN that of a thread that cannot be started (pthread_create(3)).
    case EMFILE, ENFILE, ENOMEM, ENOBUFS, ENOSPC, EAGAIN: .ofDescriptors
    case EADDRNOTAVAIL: .ofPorts
    default: nil
    }
  }

  /// Whether this machine or process lacked something; the peer is not to blame.
  package var isShortage: Bool { shortage != nil }
}

extension RequestError {
  /// Whether it was this machine or process that lacked something for the request: descriptors, memory, threads or
  /// ports. It says nothing about the server, so a middleware that tracks the health of servers should not count it.
  ///
  /// Known for the errors of a `SocketTransport`; `false` means that nothing is known.
  public var isShortage: Bool {
    let cause = (cause as? TokenRefreshFailure)?.error.cause ?? cause
    return (cause as? SystemError)?.isShortage ?? false
  }
}
