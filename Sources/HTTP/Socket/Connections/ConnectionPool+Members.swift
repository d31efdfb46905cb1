// Classes, so that a change of one is no write to the dictionary that it is found by.

extension ConnectionPool {
  /// A connection, as the pool sees it.
  ///
  /// `@unchecked Sendable`: it belongs to a pool, and nobody but the pool's one user at a time gets at it.
  final class Member: @unchecked Sendable {
    enum Phase {
      case opening
      case idle(until: Instant)
      case busy(Exchange)
    }

    let connection: Connection
    let group: Group
    var phase = Phase.opening
    /// Whether it has neither been idle nor carried an exchange before the present one.
    var isFresh = true

    init(_ connection: Connection, _ group: Group) {
      self.connection = connection
      self.group = group
    }
  }

  /// Where an exchange stands.
  enum Place {
    case waiting(Waiter)
    case connected(Member)
  }

  /// An exchange that waits for a connection.
  ///
  /// `@unchecked Sendable`: as of ``Member``.
  final class Waiter: @unchecked Sendable {
    /// `nil` once it has left: its last release may be code of the user's, and is not to wait for the queue to move on,
    /// under a lock.
    var exchange: Exchange?
    let group: Group
    /// Where it stands among those of all routes.
    let ticket: Int

    init(_ exchange: Exchange, _ group: Group, ticket: Int) {
      self.exchange = exchange
      self.group = group
      self.ticket = ticket
    }
  }

  /// What belongs to one route.
  ///
  /// `@unchecked Sendable`: as of ``Member``. Nothing is called while one of these is changed, so that accesses need no
  /// check for overlaps.
  final class Group: @unchecked Sendable {
    let route: Route
    var connectionCount = 0
    var opening: [Member] = []
    @exclusivity(unchecked) var idle: [Member] = []
    @exclusivity(unchecked) var queue = WaitQueue<Waiter>()
    var waitingCount = 0

    init(_ route: Route) {
      self.route = route
    }

    var isEmpty: Bool { connectionCount == 0 && waitingCount == 0 }

    /// Whether another connection would help, and may be.
    func isInNeed(_ limits: Limits) -> Bool { waitingCount > opening.count && connectionCount < limits.perRoute }

    /// Who has waited longest.
    func firstWaiter() -> Waiter? {
      while let first = queue.first, first.exchange == nil { _ = queue.popFirst() }
      return queue.first
    }

    /// The exchange that has waited longest, and waits no longer.
    func takeWaiting() -> Exchange? {
      guard let exchange = firstWaiter()?.exchange else { return nil }
      _ = queue.popFirst()
      waitingCount -= 1
      return exchange
    }
  }
}
