import HTTPClientCore
import Streams
import SystemBase

/// Keeps track of all connections and the exchanges that use them or wait for them: a state machine that does not open
/// or close anything itself, but returns what is to be done.
///
///     opening ──► idle ◄──► busy(exchange) ──► gone
///
/// From `lease` to `finish` or `cancel`, an exchange either waits or has a connection. Two invariants hold after each
/// call: no connection is idle while an exchange waits that could use it, and no exchange waits while there is room to
/// open a connection for it. In a shortage of this machine, there is less room; see ``Room``. No route waits for ever:
/// if there is no room, a busy route gives up a connection to the one whose turn it is; see ``Group/turn``.
///
/// A connection that carries a stream, which may take for ever, takes no place of those that requests wait for: streams
/// have a limit of their own.
///
/// Each call takes time O(log n) for each connection that it opens or closes, however many routes, connections and
/// exchanges there are.
struct ConnectionPool<
  Route: Hashable & Sendable, Connection: AnyObject & Sendable, Exchange: AnyObject & Sendable
>: Sendable {
  /// The maximum numbers of connections.
  struct Limits {
    var perRoute: Int
    var total: Int
    var streamsPerRoute: Int
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
    /// When the connection was last known to work.
    let lastUse: Instant
  }

  let limits: Limits
  let makeConnection: @Sendable (Route) -> Connection
  var members: [ObjectIdentifier: Member] = [:]
  /// How many members carry streams.
  private(set) var streamCount = 0
  private var places: [ObjectIdentifier: Place] = [:]
  var groups: [Route: Group] = [:]
  /// The group that was used last, which is usually the one that is needed next.
  private var lastGroup: Group?
  /// The connection whose exchange finished last, which is the one that is available next.
  var lastMember: Member?
  var waitingCount = 0
  /// The groups that another connection would help, in the order of their turns.
  var groupsInNeed = Heap<Group>()
  /// The connections that are idle, and some that were, in the order of their `due`.
  var idleMembers = Heap<Member>()
  /// The room for all routes together.
  var room: Room
  /// The groups whose own room is short, and some whose was.
  var shortGroups: [Group] = []
  private var lastTicket = 0

  init(limits: Limits, makeConnection: @escaping @Sendable (Route) -> Connection) {
    self.limits = limits
    self.makeConnection = makeConnection
    room = Room(limit: limits.total)
  }

  // MARK: - Exchanges

  /// Whether there may be another stream on a route.
  func hasRoomForStream(on route: Route) -> Bool {
    groups[route].map { hasRoomForStream(in: $0) } ?? (limits.streamsPerRoute > 0)
  }

  private func hasRoomForStream(in group: Group) -> Bool {
    group.streamCount + group.waitingStreamCount < limits.streamsPerRoute
  }

  /// Returns an idle connection, the most recently used one; if there is none, or it was last used before `oldestUse`,
  /// the exchange waits.
  mutating func lease(
    _ exchange: Exchange, _ route: Route, usedSince oldestUse: Instant, isStream: Bool = false,
    _ effects: inout Effects
  ) -> Connection? {
    let group = group(of: route)
    if let member = group.idle.last, member.lastUse >= oldestUse {
      group.idle.removeLast(member)
      give(member, to: exchange)
      if isStream { carryStream(member, &effects) } else if group.waitingCount > 0 { review(group) }
      return member.connection
    }
    lastTicket += 1
    let waiter = Waiter(exchange, group, ticket: lastTicket, isStream: isStream)
    places[ObjectIdentifier(exchange)] = .waiting(waiter)
    group.queue.append(waiter)
    group.waitingCount += 1
    waitingCount += 1
    if isStream { group.waitingStreamCount += 1 }
    review(group)
    openConnections(&effects)
    return nil
  }

  /// Records that an exchange which has a connection is a stream after all. Returns whether it takes no place of requests
  /// any more: there may be no room for another stream.
  mutating func becomeStream(_ exchange: Exchange, _ effects: inout Effects) -> Bool {
    // One that was cancelled takes none.
    guard case .connected(let member)? = places[ObjectIdentifier(exchange)], !member.isStream else { return true }
    guard hasRoomForStream(in: member.group) else { return false }
    carryStream(member, &effects)
    return true
  }

  /// Ends an exchange whose response has arrived. Call `makeAvailable` or `remove` for its connection afterwards.
  ///
  /// Returns false if the exchange no longer has this connection: then it was cancelled, and the connection is gone.
  mutating func finish(_ exchange: Exchange, on connection: Connection) -> Bool {
    guard let index = places.index(forKey: ObjectIdentifier(exchange)),
      case .connected(let member) = places.values[index], member.connection === connection
    else { return false }
    places.remove(at: index)
    lastMember = member
    return true
  }

  /// Cancels an exchange: ends its wait, or closes its connection, which is no longer usable. If that `isSilent`, the
  /// idle connections that have not been used since it was may well be, and are closed, too. Returns false if the
  /// exchange had ended.
  mutating func cancel(_ exchange: Exchange, isSilent: Bool = false, _ effects: inout Effects) -> Bool {
    switch places.removeValue(forKey: ObjectIdentifier(exchange)) {
    case nil:
      return false
    case .connected(let member):
      close(member, &effects)
      if isSilent { removeIdle(of: member.group, usedUntil: member.lastUse, &effects) }
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
    group.didStopWaiting(waiter)
    group.queue.compact(to: group.waitingCount) { $0.exchange != nil }
    review(group)
    // Close the connection that was being opened for it. For the first in line, that is the one that has been opening
    // longest. The others continue; otherwise, each impatient waiter would make patient ones start again.
    if group.opening.count > group.waitingCount, let member = isFirst ? group.opening.first : group.opening.last {
      close(member, &effects)
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
  /// Returns the exchange that gets the connection at once; if there is none, the connection is idle from `now` until
  /// `end`.
  mutating func makeAvailable(
    _ connection: Connection, at now: Instant, until end: Instant, _ effects: inout Effects
  ) -> Exchange? {
    guard let member = member(of: connection) else { return nil }
    let group = member.group
    member.lastUse = now
    var hasGrown = false
    if case .opening = member.phase {
      group.opening.remove(member)
      hasGrown = group.room.isShort || room.isShort
      group.room.recordOpening()
      room.recordOpening()
    } else {
      member.isFresh = false
      let wasStream = member.isStream
      endStream(member)
      // Other requests may have taken its place meanwhile.
      let isTooMany = wasStream && (group.connectionCount > group.room.size || connectionCount > room.size)
      if isTooMany || mustMakeRoom(group) {
        close(member, &effects)
        return nil
      }
    }
    if let (exchange, isStream) = group.takeWaiting() {
      waitingCount -= 1
      give(member, to: exchange)
      review(group)
      if isStream { carryStream(member, &effects) } else if hasGrown { openConnections(&effects) }
      return exchange
    }
    member.isFresh = false
    beIdle(member, until: end)
    openConnections(&effects)  // another route may be waiting for its place
    return nil
  }

  /// Records that a connection is gone, and returns the exchange that had it. That exchange then neither has a
  /// connection nor waits; `lease` it again, or drop it.
  mutating func remove(_ connection: Connection, _ effects: inout Effects) -> Orphan? {
    guard let member = member(of: connection) else { return nil }
    var orphan: Orphan?
    if case .busy(let owner) = member.phase, finish(owner, on: connection) {
      orphan = Orphan(exchange: owner, isFresh: member.isFresh, lastUse: member.lastUse)
    }
    drop(member)
    openConnections(&effects)
    return orphan
  }

  /// Records that a connection could not be opened, and returns the exchange that is to fail for it: the one that has
  /// waited longest, unless the other connections that are being opened suffice for all waiting exchanges.
  ///
  /// If only this machine was short of something, none fails that can be helped: an idle connection is closed and this
  /// tried again, or the busy connections of the route will be available. See ``probe(_:)``, too.
  mutating func removeUnopened(
    _ connection: Connection, shortage: SystemError.Shortage?, _ effects: inout Effects
  ) -> Exchange? {
    guard let member = members[ObjectIdentifier(connection)], case .opening = member.phase else { return nil }
    let group = member.group
    drop(member)
    defer {
      openConnections(&effects)
      forgetIfEmpty(group)
    }
    if mayWait(group, for: shortage) { return nil }
    guard group.opening.count < group.waitingCount, let (exchange, _) = group.takeWaiting() else { return nil }
    waitingCount -= 1
    places[ObjectIdentifier(exchange)] = nil
    review(group)
    return exchange
  }

  /// Removes the idle connections of a route that have not been used after `instant`.
  mutating func removeIdle(_ route: Route, usedUntil instant: Instant, _ effects: inout Effects) {
    if let group = groups[route] { removeIdle(of: group, usedUntil: instant, &effects) }
  }

  private mutating func removeIdle(of group: Group, usedUntil instant: Instant, _ effects: inout Effects) {
    while let member = group.idle.first, member.lastUse <= instant { close(member, &effects) }
  }

  /// Removes all connections that no exchange has or waits for.
  mutating func removeSpare(_ effects: inout Effects) {
    for group in groups.values {
      while let member = group.idle.first { close(member, &effects) }
      while group.opening.count > group.waitingCount, let member = group.opening.last { close(member, &effects) }
    }
  }

  /// Removes the connections whose idle time is over, and returns when the next one will be due.
  mutating func removeExpired(at now: Instant, _ effects: inout Effects) -> Instant? {
    while let member = firstToExpire() {
      if member.due > now { return member.due }
      close(member, &effects)
    }
    return nil
  }

  /// How many exchanges have a connection, and are no streams.
  var exchangesInFlight: Int { places.count - waitingCount - streamCount }

  /// Whether there is no connection and no exchange.
  var isEmpty: Bool { members.isEmpty && places.isEmpty }

  /// Calls a closure with each route that has connections or waiting exchanges, and their numbers.
  func forEachRoute(_ body: (Route, SocketTransport.Statistics.Counts) -> Void) {
    for group in groups.values {
      let (opening, idle) = (group.opening.count, group.idle.count)
      body(
        group.route,
        .init(
          opening: opening, idle: idle, busy: group.connectionCount - opening - idle, streams: group.streamCount,
          waiting: group.waitingCount))
    }
  }

  // MARK: - Inside

  private mutating func give(_ member: Member, to exchange: Exchange) {
    places[ObjectIdentifier(exchange)] = .connected(member)
    member.phase = .busy(exchange)
  }

  /// How many connections take places of requests.
  var connectionCount: Int { members.count - streamCount }

  /// Frees the place of a busy connection, since it carries a stream.
  private mutating func carryStream(_ member: Member, _ effects: inout Effects) {
    member.isStream = true
    member.group.connectionCount -= 1
    member.group.streamCount += 1
    streamCount += 1
    review(member.group)
    openConnections(&effects)
  }

  /// Takes a place again, if the connection has carried a stream.
  mutating func endStream(_ member: Member) {
    guard member.isStream else { return }
    member.isStream = false
    member.group.connectionCount += 1
    member.group.streamCount -= 1
    streamCount -= 1
  }

  private mutating func close(_ member: Member, _ effects: inout Effects) {
    effects.closing.append(member.connection)
    _ = remove(member.connection, &effects)
  }

  private func member(of connection: Connection) -> Member? {
    if let lastMember, lastMember.connection === connection { return lastMember }
    return members[ObjectIdentifier(connection)]
  }

  private mutating func group(of route: Route) -> Group {
    if let lastGroup, lastGroup.route == route { return lastGroup }
    let group = groups[route] ?? Group(route, limit: limits.perRoute)
    groups[route] = group
    lastGroup = group
    return group
  }

  mutating func forgetIfEmpty(_ group: Group) {
    guard group.isEmpty, groups[group.route] === group else { return }
    groups[group.route] = nil
    // Waiters that have left refer to the group.
    group.queue = Fifo()
    if lastGroup === group { lastGroup = nil }
  }
}

// Which routes get the available connections.

extension ConnectionPool {
  /// Opens a connection for each waiting exchange for which none is being opened, as long as there is room or an idle
  /// connection that can make room.
  mutating func openConnections(_ effects: inout Effects) {
    while let group = groupsInNeed.first {
      let isFull = group.connectionCount >= group.room.size
      if isFull || connectionCount >= room.size {
        guard let idle = isFull ? group.idle.first : firstToExpire() else { return }
        effects.closing.append(idle.connection)
        drop(idle)
      }
      let member = Member(makeConnection(group.route), group)
      members[ObjectIdentifier(member.connection)] = member
      group.connectionCount += 1
      group.opening.append(member)
      effects.opening.append(member.connection)
      review(group)
    }
  }

  /// Whether a connection has to make room although its own route could use it: there is no room left, and it is the
  /// turn of another route. That would otherwise wait for as long as this one is busy.
  func mustMakeRoom(_ group: Group) -> Bool {
    guard connectionCount >= room.size, let next = groupsInNeed.first, let first = group.firstWaiter() else {
      return false
    }
    return next !== group && next.turn < first.ticket
  }

  /// Puts a group into the place among those in need that it has after a change.
  mutating func review(_ group: Group) {
    guard group.isInNeed, let first = group.firstWaiter() else { return groupsInNeed.remove(group) }
    let turn = first.ticket + (group.connectionCount == 0 ? 0 : limits.total)
    if group.place != nil, group.turn == turn { return }
    groupsInNeed.remove(group)
    group.turn = turn
    groupsInNeed.insert(group)
  }

  /// Takes a member out of everything that it is in.
  mutating func drop(_ member: Member) {
    let group = member.group
    members[ObjectIdentifier(member.connection)] = nil
    lastMember = nil
    switch member.phase {
    case .opening: group.opening.remove(member)
    case .idle: group.idle.remove(member)
    case .busy: break
    }
    idleMembers.remove(member)
    endStream(member)
    group.connectionCount -= 1
    review(group)
    forgetIfEmpty(group)
  }

  // MARK: - Idle connections

  mutating func beIdle(_ member: Member, until end: Instant) {
    member.phase = .idle(until: end)
    member.group.idle.append(member)
    if member.place == nil || end < member.due { setDue(of: member, to: end) }
  }

  /// The idle connection whose time ends first.
  mutating func firstToExpire() -> Member? {
    while let member = idleMembers.first {
      guard case .idle(let end) = member.phase else {
        idleMembers.remove(member)
        continue
      }
      if member.due == end { return member }
      setDue(of: member, to: end)
    }
    return nil
  }

  private mutating func setDue(of member: Member, to instant: Instant) {
    idleMembers.remove(member)
    member.due = instant
    idleMembers.insert(member)
  }

  // MARK: - Shortages

  /// Takes note of what was short when a connection could not be opened for a group. Returns whether those who wait can
  /// be helped without it.
  mutating func mayWait(_ group: Group, for shortage: SystemError.Shortage?) -> Bool {
    let isConnected = group.connectionCount > group.opening.count
    switch shortage {
    // What holds them may be anything in the process, and ends sooner or later.
    case .ofDescriptors:
      room.recordShortage(at: connectionCount)
      return true
    case .ofPorts where isConnected:
      if !shortGroups.contains(where: { $0 === group }) { shortGroups.append(group) }
      group.room.recordShortage(at: group.connectionCount)
      review(group)
      return true
    default:
      return false
    }
  }

  /// Whether this machine has been short of what another connection takes: then call `probe` now and then, since no
  /// event says when it no longer is.
  var isShort: Bool { room.isShort || !shortGroups.isEmpty }

  /// Tries for one more connection in a shortage, if anybody waits; otherwise, takes it to be over.
  mutating func probe(_ effects: inout Effects) {
    if waitingCount == 0 { room.reset() } else { room.grow(by: 1) }
    for group in shortGroups {
      if group.waitingCount == 0 { group.room.reset() } else { group.room.grow(by: 1) }
      review(group)
    }
    shortGroups.removeAll { !$0.room.isShort }
    openConnections(&effects)
  }
}

/// What two requests must have in common to share a connection.
struct Route: Hashable, Sendable {
  /// The server's host in lower case, without brackets.
  var host: String

  /// The server's port.
  var port: Int

  /// Whether TLS is used.
  var isSecure: Bool

  /// The path of a Unix domain socket to use instead of the network.
  var unixPath: String?

  /// The proxy to ask for a tunnel to the server.
  var tunnel: ProxyServer?
}
