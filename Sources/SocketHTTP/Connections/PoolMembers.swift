import HTTPClientCore
import Streams
import SystemBase

// Classes, so that changing one does not write to the dictionary that contains it. Nothing is called while a variable
// of theirs is being changed, so the checks for overlapping accesses are off.

extension ConnectionPool {
  /// A connection as the pool sees it.
  ///
  /// `@unchecked Sendable`: it belongs to a pool, and is used only through the pool, which has one user at a time.
  final class Member: HeapElement, @unchecked Sendable {
    enum Phase {
      case opening
      /// It carries nothing.
      case idle
      /// It carries something, and has room for more.
      case spare
      case full
    }

    let connection: Connection
    let group: Group
    @exclusivity(unchecked) var phase = Phase.opening
    @exclusivity(unchecked) private(set) var exchanges: [(exchange: Exchange, isStream: Bool)] = []
    /// How many exchanges it carries at a time, at most; 0 if it takes no more.
    @exclusivity(unchecked) var limit = 1
    /// Of one that is being opened, the one that has made room for it by taking no more.
    @exclusivity(unchecked) var lender: Member?
    /// The limit of one that has made room for another which is being opened.
    @exclusivity(unchecked) var lentLimit: Int?
    /// How many of its exchanges are streams.
    @exclusivity(unchecked) var streams = 0
    /// Whether it takes no place of requests.
    @exclusivity(unchecked) var isExempt = false
    /// Whether it has neither been idle nor carried an exchange before the current ones.
    @exclusivity(unchecked) var isFresh = true
    /// When it was last known to work: it had been opened, or had brought a whole response.
    @exclusivity(unchecked) var lastUse = Instant(nanoseconds: 0)

    /// Until when it may be idle.
    @exclusivity(unchecked) var idleEnd = Instant(nanoseconds: 0)

    /// When its idle time ends, or an earlier moment: it stays in the heap while it is busy, so that a request on a
    /// kept connection does not touch the heap. See `firstToExpire`.
    @exclusivity(unchecked) var due = Instant(nanoseconds: 0)
    @exclusivity(unchecked) var place: Int?

    // The neighbours in the list that it is in, which the pool owns: see `MemberList`.
    @exclusivity(unchecked) fileprivate unowned(unsafe) var previous: Member?
    @exclusivity(unchecked) fileprivate unowned(unsafe) var next: Member?

    init(_ connection: Connection, _ group: Group) {
      self.connection = connection
      self.group = group
    }

    var hasRoom: Bool { exchanges.count < limit }

    var hasOnlyStreams: Bool { streams > 0 && streams == exchanges.count }

    /// Whether it carries only streams, and takes nothing else.
    var mayBeExempt: Bool { hasOnlyStreams && !hasRoom }

    func add(_ exchange: Exchange, isStream: Bool) { exchanges.append((exchange, isStream)) }

    func becomeStream(at index: Int) { exchanges[index].isStream = true }

    /// Removes an exchange. The last one gets its index, and is returned, unless it was that one.
    func remove(at index: Int) -> Exchange? {
      let last = exchanges.removeLast()
      guard index < exchanges.count else { return nil }
      exchanges[index] = last
      return last.exchange
    }

    func removeAll() { exchanges = [] }

    func isBefore(_ other: Member) -> Bool { due < other.due }
  }

  /// The members of a group that are in one phase, the one that has been longest first.
  ///
  /// The references need no counting: `members` owns each member for as long as it is in a list.
  struct MemberList {
    private(set) unowned(unsafe) var first: Member?
    private(set) unowned(unsafe) var last: Member?
    private(set) var count = 0

    mutating func append(_ member: Member) {
      member.previous = last
      if let last { last.next = member } else { first = member }
      last = member
      count += 1
    }

    /// Removes a member that is in this list.
    mutating func remove(_ member: Member) {
      if let previous = member.previous { previous.next = member.next } else { first = member.next }
      if let next = member.next { next.previous = member.previous } else { last = member.previous }
      member.previous = nil
      member.next = nil
      count -= 1
    }
  }

  /// The state of an exchange.
  enum Place {
    case waiting(Waiter)
    /// It is at this index among the exchanges of a connection.
    case connected(Member, index: Int)
    /// It is to wait for a connection later.
    case postponed(Exchange)
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
    let isStream: Bool

