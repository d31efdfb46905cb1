import Streams

// Classes, so that changing one does not write to the dictionary that contains it.

extension ConnectionPool {
  /// A connection as the pool sees it.
  ///
  /// `@unchecked Sendable`: it belongs to a pool, and is used only through the pool, which has one user at a time.
  final class Member: @unchecked Sendable {
    enum Phase {
      case opening
      case idle(until: Instant)
      case busy(Exchange)
    }

    let connection: Connection
    let group: Group
    var phase = Phase.opening
    /// Whether it has neither been idle nor carried an exchange before the current one.
    var isFresh = true

    init(_ connection: Connection, _ group: Group) {
      self.connection = connection
      self.group = group
    }
  }

  /// The state of an exchange.
  enum Place {
    case waiting(Waiter)
    case connected(Member)
  }

  /// An exchange that waits for a connection.
  ///
  /// `@unchecked Sendable`: as for ``Member``.
  final class Waiter: @unchecked Sendable {
    /// `nil` once it has left: releasing the exchange may run user code, which must not happen later, under a lock,
    /// when the queue moves on.
    var exchange: Exchange?
    let group: Group
    /// Its position among the waiters of all routes.
    let ticket: Int

    init(_ exchange: Exchange, _ group: Group, ticket: Int) {
      self.exchange = exchange
      self.group = group
      self.ticket = ticket
    }
  }

  /// The connections and waiters of one route.
  ///
  /// `@unchecked Sendable`: as for ``Member``. Nothing is called while one of these is being changed, so the checks for
  /// overlapping accesses are off.
  final class Group: @unchecked Sendable {
    let route: Route
    var connectionCount = 0
    var opening: [Member] = []
    @exclusivity(unchecked) var idle: [Member] = []
    @exclusivity(unchecked) var queue = Fifo<Waiter>()
    var waitingCount = 0
    /// Whether this machine was short of what another connection takes, when that was last tried.
    var isShort = false
    /// Whether it was short, and no connection was opened since: then one is tried at a time.
    var isTight = false

    init(_ route: Route) {
      self.route = route
    }

    var isEmpty: Bool { connectionCount == 0 && waitingCount == 0 }

    /// Whether another connection would help, and is allowed.
    func isInNeed(_ limits: Limits) -> Bool {
      waitingCount > opening.count && connectionCount < limits.perRoute && !isShort && (!isTight || opening.isEmpty)
    }

    /// The waiter that has waited longest.
    func firstWaiter() -> Waiter? {
      while let first = queue.first, first.exchange == nil { _ = queue.popFirst() }
      return queue.first
    }

    /// Removes and returns the exchange that has waited longest.
    func takeWaiting() -> Exchange? {
      guard let exchange = firstWaiter()?.exchange else { return nil }
      _ = queue.popFirst()
      waitingCount -= 1
      return exchange
    }
  }
}
