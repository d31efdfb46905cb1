/// How long the parts of an exchange may take. `nil` means no limit; a duration of zero or less has already passed.
public struct HTTPTimeouts: Sendable {
  /// From the start until there is a connection, and from the loss of a connection until there is another: 10 seconds
  /// by default.
  public var connect: Duration?

  /// Between two signs of life from the server, once connected: 30 seconds by default.
  public var idle: Duration?

  /// From the start to the end of the response: unless set, 60 seconds. A total that was set holds for any response.
  ///
  /// The default does not end what makes progress: it stops counting with the head of a successful response that is
  /// read as it arrives (``HTTPRequest/mayOutlastTotal(_:)``): a stream, or a download. From then on, only `idle`
  /// counts. It begins to count once an upload has been sent.
  public var total: Duration? {
    didSet { isTotalSet = true }
  }

  /// Whether the total was set, even if to the default.
  private(set) var isTotalSet: Bool

  /// Makes timeouts with the default total; what is not given keeps its default.
  public init(connect: Duration? = .seconds(10), idle: Duration? = .seconds(30)) {
    self.init(connect: connect, idle: idle, total: .seconds(60))
    isTotalSet = false
  }

  /// Makes timeouts with a total; what is not given keeps its default.
  public init(connect: Duration? = .seconds(10), idle: Duration? = .seconds(30), total: Duration?) {
    self.connect = connect
    self.idle = idle
    self.total = total
    isTotalSet = true
  }
}

extension HTTPTimeouts: Hashable {
  /// Whether the durations are equal.
  public static func == (left: HTTPTimeouts, right: HTTPTimeouts) -> Bool {
    (left.connect, left.idle, left.total) == (right.connect, right.idle, right.total)
  }

  /// Hashes the durations.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(connect)
    hasher.combine(idle)
    hasher.combine(total)
  }
}

extension HTTPTimeouts {
  /// These timeouts with `elapsed` taken off the total, for a middleware to hand on after it has taken time.
  public func after(_ elapsed: Duration) -> HTTPTimeouts {
    var timeouts = self
    timeouts.total = total.map { $0 - elapsed }
    timeouts.isTotalSet = isTotalSet
    return timeouts
  }

  /// These timeouts for a request whose default total begins to count later: with the whole of it.
  package var withWholeDefaultTotal: HTTPTimeouts {
    isTotalSet ? self : HTTPTimeouts(connect: connect, idle: idle)
  }
}
