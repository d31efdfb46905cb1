/// How long the parts of an exchange may take. `nil` means no limit; a duration of zero or less has already passed.
public struct HTTPTimeouts: Hashable, Sendable {
  /// From the start until there is a connection, and from the loss of a connection until there is another: 10 seconds
  /// by default.
  public var connect: Duration?

  /// Between two signs of life from the server, once connected: 30 seconds by default.
  public var idle: Duration?

  /// From the start to the end of the response: 60 seconds by default.
  public var total: Duration?

  /// Makes timeouts; what is not given keeps its default.
  public init(connect: Duration? = .seconds(10), idle: Duration? = .seconds(30), total: Duration? = .seconds(60)) {
    self.connect = connect
    self.idle = idle
    self.total = total
  }
}

extension HTTPTimeouts {
  /// These timeouts with `elapsed` taken off the total, for a middleware to hand on after it has taken time.
  public func after(_ elapsed: Duration) -> HTTPTimeouts {
    var timeouts = self
    timeouts.total = total.map { $0 - elapsed }
    return timeouts
  }
}
