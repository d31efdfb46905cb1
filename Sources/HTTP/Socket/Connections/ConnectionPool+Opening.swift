// Which routes get the available connections.

extension ConnectionPool {
  /// Opens a connection for each waiting exchange for which none is being opened, as long as there is room or an idle
  /// connection that can make room.
  mutating func openConnections(_ effects: inout Effects) {
    if isShort {
      isShort = false
      for group in groups.values { group.isShort = false }
    }
    openWhereNeeded(&effects)
  }

  /// The same, except for the routes that are short.
  mutating func openWhereNeeded(_ effects: inout Effects) {
    guard waitingCount > 0 else { return }
    while let group = groupInNeed() {
      if members.count >= limits.total {
        guard let idle = oldestIdle() else { return }
        effects.closing.append(idle.connection)
        members[ObjectIdentifier(idle.connection)] = nil
        idle.group.idle.removeAll { $0 === idle }
        idle.group.connectionCount -= 1
        forgetIfEmpty(idle.group)
      }
      let member = Member(makeConnection(group.route), group)
      members[ObjectIdentifier(member.connection)] = member
      group.connectionCount += 1
      group.opening.append(member)
      effects.opening.append(member.connection)
    }
  }

  /// Whether a connection has to make room although its own route could use it: there is no room left, and a route
  /// without any connection has waited longer. It would otherwise wait for as long as this route is busy.
  func isOwed(by group: Group) -> Bool {
    guard members.count >= limits.total, waitingCount > group.waitingCount, let first = group.firstWaiter() else {
      return false
    }
    return groups.values.contains { other in
      other.connectionCount == 0 && other.firstWaiter().map { $0.ticket < first.ticket } ?? false
    }
  }

  /// Of the groups that a new connection would help, the one whose first exchange has waited longest.
  private func groupInNeed() -> Group? {
    groups.values.filter { $0.isInNeed(limits) }
      .min { $0.firstWaiter()?.ticket ?? .max < $1.firstWaiter()?.ticket ?? .max }
  }

  private func oldestIdle() -> Member? {
    var oldest: (member: Member, until: Instant)?
    for member in members.values {
      guard case .idle(let until) = member.phase else { continue }
      if let oldest, until >= oldest.until { continue }
      oldest = (member, until)
    }
    return oldest?.member
  }
}
