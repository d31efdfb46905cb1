import HTTPClientCore
import Streams
import SystemBase

// Which routes get the available connections.

extension ConnectionPool {
  /// Opens a connection for each waiting exchange for which none is being opened, as long as there is room or a connection
  /// that can make room: one that is idle, or, for a route without any, one that carries only streams, and then takes nothing
  /// else.
  mutating func openConnections(_ effects: inout Effects) {
    while let group = groupsInNeed.first {
      var lender: Member?
      let isFull = group.connectionCount >= group.room.size
      if isFull || connectionCount >= room.size {
        if let idle = isFull ? group.idle.first : firstToExpire() {
          effects.closing.append(idle.connection)
          drop(idle)
        } else if group.connectionCount == 0, !room.isShort, let member = takeStreaming() {
          // A route that has connections gets those. In a shortage it would be of no use: the member keeps what is short.
          (member.lentLimit, member.limit) = (member.limit, 0)
          lender = member
          member.group.move(member, to: .full)
          exempt(member)
        } else {
          return
        }
      }
      let member = Member(makeConnection(group.route), group)
      member.lender = lender
      members[ObjectIdentifier(member.connection)] = member
      group.add(member)
      effects.opening.append(member.connection)
      review(group)
    }
  }

  /// Whether a connection has to make room although its own route could use it: there is no room left, and it is the
  /// turn of another route. That would otherwise wait for as long as this one is busy.
  func mustMakeRoom(_ member: Member) -> Bool {
    guard !member.isExempt, connectionCount >= room.size, let next = groupsInNeed.first, next !== member.group else {
      return false
    }
    // One that is idle makes room in any case.
    guard let first = member.group.firstWaiter() else { return !member.exchanges.isEmpty }
    return next.turn < first.ticket
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

  /// Takes note of a member that carries only streams, which may take for ever, but has room: it can make room for others.
  mutating func noteStreaming(_ member: Member, _ effects: inout Effects) {
    guard member.hasOnlyStreams, member.hasRoom else { return }
    streamingMembers[ObjectIdentifier(member.connection)] = member
    openConnections(&effects)
  }

  /// Removes and returns one that was noted, and still is so.
  private mutating func takeStreaming() -> Member? {
    while let (id, member) = streamingMembers.first {
      streamingMembers[id] = nil
      if member.hasOnlyStreams, member.hasRoom { return member }
    }
    return nil
  }

  /// Frees the place of a connection.
  mutating func exempt(_ member: Member) {
    member.isExempt = true
    member.group.connectionCount -= 1
    member.group.exemptCount += 1
    exemptCount += 1
    review(member.group)
  }

  /// Takes a place again, if the connection took none.
  mutating func takePlace(_ member: Member) {
    guard member.isExempt else { return }
    member.isExempt = false
    member.group.connectionCount += 1
    member.group.exemptCount -= 1
    exemptCount -= 1
  }

  /// Takes a member out of everything that it is in.
  mutating func drop(_ member: Member) {
    let group = member.group
    members[ObjectIdentifier(member.connection)] = nil
    lastMember = nil
    group.move(member, to: .full)
    idleMembers.remove(member)
    streamingMembers[ObjectIdentifier(member.connection)] = nil
    takePlace(member)
    group.connectionCount -= 1
    review(group)
    forgetIfEmpty(group)
  }

  // MARK: - Idle connections

  mutating func beIdle(_ member: Member) {
    member.group.move(member, to: .idle)
    if member.place == nil || member.idleEnd < member.due { setDue(of: member, to: member.idleEnd) }
  }

  /// The idle connection whose time ends first.
  mutating func firstToExpire() -> Member? {
    while let member = idleMembers.first {
      guard case .idle = member.phase else {
        idleMembers.remove(member)
        continue
      }
      if member.due == member.idleEnd { return member }
      setDue(of: member, to: member.idleEnd)
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

/// How many connections there may be: the limit, or less in a shortage.
///
/// What a machine is short of is known only by trying. So the room shrinks to the connections that there are when
/// another one cannot be opened, and grows by two with each one that is opened, and by one with each probe.
struct Room: Sendable {
  let limit: Int
  private(set) var size: Int

  init(limit: Int) {
    self.limit = limit
    size = limit
  }

  var isShort: Bool { size < limit }

  mutating func recordShortage(at count: Int) { size = min(size, count) }
  mutating func recordOpening() { grow(by: 2) }
  mutating func grow(by count: Int) { size = min(size + count, limit) }
  mutating func reset() { size = limit }
}