    init(_ exchange: Exchange, _ group: Group, ticket: Int, isStream: Bool) {
      self.exchange = exchange
      self.group = group
      self.ticket = ticket
      self.isStream = isStream
    }
  }

  /// The connections and waiters of one route.
  ///
  /// `@unchecked Sendable`: as for ``Member``.
  final class Group: HeapElement, @unchecked Sendable {
    let route: Route
    /// How many connections take places of requests, and how many take none.
    @exclusivity(unchecked) var connectionCount = 0
    @exclusivity(unchecked) var exemptCount = 0
    /// How many streams have a connection, and how many wait for one.
    @exclusivity(unchecked) var streamCount = 0
    @exclusivity(unchecked) var waitingStreamCount = 0
    @exclusivity(unchecked) private(set) var opening = MemberList()
    @exclusivity(unchecked) private(set) var idle = MemberList()
    @exclusivity(unchecked) private(set) var spare = MemberList()
    /// How many exchanges a connection that is being opened is expected to carry: as many as the last one.
    @exclusivity(unchecked) var expectedLimit: Int
    /// How many its server has last said that one carries.
    @exclusivity(unchecked) var knownLimit: Int?
    @exclusivity(unchecked) var queue = Fifo<Waiter>()
    @exclusivity(unchecked) var waitingCount = 0
    @exclusivity(unchecked) var room: Room

    /// Its position among the groups in need: the ticket of its first waiter. A group that already has connections
    /// lets as many later waiters of others go first as there may be connections; otherwise, routes that share too few
    /// connections would open one for each request.
    @exclusivity(unchecked) var turn = 0
    @exclusivity(unchecked) var place: Int?

    init(_ route: Route, limit: Int, expectedLimit: Int) {
      self.route = route
      self.expectedLimit = expectedLimit
      room = Room(limit: limit)
    }

    var isEmpty: Bool { connectionCount == 0 && exemptCount == 0 && waitingCount == 0 }

    /// Puts a member into the list of a phase, behind the others.
    func move(_ member: Member, to phase: Member.Phase) {
      switch member.phase {
      case .opening: opening.remove(member)
      case .idle: idle.remove(member)
      case .spare: spare.remove(member)
      case .full: break
      }
      member.phase = phase
      switch phase {
      case .opening: opening.append(member)
      case .idle: idle.append(member)
      case .spare: spare.append(member)
      case .full: break
      }
    }

    /// Takes in a member that is being opened.
    func add(_ member: Member) {
      connectionCount += 1
      opening.append(member)
    }

    /// The member with room that was used last: one that carries something, so that the others may become old, or else one
    /// that has not been idle since `instant` or longer. One that may carry several makes sure by itself that its server is
    /// still there.
    func withRoom(usedSince instant: Instant) -> Member? {
      if let member = spare.last { return member }
      guard let member = idle.last, member.lastUse >= instant || member.limit > 1 else { return nil }
      return member
    }

    /// How many exchanges the connections that are being opened are expected to carry.
    var expectedCapacity: Int { opening.count * expectedLimit }

    /// Whether one of the connections that are being opened is not needed for those that wait.
    var opensTooMany: Bool { opening.count > 0 && expectedCapacity - expectedLimit >= waitingCount }

    /// Whether another connection would help, and there may be one. If exchanges wait in spite of idle connections,
    /// those have been idle for too long for them, and can make room.
    var isInNeed: Bool { waitingCount > expectedCapacity && (connectionCount < room.size || idle.count > 0) }

    /// The waiter that has waited longest.
    func firstWaiter() -> Waiter? {
      while let first = queue.first, first.exchange == nil { _ = queue.popFirst() }
      return queue.first
    }

    /// Removes and returns the exchange that has waited longest.
    func takeWaiting() -> (exchange: Exchange, isStream: Bool)? {
      guard let waiter = firstWaiter(), let exchange = waiter.exchange else { return nil }
      _ = queue.popFirst()
      didStopWaiting(waiter)
      return (exchange, waiter.isStream)
    }

    /// Counts a waiter that has left.
    func didStopWaiting(_ waiter: Waiter) {
      waitingCount -= 1
      if waiter.isStream { waitingStreamCount -= 1 }
    }

    func isBefore(_ other: Group) -> Bool { turn < other.turn }
  }
}
