import Streams

// Which routes get the available connections.

extension ConnectionPool {
  /// Opens a connection for each waiting exchange for which none is being opened, as long as there is room or an idle
  /// connection that can make room.
  mutating func openConnections(_ effects: inout Effects) {
    while let group = groupsInNeed.first {
      let isFull = group.connectionCount >= group.room.size
      if isFull || members.count >= room.size {
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
  func isOwed(by group: Group) -> Bool {
    guard members.count >= room.size, let next = groupsInNeed.first, let first = group.firstWaiter() else {
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
  mutating func makeDo(_ group: Group, with shortage: SystemError.Shortage?) -> Bool {
    let isConnected = group.connectionCount > group.opening.count
    switch shortage {
    case .ofDescriptors where isConnected || firstToExpire() != nil:
      room.noteShortage(at: members.count)
      return true
    case .ofPorts where isConnected:
      if !shortGroups.contains(where: { $0 === group }) { shortGroups.append(group) }
      group.room.noteShortage(at: group.connectionCount)
      review(group)
      return true
    default:
      return false
    }
  }

  /// Whether this machine has been short of what another connection takes: then call `probe` now and then, since
  /// nothing tells when it no longer is.
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
