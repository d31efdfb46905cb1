import HTTPClientCore
import Streams
import SystemBase

/// Keeps track of all connections and the exchanges that use them or wait for them: a state machine that does not open
/// or close anything itself, but returns what is to be done.
///
///     opening ──► idle ◄──► spare ◄──► full ──► gone
///
/// A lease is capacity: a connection carries as many exchanges as its limit says, and has room for more while it is idle or
/// spare. With HTTP/1.1 the limit is 1. A limit of 0 means that it takes no more, and is closed after its last exchange.
///
/// From `lease` to `finish` or `cancel`, an exchange either waits or has a connection. Two invariants hold after each
/// call: no connection has room while an exchange waits that could use it, and no exchange waits while there is room to
/// open a connection for it. In a shortage of this machine, there is less room; see ``Room``. No route waits for ever:
/// if there is no room, a busy route gives up a connection to the one whose turn it is; see ``Group/turn``.
///
/// A connection that is full, with nothing but streams, which may take for ever, takes no place of those that requests wait
/// for: streams have a limit of their own. One that has room beside its streams is made full when another route has to wait.
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

  /// What is to be done after a call.
  struct Effects {
    var opening: [Connection] = []
    var closing: [Connection] = []
    /// Exchanges that have waited, and the connections that they now have.
    var starting: [(exchange: Exchange, connection: Connection)] = []
    /// Exchanges that were cancelled, on connections that others use, too.
    var cancelling: [(exchange: Exchange, connection: Connection)] = []
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
  /// How many exchanges the first connection of a route is expected to carry.
  private let expectedLimit: @Sendable (Route) -> Int
  let makeConnection: @Sendable (Route) -> Connection
  var members: [ObjectIdentifier: Member] = [:]
  /// How many streams have a connection, and how many connections take no place because of them.
  private var streamCount = 0
  var exemptCount = 0
  private var places: [ObjectIdentifier: Place] = [:]
  var groups: [Route: Group] = [:]
  /// The group that was used last, which is usually the one that is needed next.
  private var lastGroup: Group?
  /// The connection whose exchange finished last, which is the one that is available next.
  var lastMember: Member?
  var waitingCount = 0
  private var postponedCount = 0
  /// The groups that another connection would help, in the order of their turns.
  var groupsInNeed = Heap<Group>()
  /// The connections that are idle, and some that were, in the order of their `due`.
  var idleMembers = Heap<Member>()
  /// The connections that carry only streams and have room, and some that did.
  var streamingMembers: [ObjectIdentifier: Member] = [:]
  /// The room for all routes together.
  var room: Room
  /// The groups whose own room is short, and some whose was.
  var shortGroups: [Group] = []
  private var lastTicket = 0

  init(
    limits: Limits, expectedLimit: @escaping @Sendable (Route) -> Int = { _ in 1 },
    makeConnection: @escaping @Sendable (Route) -> Connection
  ) {
    self.limits = limits
    self.expectedLimit = expectedLimit
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

  /// Returns a connection that has room, the one that was used last; if there is none, or it is idle and was last used before
  /// `oldestUse`, the exchange waits.
  mutating func lease(
    _ exchange: Exchange, _ route: Route, usedSince oldestUse: Instant, isStream: Bool = false,
    _ effects: inout Effects
  ) -> Connection? {
    let group = group(of: route)
    if let member = group.withRoom(usedSince: oldestUse) {
      give(member, to: exchange, isStream: isStream)
      if isStream {
        reviewPlace(of: member, &effects)
        noteStreaming(member, &effects)
      }
      if group.waitingCount > 0 { review(group) }
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

  /// Returns a connection that has room now, for a stream; `nil` if there is none, or it is not suitable: then the exchange
  /// does not wait.
  mutating func leaseAtOnce(
    _ exchange: Exchange, _ route: Route, where isSuitable: (Connection) -> Bool, _ effects: inout Effects
  ) -> Connection? {
    guard let group = groups[route], hasRoomForStream(in: group),
      let member = group.withRoom(usedSince: Instant(nanoseconds: 0)), isSuitable(member.connection)
    else { return nil }
    give(member, to: exchange, isStream: true)
    reviewPlace(of: member, &effects)
    noteStreaming(member, &effects)
    if group.waitingCount > 0 { review(group) }
    return member.connection
  }

  /// Records that an exchange which has a connection is a stream after all. Returns whether it takes no place of requests
  /// any more: there may be no room for another stream.
  mutating func becomeStream(_ exchange: Exchange, _ effects: inout Effects) -> Bool {
    // One that was cancelled takes none.
    guard case .connected(let member, let index)? = places[ObjectIdentifier(exchange)],
      !member.exchanges[index].isStream
    else { return true }
    guard hasRoomForStream(in: member.group) else { return false }
    member.becomeStream(at: index)
    count(streams: 1, on: member)
    reviewPlace(of: member, &effects)
    noteStreaming(member, &effects)
    return true
  }

  /// Ends an exchange whose response has arrived. Call `makeAvailable`, `setLimit` or `remove` for its connection then.
  ///
  /// Returns false if the exchange no longer has this connection: then it was cancelled.
  mutating func finish(_ exchange: Exchange, on connection: Connection) -> Bool {
    guard let place = places.index(forKey: ObjectIdentifier(exchange)),
      case .connected(let member, let index) = places.values[place], member.connection === connection
    else { return false }
    places.remove(at: place)
    removeExchange(at: index, from: member)
    member.isFresh = false
    lastMember = member
    return true
  }

  /// Cancels an exchange: ends its wait, or closes its connection, which is no longer usable, unless it can carry others. If
  /// that `isSilent`, it gets no more, and the idle connections that have not been used since it was may well be silent,
  /// and are closed, too. Returns false if the exchange had ended.
  mutating func cancel(_ exchange: Exchange, isSilent: Bool = false, _ effects: inout Effects) -> Bool {
    switch places.removeValue(forKey: ObjectIdentifier(exchange)) {
    case nil:
      return false
    case .connected(let member, let index):
      removeExchange(at: index, from: member)
      if member.limit <= 1, member.exchanges.isEmpty {
        close(member, &effects)
      } else {
        effects.cancelling.append((exchange, member.connection))
        if isSilent { (member.limit, member.lentLimit) = (0, nil) }
        settle(member, &effects)
      }
      if isSilent { removeIdle(of: member.group, usedUntil: member.lastUse, &effects) }
    case .postponed:
      postponedCount -= 1
    case .waiting(let waiter):
      leave(waiter, &effects)
    }
    return true
  }

  /// The connection that an exchange has.
  func member(carrying exchange: Exchange) -> Member? {
    if case .connected(let member, _)? = places[ObjectIdentifier(exchange)] { member } else { nil }
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
    if group.opensTooMany, let member = isFirst ? group.opening.first : group.opening.last { close(member, &effects) }
    forgetIfEmpty(group)
  }

  /// Takes in an exchange that is to have no connection before `resume` is called.
  mutating func postpone(_ exchange: Exchange) {
    places[ObjectIdentifier(exchange)] = .postponed(exchange)
    postponedCount += 1
  }

  /// Lets go of an exchange that was postponed; `lease` it then. Returns false if it was cancelled meanwhile.
  mutating func resume(_ exchange: Exchange) -> Bool {
    guard case .postponed? = places[ObjectIdentifier(exchange)] else { return false }
    places[ObjectIdentifier(exchange)] = nil
    postponedCount -= 1
    return true
  }

  /// Whether a connection takes further exchanges, now or when others have ended.
  mutating func takesMore(_ connection: Connection) -> Bool { member(of: connection).map { $0.limit > 0 } ?? false }

  /// Calls a closure with each exchange that has not ended.
  func forEachExchange(_ body: (Exchange) -> Void) {
    for place in places.values {
      switch place {
      case .waiting(let waiter): if let exchange = waiter.exchange { body(exchange) }
      case .postponed(let exchange): body(exchange)
      case .connected: break
      }
    }
    for member in members.values { for one in member.exchanges { body(one.exchange) } }
  }

  // MARK: - Connections

  /// Records that a connection has room: one that was opened, or one of whose exchanges has finished. Those that wait get
  /// it at once; without any exchange, it is idle from `now` until `end`.
  mutating func makeAvailable(
    _ connection: Connection, at now: Instant, until end: Instant, _ effects: inout Effects
  ) {
    guard let member = member(of: connection) else { return }
    let group = member.group
    member.lastUse = now
    member.idleEnd = end
    if case .opening = member.phase {
      member.lender.take()?.lentLimit = nil
      group.move(member, to: .full)
      group.expectedLimit = max(member.limit, 1)
      group.room.recordOpening()
      room.recordOpening()
      settle(member, &effects)
      // There may be more room, and it may carry less than was expected.
      openConnections(&effects)
    } else {
      member.isFresh = false
      reviewPlace(of: member, &effects)
      if mustMakeRoom(member) { member.limit = 0 }
      settle(member, &effects)
    }
  }

  /// Records until when a connection may be idle, if it is: one of its exchanges was cancelled, which says nothing of whether
  /// it works.
  mutating func keepIdle(_ connection: Connection, until end: Instant) {
    guard let member = member(of: connection) else { return }
    member.idleEnd = end
    if case .idle = member.phase { beIdle(member) }
  }

  /// Records how many exchanges a connection carries at a time from now on, at most. With 0, that is final: it is closed
  /// after the last one.
  mutating func setLimit(_ limit: Int, of connection: Connection, _ effects: inout Effects) {
    guard let member = member(of: connection) else { return }
    if limit > 0, member.lentLimit != nil {
      // It takes no more for as long as another is being opened in its place, and that many if it is not.
      member.lentLimit = limit
      (member.group.expectedLimit, member.group.knownLimit) = (limit, limit)
      return
    }
    guard member.limit > 0 || limit == 0 else { return }
    member.lentLimit = nil
    // One that is being opened gets exchanges when it is open, and no more than the server is known to take.
    if case .opening = member.phase {
      member.limit = min(limit, member.group.knownLimit ?? limit)
      return
    }
    member.limit = limit
    if limit > 0 { (member.group.expectedLimit, member.group.knownLimit) = (limit, limit) }
    settle(member, &effects)
  }

  /// Records that a connection is gone, and returns the exchanges that had it. They then neither have a connection nor
  /// wait; `lease` them again, or drop them.
  mutating func remove(_ connection: Connection, _ effects: inout Effects) -> [Orphan] {
    guard let member = member(of: connection) else { return [] }
    let orphans = member.exchanges.map {
      Orphan(exchange: $0.exchange, isFresh: member.isFresh, lastUse: member.lastUse)
    }
    for orphan in orphans { places[ObjectIdentifier(orphan.exchange)] = nil }
    count(streams: -member.streams, on: member)
    member.removeAll()
    drop(member)
    giveBack(to: member.lender.take(), &effects)
    openConnections(&effects)
    return orphans
  }

  /// Records that a connection could not be opened, and returns the exchanges that are to fail for it, unless the other
  /// connections that are being opened suffice for all that wait: the one that has waited longest, or, if there is no open
  /// connection that it could get a place on, as many as were to share the connection.
  ///
  /// If only this machine was short of something, none fails that can be helped: an idle connection is closed and this
  /// tried again, or the busy connections of the route will be available. See ``probe(_:)``, too.
  mutating func removeUnopened(
    _ connection: Connection, shortage: SystemError.Shortage?, _ effects: inout Effects
  ) -> [Exchange] {
    guard let member = members[ObjectIdentifier(connection)], case .opening = member.phase else { return [] }
    let group = member.group
    drop(member)
    defer {
      giveBack(to: member.lender.take(), &effects)
      openConnections(&effects)
      forgetIfEmpty(group)
    }
    if mayWait(group, for: shortage) { return [] }
    let most = group.connectionCount > group.opening.count ? 1 : group.expectedLimit
    var failing: [Exchange] = []
    while failing.count < most, group.expectedCapacity < group.waitingCount, let (exchange, _) = group.takeWaiting() {
      waitingCount -= 1
      places[ObjectIdentifier(exchange)] = nil
      failing.append(exchange)
    }
    review(group)
    return failing
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
      while group.opensTooMany, let member = group.opening.last { close(member, &effects) }
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
  var exchangesInFlight: Int { places.count - waitingCount - postponedCount - streamCount }

  /// Whether there is no connection and no exchange.
  var isEmpty: Bool { members.isEmpty && places.isEmpty }

  /// Calls a closure with each route that has connections or waiting exchanges, and their numbers.
  func forEachRoute(_ body: (Route, SocketTransport.Statistics.Counts) -> Void) {
    for group in groups.values {
      let (opening, idle) = (group.opening.count, group.idle.count)
      body(
        group.route,
        .init(
          opening: opening, idle: idle, busy: group.connectionCount - opening - idle, streams: group.exemptCount,
          waiting: group.waitingCount))
    }
  }

  // MARK: - Inside

  private mutating func give(_ member: Member, to exchange: Exchange, isStream: Bool) {
    places[ObjectIdentifier(exchange)] = .connected(member, index: member.exchanges.count)
    member.add(exchange, isStream: isStream)
    if isStream { count(streams: 1, on: member) }
    member.group.move(member, to: member.hasRoom ? .spare : .full)
  }

  /// Takes an exchange from the connection that it has.
  private mutating func removeExchange(at index: Int, from member: Member) {
    if member.exchanges[index].isStream { count(streams: -1, on: member) }
    if let moved = member.remove(at: index) { places[ObjectIdentifier(moved)] = .connected(member, index: index) }
  }

  /// Gives a connection to those that wait, as far as it has room, and puts it where it then belongs.
  private mutating func settle(_ member: Member, _ effects: inout Effects) {
    let group = member.group
    reviewPlace(of: member, &effects)
    while member.hasRoom, let (exchange, isStream) = group.takeWaiting() {
      waitingCount -= 1
      give(member, to: exchange, isStream: isStream)
      effects.starting.append((exchange, member.connection))
      review(group)
      if isStream { reviewPlace(of: member, &effects) }
    }
    if !member.exchanges.isEmpty {
      group.move(member, to: member.hasRoom ? .spare : .full)
      noteStreaming(member, &effects)
    } else if member.limit == 0 {
      close(member, &effects)
    } else {
      member.isFresh = false
      beIdle(member)
      openConnections(&effects)  // another route may be waiting for its place
    }
  }

  /// How many connections take places of requests.
  var connectionCount: Int { members.count - exemptCount }

  private mutating func count(streams: Int, on member: Member) {
    member.streams += streams
    member.group.streamCount += streams
    streamCount += streams
  }

  /// Frees the place of a connection that has only streams and takes nothing else; once it does again, it takes a place.
  private mutating func reviewPlace(of member: Member, _ effects: inout Effects) {
    let group = member.group
    if member.isExempt, !member.mayBeExempt {
      takePlace(member)
      // Other requests may have taken its place meanwhile.
      guard group.connectionCount > group.room.size || connectionCount > room.size else { return }
      member.limit = 0
    }
    guard member.mayBeExempt, !member.isExempt else { return }
    exempt(member)
    openConnections(&effects)
  }

  private mutating func close(_ member: Member, _ effects: inout Effects) {
    effects.closing.append(member.connection)
    _ = remove(member.connection, &effects)
  }

  /// Lets a connection take exchanges again, since the one that it has made room for was not opened.
  private mutating func giveBack(to lender: Member?, _ effects: inout Effects) {
    guard let lender, let limit = lender.lentLimit.take(), members[ObjectIdentifier(lender.connection)] === lender
    else { return }
    lender.limit = min(limit, lender.group.knownLimit ?? limit)
    settle(lender, &effects)
  }

  private func member(of connection: Connection) -> Member? {
    if let lastMember, lastMember.connection === connection { return lastMember }
    return members[ObjectIdentifier(connection)]
  }

  private mutating func group(of route: Route) -> Group {
    if let lastGroup, lastGroup.route == route { return lastGroup }
    let group = groups[route] ?? Group(route, limit: limits.perRoute, expectedLimit: expectedLimit(route))
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

  /// Whether HTTP/2 may be spoken: with TLS if the server chooses it, in clear text in any case.
  var allowsHTTP2 = false

  /// What to offer with TLS, the preferred first.
  var offer: [ApplicationProtocol] { allowsHTTP2 ? [.http2, .http1] : [.http1] }

  /// What is spoken in clear text, where nothing is negotiated.
  var clearProtocol: ApplicationProtocol? { allowsHTTP2 ? .http2 : nil }
}
