/// How long each step took in which a transport opened a connection. The steps follow one another without pauses.
public struct ConnectionOpeningTimes: Hashable, Sendable, CustomStringConvertible {
  /// The look-up of the host's name; `nil` for an address and for a Unix domain socket, which need none.
  public let lookUp: Duration?
  /// From the addresses to a connected socket, whichever address it was that connected.
  public let connect: Duration
  /// The tunnel through a proxy; `nil` without one.
  public let tunnel: Duration?
  /// The handshake of TLS, with what is read for it before the first one; `nil` in clear text.
  public let tls: Duration?
  /// How long the connection had been open when the attempt got it: more than a moment if it was opened for another one.
  public let idle: Duration

  /// The time of all steps, without the time that the connection was idle.
  public var total: Duration { (lookUp ?? .zero) + connect + (tunnel ?? .zero) + (tls ?? .zero) }

  /// Makes the times of a connection: for a transport, or to test an observer with.
  public init(
    lookUp: Duration? = nil, connect: Duration, tunnel: Duration? = nil, tls: Duration? = nil, idle: Duration = .zero
  ) {
    self.lookUp = lookUp
    self.connect = connect
    self.tunnel = tunnel
    self.tls = tls
    self.idle = idle
  }

  /// One line: the steps that there were, with their times.
  public var description: String {
    let steps = [("look-up", lookUp), ("connect", connect), ("tunnel", tunnel), ("TLS", tls), ("idle", idle)]
    return steps.compactMap { step in step.1.map { "\(step.0) \($0)" } }.joined(separator: ", ")
  }
}
