import Streams

/// Keeps track of all connections and the exchanges that use them or wait for them: a state machine that does not open
/// or close anything itself, but returns what is to be done.
///
///     opening ──► idle ◄──► busy(exchange) ──► gone
///
/// From `lease` to `finish` or `cancel`, an exchange either waits or has a connection. Two invariants hold after each
/// call: no connection is idle while an exchange waits for its route, and no exchange waits while there is room to open
/// a connection for it, unless this machine was short of what that takes. No route waits for ever: if there is no room,
/// a busy route gives up a connection.
struct ConnectionPool<
  Route: Hashable & Sendable, Connection: AnyObject & Sendable, Exchange: AnyObject & Sendable
>: Sendable {
  /// The maximum numbers of connections.
  struct Limits {
    var perRoute: Int
    var total: Int
  }

  /// The connections to open and to close after a call.
  struct Effects {
    var opening: [Connection] = []
    var closing: [Connection] = []
  }

  /// An exchange that has lost its connection.
  struct Orphan {
    let exchange: Exchange
    /// Whether the connection had been opened for it, and had carried nothing before.
    let isFresh: Bool
  }

  let limits: Limits
  let makeConnection: @Sendable (Route) -> Connection
  var members: [ObjectIdentifier: Member] = [:]
  private var places: [ObjectIdentifier: Place] = [:]
  var groups: [Route: Group] = [:]
  /// The group that was used last, which is usually the one that is needed next.
  private var lastGroup: Group?
  var waitingCount = 0
  /// Whether any group is short.
  var isShort = false
  private var lastTicket = 0

  init(limits: Limits, makeConnection: @escaping @Sendable (Route) -> Connection) {
    self.limits = limits
    self.makeConnection = makeConnection
  }

  // MARK: - Exchanges

  /// Returns an idle connection, the most recently used one; if there is none, the exchange waits.
  mutating func lease(_ exchange: Exchange, _ route: Route, _ effects: inout Effects) -> Connection? {
    let group = group(of: route)
    if let member = group.idle.popLast() {
      give(member, to: exchange)
      return member.connection
    }
    lastTicket += 1
    let waiter = Waiter(exchange, group, ticket: lastTicket)
    places[ObjectIdentifier(exchange)] = .waiting(waiter)
    group.queue.append(waiter)
    group.waitingCount += 1
    waitingCount += 1
    openConnections(&effects)
    return nil
  }

  /// Ends an exchange whose response has arrived. Call `makeAvailable` or `remove` for its connection afterwards.
  ///
  /// Returns false if the exchange no longer has this connection: then it was cancelled, and the connection is gone.
  mutating func finish(_ exchange: Exchange, on connection: Connection) -> Bool {
    guard let index = places.index(forKey: ObjectIdentifier(exchange)),
      case .connected(let member) = places[index].value, member.connection === connection
    else { return false }
    places.remove(at: index)
    return true
  }

  /// Cancels an exchange: ends its wait, or closes its connection, which is no longer usable. Returns false if it had
  /// ended.
  mutating func cancel(_ exchange: Exchange, _ effects: inout Effects) -> Bool {
    switch places.removeValue(forKey: ObjectIdentifier(exchange)) {
    case nil:
      return false
    case .connected(let member):
      effects.closing.append(member.connection)
      _ = remove(member.connection, &effects)
    case .waiting(let waiter):
      leave(waiter, &effects)
    }
    return true
  }

  private mutating func leave(_ waiter: Waiter, _ effects: inout Effects) {
    let group = waiter.group
    let isFirst = group.firstWaiter() === waiter
    waiter.exchange = nil
    waitingCount -= 1
    group.waitingCount -= 1
    group.queue.compact(to: group.waitingCount) { $0.exchange != nil }
    // Close the connection that was being opened for it. For the first in line, that is the one that has been opening
    // longest. The others continue; otherwise, each impatient waiter would make patient ones start again.
    if group.opening.count > group.waitingCount, let member = isFirst ? group.opening.first : group.opening.last {
      effects.closing.append(member.connection)
      _ = remove(member.connection, &effects)
    }
    forgetIfEmpty(group)
  }

  /// Calls a closure with each exchange that has not ended.
  func forEachExchange(_ body: (Exchange) -> Void) {
    for place in places.values {
      switch place {
      case .waiting(let waiter): if let exchange = waiter.exchange { body(exchange) }
      case .connected(let member): if case .busy(let exchange) = member.phase { body(exchange) }
      }
    }
  }

  // MARK: - Connections

  /// Records that a connection can be used: one that was opened, or whose exchange has finished.
  ///
  /// Returns the exchange that gets the connection at once; if there is none, the connection is idle until `instant`.
  mutating func makeAvailable(_ connection: Connection, until instant: Instant, _ effects: inout Effects) -> Exchange? {
    guard let member = members[ObjectIdentifier(connection)] else { return nil }
    if case .opening = member.phase {
      member.group.opening.removeAll { $0 === member }
      if member.group.isTight { (member.group.isTight, isShort) = (false, true) }
    } else {
      member.isFresh = false
      if isOwed(by: member.group) {
        removeAll([member], &effects)
        return nil
      }
    }
    if let exchange = member.group.takeWaiting() {
      waitingCount -= 1
      give(member, to: exchange)
      if isShort { openConnections(&effects) }
      return exchange
    }
    member.phase = .idle(until: instant)
    member.isFresh = false
    member.group.idle.append(member)
    openConnections(&effects)  // another route may be waiting for its place
    return nil
  }

  /// Records that a connection is gone, and returns the exchange that had it. That exchange then neither has a
  /// connection nor waits; `lease` it again, or drop it.
  mutating func remove(_ connection: Connection, _ effects: inout Effects) -> Orphan? {
    guard let member = members.removeValue(forKey: ObjectIdentifier(connection)) else { return nil }
    var orphan: Orphan?
    switch member.phase {
    case .opening: member.group.opening.removeAll { $0 === member }
    case .idle: member.group.idle.removeAll { $0 === member }
    case .busy(let owner):
      if finish(owner, on: connection) { orphan = Orphan(exchange: owner, isFresh: member.isFresh) }
    }
    member.group.connectionCount -= 1
    openConnections(&effects)
    forgetIfEmpty(member.group)
    return orphan
  }

  /// Records that a connection could not be opened, and returns the exchange that is to fail for it: the one that has
  /// waited longest, unless the other connections that are being opened suffice for all waiting exchanges.
  ///
  /// If only this machine `isShort` of what a connection takes, and the route has a connection, none fails: the busy
  /// ones will be available. The route tries again when another exchange comes, or any connection is available or gone.
  mutating func removeUnopened(_ connection: Connection, isShort: Bool, _ effects: inout Effects) -> Exchange? {
    guard let member = members[ObjectIdentifier(connection)], case .opening = member.phase else { return nil }
    let group = member.group
    if isShort, group.connectionCount > group.opening.count {
      members[ObjectIdentifier(connection)] = nil
      group.opening.removeAll { $0 === member }
      group.connectionCount -= 1
      (group.isShort, group.isTight, self.isShort) = (true, true, true)
      openWhereNeeded(&effects)  // another route may be waiting for its place
      return nil
    }
    let exchange = group.opening.count > group.waitingCount ? nil : group.takeWaiting()
    if let exchange {
      waitingCount -= 1
      places[ObjectIdentifier(exchange)] = nil
    }
    _ = remove(connection, &effects)
    return exchange
  }

  /// Removes the idle connections of a route.
  mutating func removeIdle(_ route: Route, _ effects: inout Effects) {
    removeAll(groups[route]?.idle ?? [], &effects)
  }

  /// Removes all connections that no exchange has or waits for.
  mutating func removeSpare(_ effects: inout Effects) {
    for group in groups.values {
      removeAll(group.idle + group.opening.dropFirst(group.waitingCount), &effects)
    }
  }

  private mutating func removeAll(_ members: [Member], _ effects: inout Effects) {
    for member in members {
      effects.closing.append(member.connection)
      _ = remove(member.connection, &effects)
    }
  }

  /// Removes the connections whose idle time is over, and returns when the next one will be due.
  mutating func removeExpired(at now: Instant, _ effects: inout Effects) -> Instant? {
    var next: Instant?
    var expired: [Member] = []
    for member in members.values {
      guard case .idle(let until) = member.phase else { continue }
      if until <= now {
        expired.append(member)
      } else {
        next = min(next ?? until, until)
      }
    }
    removeAll(expired, &effects)
    return next
  }

  /// How many exchanges have a connection.
  var exchangesUnderWay: Int { places.count - waitingCount }

  /// Whether there is no connection and no exchange.
  var isEmpty: Bool { members.isEmpty && places.isEmpty }

  /// The numbers of connections by state, of waiting exchanges, and of all exchanges; for tests.
  var counts: (opening: Int, idle: Int, busy: Int, waiting: Int, exchanges: Int) {
    let opening = groups.values.reduce(0) { $0 + $1.opening.count }
    let idle = groups.values.reduce(0) { $0 + $1.idle.count }
    return (opening, idle, members.count - opening - idle, waitingCount, places.count)
  }

  // MARK: - Inside

  private mutating func give(_ member: Member, to exchange: Exchange) {
    places[ObjectIdentifier(exchange)] = .connected(member)
    member.phase = .busy(exchange)
  }

  private mutating func group(of route: Route) -> Group {
    if let lastGroup, lastGroup.route == route { return lastGroup }
    let group = groups[route] ?? Group(route)
    groups[route] = group
    lastGroup = group
    return group
  }

  mutating func forgetIfEmpty(_ group: Group) {
    guard group.isEmpty, groups[group.route] === group else { return }
    groups[group.route] = nil
    lastGroup = nil
  }
}
