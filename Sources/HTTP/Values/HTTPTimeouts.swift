/// How long the parts of an exchange may take. `nil` means no bound; a duration of zero or less has already passed.
public struct HTTPTimeouts: Hashable, Sendable {
  /// From the start until the connection stands, and from the loss of one until another stands in its place: 10 seconds
  /// unless set.
  public var connect: Duration?

  /// Between two signs of life from the server, once connected: 30 seconds unless set.
  public var idle: Duration?

  /// From the start to the end of the answer: 60 seconds unless set.
  public var total: Duration?

  /// Makes timeouts; what is not given keeps its default.
  public init(connect: Duration? = .seconds(10), idle: Duration? = .seconds(30), total: Duration? = .seconds(60)) {
    self.connect = connect
    self.idle = idle
    self.total = total
  }
}

extension HTTPTimeouts {
  /// What is left of these timeouts when part of the total has passed: what a middleware that took time hands on.
  public func after(_ elapsed: Duration) -> HTTPTimeouts {
    var timeouts = self
    timeouts.total = total.map { $0 - elapsed }
    return timeouts
  }
}
