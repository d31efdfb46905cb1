import SystemBase

/// The members of an ``AccountGroup`` by account, as a value: apart from its lock, from the time, and from the members'
/// own code.
///
/// A member is retained until it is idle, or one of too many. Then it is released: kept while it is busy, and else
/// found again as long as somebody uses it. While it is being closed or signed out, it is the account's member still;
/// then it is nobody's.
struct MemberTable<Name: Hashable & Sendable, Member: AnyObject & Sendable> {
  /// What is to be done for somebody who asks for a member.
  enum Opening {
    /// - Parameter isEnding: Whether it is being closed or signed out.
    case found(Member, isEnding: Bool)
    /// To make one, and then to call `made`.
    case make(PendingMember<Member>)
    /// To wait for one that is being made.
    case wait(PendingMember<Member>)
  }

  /// A released member, of which it is to be found out whether it is busy.
  struct Review {
    let name: Name
    let member: Member
    /// How often it had said that it is busy when the review began.
    fileprivate let notices: Int
  }

  private struct Retained {
    let name: Name
    let member: Member
  }

  private struct Released {
    weak var member: Member?
    /// The member, retained while it is busy, or under review.
    var kept: Member?
    var notices = 0
  }

  private enum Slot {
    case making(PendingMember<Member>)
    case released(Released)
    /// - Parameters:
    ///   - count: How many callers end it.
    ///   - isOver: Whether one of them has succeeded.
    case ending(Member, count: Int, isOver: Bool)
  }

  private var retained: LRUCache<Name, Retained>
  private var slots: [Name: Slot] = [:]
  /// What is no longer needed, for the caller to release outside the lock.
  private(set) var garbage: [Member] = []

  init(maximumCount: Int) { retained = LRUCache(countLimit: max(1, maximumCount), costLimit: .max) }

  /// All members, also those that are being ended.
  var members: [(name: Name, member: Member)] {
    let others = slots.compactMap { name, slot -> (name: Name, member: Member)? in
      switch slot {
      case .making: nil
      case .released(let released): released.member.map { (name, $0) }
      case .ending(let member, _, _): (name, member)
      }
    }
    return retained.values.map { ($0.name, $0.member) } + others
  }

  var isEmpty: Bool { retained.statistics.count == 0 && slots.isEmpty }

  /// The member of an account, which is then the one that was used last; also returns which ones are released for it.
  mutating func open(_ name: Name) -> (Opening, [Review]) {
    if let entry = retained.read(name) { return (.found(entry.member, isEnding: false), []) }
    switch slots[name] {
    case .making(let pending): return (.wait(pending), [])
    case .ending(let member, _, _): return (.found(member, isEnding: true), [])
    case .released(let released):
      if let member = released.member { return (.found(member, isEnding: false), retain(member, name)) }
    case nil: break
    }
    let pending = PendingMember<Member>()
    slots[name] = .making(pending)
    return (.make(pending), [])
  }

  /// Adds the member that was made, or none if that has failed; returns which ones are released for it.
  mutating func made(_ name: Name, _ member: Member?) -> [Review] {
    // Its making has asked for the same account, and so made another one before.
    guard case .making = slots[name] else { return [] }
    guard let member else {
      slots[name] = nil
      return []
    }
    return retain(member, name)
  }

  /// Begins to end the member of an account; `nil` if it has none.
  mutating func end(_ name: Name) -> Member? {
    let member: Member
    var (count, isOver) = (1, false)
    if let entry = retained.remove(name) {
      member = entry.member
    } else {
      switch slots[name] {
      case .released(let released):
        guard let found = released.member else { return nil }
        member = found
      case .ending(let found, let others, let over): (member, count, isOver) = (found, others + 1, over)
      case .making, nil: return nil
      }
    }
    slots[name] = .ending(member, count: count, isOver: isOver)
    return member
  }

  /// Forgets a member that has ended, unless the ending has failed: then it is the account's as before.
  mutating func ended(_ name: Name, isOver: Bool) -> [Review] {
    guard case .ending(let member, let count, let over) = slots[name] else { return [] }
    if count > 1 {
      slots[name] = .ending(member, count: count - 1, isOver: over || isOver)
      return []
    }
    if !over, !isOver { return retain(member, name) }
    garbage.append(member)
    slots[name] = nil
    return []
  }

  /// Forgets a member that has ended by itself.
  mutating func forget(_ name: Name, _ member: Member) {
    garbage.append(member)
    if retained.peek(name)?.member === member {
      _ = retained.remove(name)
    } else if case .released(let released) = slots[name], isMember(member, released) {
      slots[name] = nil
    }
  }

  /// Keeps a released member that has said that it is busy.
  mutating func keep(_ name: Name, _ member: Member) {
    guard case .released(var released) = slots[name], isMember(member, released) else { return }
    released.kept = member
    released.notices += 1
    slots[name] = .released(released)
  }

  /// Releases the members that were not asked for since four sweeps, and returns them with all that were busy.
  mutating func sweep() -> [Review] {
    for entry in retained.sweep(keeping: 4) { release(entry.member, entry.name) }
    return kept()
  }

  /// Ends a review: keeps the member only if it is busy, or has said since that it is.
  mutating func conclude(_ review: Review, isBusy: Bool) {
    garbage.append(review.member)
    guard !isBusy, case .released(var released) = slots[review.name], isMember(review.member, released),
      released.notices == review.notices
    else { return }
    released.kept = nil
    slots[review.name] = .released(released)
  }

  /// Forgets the accounts whose released member nobody uses.
  mutating func prune() {
    for (name, slot) in slots {
      guard case .released(let released) = slot else { continue }
      if let member = released.member { garbage.append(member) } else { slots[name] = nil }
    }
  }

  /// Whether this is the member; what it is compared with is not released here.
  private mutating func isMember(_ member: Member, _ released: Released) -> Bool {
    guard let found = released.member else { return false }
    garbage.append(found)
    return found === member
  }

  mutating func takeGarbage() -> [Member] { exchange(&garbage, with: []) }

  /// Retains a member; returns which ones are released for it, or all that were busy if there are many.
  private mutating func retain(_ member: Member, _ name: Name) -> [Review] {
    slots[name] = nil
    let evicted = retained.write(Retained(name: name, member: member), for: name, cost: 0)
    for entry in evicted { release(entry.member, entry.name) }
    if slots.count > 64 + 2 * retained.statistics.count {
      prune()
      return kept()
    }
    return evicted.compactMap { review($0.name) }
  }

  private mutating func release(_ member: Member, _ name: Name) {
    slots[name] = .released(Released(member: member, kept: member))
  }

  private func kept() -> [Review] { slots.keys.compactMap(review) }

  private func review(_ name: Name) -> Review? {
    guard case .released(let released) = slots[name], let member = released.kept else { return nil }
    return Review(name: name, member: member, notices: released.notices)
  }
}
