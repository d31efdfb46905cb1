/// Which connections there are, whose they are, and who waits for one: a state machine that opens and closes nothing by
/// itself, but says what is to be done.
///
///     opening ──► idle ◄──► busy(exchange) ──► gone
///
/// An exchange either waits or has a connection, from `lease` to `finish` or `cancel`. Two things hold after each call:
/// no connection is idle while somebody waits for its route, and none waits while there is room to open one for it.
struct ConnectionPool<
  Route: Hashable & Sendable, Connection: AnyObject & Sendable, Exchange: AnyObject & Sendable
>: Sendable {
  typealias Instant = ContinuousClock.Instant

  /// How many connections there may be.
  struct Limits {
    var perRoute: Int
    var total: Int
  }

  /// What is left to do after a call.
  struct Effects {
    var opening: [Connection] = []
    var closing: [Connection] = []
  }

  private enum Phase {
    case opening
    case idle(until: Instant)
    case busy(Exchange)
  }

  private struct Member {
    let connection: Connection
    let route: Route
    var phase: Phase
    /// Whether it has neither been idle nor carried an exchange before the present one.
    var isFresh = true
  }

  /// An exchange that has lost its connection.
  struct Orphan {
    let exchange: Exchange
    /// Whether the connection had been opened for it, and nothing before it.
    let isFresh: Bool
  }

  private struct Placement {
    let exchange: Exchange
    let route: Route
    let ticket: Int
    var connection: Connection?
  }

  /// What belongs to one route.
  private struct Group {
    var connections = 0
    var opening: [Connection] = []
    var idle: [Connection] = []
    var queue = WaitQueue<Exchange>()
    var waiting = 0
  }

  private let limits: Limits
  private let makeConnection: @Sendable (Route) -> Connection
  private var members: [ObjectIdentifier: Member] = [:]
  private var placements: [ObjectIdentifier: Placement] = [:]
  private var groups: [Route: Group] = [:]
  private var waiting = 0
  private var lastTicket = 0

  init(limits: Limits, makeConnection: @escaping @Sendable (Route) -> Connection) {
    self.limits = limits
    self.makeConnection = makeConnection
  }

  // MARK: - Exchanges

  /// Gives a connection that is idle, the newest one; else the exchange waits for one.
  mutating func lease(_ exchange: Exchange, _ route: Route, _ effects: inout Effects) -> Connection? {
    lastTicket += 1
    var placement = Placement(exchange: exchange, route: route, ticket: lastTicket)
    if let connection = groups[route]?.idle.popLast() {
      placement.connection = connection
      placements[ObjectIdentifier(exchange)] = placement
      members[ObjectIdentifier(connection)]?.phase = .busy(exchange)
      return connection
    }
    placements[ObjectIdentifier(exchange)] = placement
    groups[route, default: Group()].queue.append(exchange, ticket: lastTicket)
    groups[route]?.waiting += 1
    waiting += 1
    openConnections(&effects)
    return nil
  }

  /// Ends an exchange whose answer is there. What becomes of its connection is for `makeAvailable` or `remove`.
  ///
  /// False where the exchange does not have this connection any more: then it was cancelled, and the connection is gone.
  mutating func finish(_ exchange: Exchange, on connection: Connection) -> Bool {
    let key = ObjectIdentifier(exchange)
    guard placements[key]?.connection === connection else { return false }
    placements[key] = nil
    return true
  }

  /// Ends an exchange early: what it waits for, or its connection, which is no longer of use. False where it has ended.
  mutating func cancel(_ exchange: Exchange, _ effects: inout Effects) -> Bool {
    guard let placement = placements.removeValue(forKey: ObjectIdentifier(exchange)) else { return false }
    if let connection = placement.connection {
      effects.closing.append(connection)
      _ = remove(connection, &effects)
    } else {
      waiting -= 1
      groups[placement.route]?.waiting -= 1
      groups[placement.route]?.queue.compact { placements[ObjectIdentifier($0)]?.ticket == $1 }
      // Oldest first: what it waited for has taken longest.
      if let group = groups[placement.route], group.opening.count > group.waiting, let oldest = group.opening.first {
        effects.closing.append(oldest)
        _ = remove(oldest, &effects)
      }
      forgetIfEmpty(placement.route)
    }
    return true
  }

  /// Calls a closure with each exchange that has not ended.
  func forEachExchange(_ body: (Exchange) -> Void) {
    for placement in placements.values { body(placement.exchange) }
  }

  // MARK: - Connections

  /// Takes note that a connection can be used: one that was opened, or whose exchange has finished.
  ///
  /// Gives the exchange that is to have it at once; without one it is idle until the given time.
  mutating func makeAvailable(_ connection: Connection, until instant: Instant, _ effects: inout Effects) -> Exchange? {
    let key = ObjectIdentifier(connection)
    guard let member = members[key] else { return nil }
    if case .opening = member.phase {
      groups[member.route]?.opening.removeAll { $0 === connection }
    } else {
      members[key]?.isFresh = false
    }
    if let exchange = takeWaiting(member.route) {
      placements[ObjectIdentifier(exchange)]?.connection = connection
      members[key]?.phase = .busy(exchange)
      return exchange
    }
    members[key]?.phase = .idle(until: instant)
    members[key]?.isFresh = false
    groups[member.route]?.idle.append(connection)
    openConnections(&effects)  // another route may wait for its place
    return nil
  }

  /// Takes note that a connection is gone, and gives the exchange that had it, which has then neither connection nor
  /// place: lease again, or leave it.
  mutating func remove(_ connection: Connection, _ effects: inout Effects) -> Orphan? {
    guard let member = members.removeValue(forKey: ObjectIdentifier(connection)) else { return nil }
    var orphan: Orphan?
    switch member.phase {
    case .opening: groups[member.route]?.opening.removeAll { $0 === connection }
    case .idle: groups[member.route]?.idle.removeAll { $0 === connection }
    case .busy(let owner):
      if placements[ObjectIdentifier(owner)]?.connection === connection {
        placements[ObjectIdentifier(owner)] = nil
        orphan = Orphan(exchange: owner, isFresh: member.isFresh)
      }
    }
    groups[member.route]?.connections -= 1
    openConnections(&effects)
    forgetIfEmpty(member.route)
    return orphan
  }

  /// Takes note that a connection could not be opened, and gives the exchange that is to fail for it: the one that has
  /// waited longest.
  mutating func removeUnopened(_ connection: Connection, _ effects: inout Effects) -> Exchange? {
    guard let route = members[ObjectIdentifier(connection)]?.route else { return nil }
    let exchange = takeWaiting(route)
    if let exchange { placements[ObjectIdentifier(exchange)] = nil }
    _ = remove(connection, &effects)
    return exchange
  }

  /// Removes the idle connections of a route.
  mutating func removeIdle(_ route: Route, _ effects: inout Effects) {
    removeAll(groups[route]?.idle ?? [], &effects)
  }

  /// Removes all connections that nobody has and nobody waits for.
  mutating func removeSpare(_ effects: inout Effects) {
    for group in groups.values {
      removeAll(group.idle + group.opening.dropFirst(group.waiting), &effects)
    }
  }

  private mutating func removeAll(_ connections: [Connection], _ effects: inout Effects) {
    for connection in connections {
      effects.closing.append(connection)
      _ = remove(connection, &effects)
    }
  }

  /// Removes the connections that have been idle long enough, and gives the time when the next will have been.
  mutating func removeExpired(at now: Instant, _ effects: inout Effects) -> Instant? {
    var next: Instant?
    var expired: [Connection] = []
    for member in members.values {
      guard case .idle(let until) = member.phase else { continue }
      if until <= now {
        expired.append(member.connection)
      } else {
        next = min(next ?? until, until)
      }
    }
    removeAll(expired, &effects)
    return next
  }

  /// Whether nothing is open and nobody waits.
  var isEmpty: Bool { members.isEmpty && placements.isEmpty }

  /// Connections of all kinds, and exchanges that wait or are under way; for tests.
  var counts: (opening: Int, idle: Int, busy: Int, waiting: Int, exchanges: Int) {
    let opening = groups.values.reduce(0) { $0 + $1.opening.count }
    let idle = groups.values.reduce(0) { $0 + $1.idle.count }
    return (opening, idle, members.count - opening - idle, waiting, placements.count)
  }

  // MARK: - Inside

  /// The exchange that has waited longest for a route, and waits no longer.
  private mutating func takeWaiting(_ route: Route) -> Exchange? {
    while let (exchange, ticket) = groups[route]?.queue.popFirst() {
      // Those that were cancelled are still in the queue.
      guard placements[ObjectIdentifier(exchange)]?.ticket == ticket else { continue }
      groups[route]?.waiting -= 1
      waiting -= 1
      return exchange
    }
    return nil
  }

  /// Opens a connection for each exchange that waits without one being opened for it, where there is room.
  private mutating func openConnections(_ effects: inout Effects) {
    guard waiting > 0 else { return }
    while let route = routeInNeed() {
      if members.count >= limits.total {
        guard let idle = oldestIdle() else { return }
        effects.closing.append(idle)
        let route = members.removeValue(forKey: ObjectIdentifier(idle))?.route
        if let route {
          groups[route]?.idle.removeAll { $0 === idle }
          groups[route]?.connections -= 1
          forgetIfEmpty(route)
        }
      }
      let connection = makeConnection(route)
      members[ObjectIdentifier(connection)] = Member(connection: connection, route: route, phase: .opening)
      groups[route]?.connections += 1
      groups[route]?.opening.append(connection)
      effects.opening.append(connection)
    }
  }

  /// The route whose first exchange has waited longest of those that a new connection would help.
  private func routeInNeed() -> Route? {
    groups.filter { _, group in
      group.waiting > group.opening.count && group.connections < limits.perRoute
    }.min { $0.value.queue.firstTicket < $1.value.queue.firstTicket }?.key
  }

  private func oldestIdle() -> Connection? {
    var oldest: (connection: Connection, until: Instant)?
    for member in members.values {
      guard case .idle(let until) = member.phase, until < oldest?.until ?? until + .seconds(1) else { continue }
      oldest = (member.connection, until)
    }
    return oldest?.connection
  }

  private mutating func forgetIfEmpty(_ route: Route) {
    if let group = groups[route], group.connections == 0, group.waiting == 0 { groups[route] = nil }
  }
}
