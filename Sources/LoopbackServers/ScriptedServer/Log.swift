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
