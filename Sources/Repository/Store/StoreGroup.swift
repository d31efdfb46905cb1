public import Streams

/// One ``Store`` for each account, so that a process can serve many accounts without ever showing one of them another's
/// data.
///
///     let timelines = StoreGroup { (account: String) in
///       let folder = caches.appending(path: "timelines")
///       return Store(sourceOfTruth: try DiskCache(folder: folder, partition: account)) { session.getTimeline($0) }
///     }
///     try timelines.store(for: "3@bff.example.com").stream("0")
///
/// Its full type is that of an account, then those of the store: `StoreGroup<String, UserID, Timeline>`.
public typealias StoreGroup<Account: Hashable & Sendable, Key: Hashable & Sendable, Value: Sendable> =
  AccountGroup<Account, Store<Key, Value>>

/// One ``Outbox`` for each account. One in which something waits stays open until that is sent.
public typealias OutboxGroup<Account: Hashable & Sendable, Mutation: Codable & Sendable, Response: Sendable> =
  AccountGroup<Account, Outbox<Mutation, Response>>

/// What an ``AccountGroup`` has for each account: a ``Store``, an ``Outbox``, or an object that consists of several.
public protocol AccountMember: AnyObject, Sendable {
  /// Whether it has work to do although nobody uses it.
  var isBusy: Bool { get }

  /// Ends it, and keeps its data.
  func close() async

  /// Ends it, and removes its data. Throws an error if something could not be removed; another call tries again.
  func signOut() throws
}

extension AccountMember {
  /// `false`.
  public var isBusy: Bool { false }
}

extension Store: AccountMember {}

extension Outbox: AccountMember {
  /// Whether something waits, which it sends by itself.
  public var isBusy: Bool { state.withLock { $0.known.waitingCount > 0 || !$0.waiters.isEmpty } }
}

/// One object for each account, such as a ``Store``: see ``StoreGroup`` and ``OutboxGroup``.
///
/// The account identifies whose data they are: a user's id together with an endpoint, for example. Each account has a
/// member of its own, so requests, values and records of two accounts never mix. Accounts that are strings are told apart
/// by their bytes; if strings are a part of your own type, its `==` should compare them by `utf8`, since `String` takes
/// canonically equivalent ones for equal.
///
/// A member that was not asked for during the idle timeout, or for the longest time of too many, is released; but one that
/// somebody still uses, by a reference or a subscription, is found again by ``member(for:)``. Its data stay, if it has a
/// source of truth; what it had in memory alone is gone.
public final class AccountGroup<Account: Hashable & Sendable, Member: AccountMember>: Sendable {
  private struct Entry {
    let account: Account
    let member: Member
  }

  /// A member that the group no longer retains, unless it is busy.
  private struct Released {
    let account: Account
    weak var member: Member?
    var busyMember: Member?
  }

  private struct State {
    var retained: LRUCache<AccountName<Account>, Entry>
    var released: [AccountName<Account>: Released] = [:]
    var timer: (any Disposable)?

    var busy: [Entry] {
      released.values.compactMap { released in
        released.busyMember.map { Entry(account: released.account, member: $0) }
      }
    }

    mutating func release(_ entries: [Entry]) {
      for entry in entries {
        released[AccountName(entry.account)] = Released(account: entry.account, member: entry.member)
      }
    }
  }

  private let idleTimeout: Duration?
  private let scheduler: any Scheduler
  private let make: @Sendable (Account) throws -> Member
  private let state: Locked<State>

  /// Makes a group.
  /// - Parameters:
  ///   - idleTimeout: How long a member is retained that nobody asks for: this long, or up to a quarter longer; a quarter
  ///     of an hour by default, `nil` for no limit.
  ///   - maximumCount: The greatest number of members that are retained; 10,000 by default. Busy ones, and those that
  ///     somebody uses, come in addition.
  ///   - scheduler: Measures the idle timeout.
  ///   - make: Makes the member of an account, such as a store over the account's own source of truth.
  public init(
    idleTimeout: Duration? = .seconds(900), maximumCount: Int = 10_000,
    scheduler: some Scheduler = ConcurrentScheduler(), _ make: @escaping @Sendable (Account) throws -> Member
  ) {
    self.idleTimeout = idleTimeout
    self.scheduler = scheduler
    self.make = make
    state = Locked(State(retained: LRUCache(countLimit: max(1, maximumCount), costLimit: .max)))
  }

  deinit { state.withLock { exchange(&$0.timer, with: nil) }?.dispose() }

  /// The accounts whose members are open, in no particular order.
  public var accounts: [Account] { open().map(\.account) }

  /// The member of an account; the same one as long as it is retained or used, and until it is closed or signed out.
  /// Throws what the group's closure throws; the next call then tries again.
  public func member(for account: Account) throws -> Member {
    let name = AccountName(account)
    if let member = state.withLock({ $0.retained.read(name)?.member }) { return member }
    if let member = find(name) { return retain(member, account) }
    return retain(try make(account), account)
  }

  /// Ends the member of an account, whose data stay: its streams complete, its requests are cancelled, and its writes are
  /// on disk when this returns. The next call of ``member(for:)`` then makes another one.
  public func close(_ account: Account) async {
    let name = AccountName(account)
    guard let member = find(name) else { return }
    await member.close()
    forget(member, name)
  }

  /// The same for all accounts, as at the end of a process.
  public func close() async {
    await withTaskGroup(of: Void.self) { tasks in
      for account in accounts { tasks.addTask { await self.close(account) } }
    }
  }

  /// Ends the member of an account, and removes everything that it has kept. If it is not open, it is opened first; throws
  /// what the group's closure throws then, and its data stay. Throws the member's error if it could not remove everything;
  /// another call tries again.
  public func signOut(_ account: Account) throws {
    let member = try member(for: account)
    try member.signOut()
    forget(member, AccountName(account))
  }

  private func open() -> [Entry] {
    state.withLock { state in
      state.retained.values
        + state.released.values.compactMap { released in
          released.member.map { Entry(account: released.account, member: $0) }
        }
    }
  }

  private func find(_ name: AccountName<Account>) -> Member? {
    state.withLock { $0.retained.peek(name)?.member ?? $0.released[name]?.member }
  }

  /// Retains a member as the one that was used last, unless there is another one; returns that.
  private func retain(_ member: Member, _ account: Account) -> Member {
    let name = AccountName(account)
    let (first, evicted, garbage) = state.withLock { state -> (Member, [Entry], Any?) in
      if let first = state.retained.read(name)?.member { return (first, [], nil) }
      let first = state.released[name]?.member ?? member
      let garbage = state.released.removeValue(forKey: name)
      let evicted = state.retained.write(Entry(account: account, member: first), for: name, cost: 0)
      state.release(evicted)
      return (first, evicted, garbage)
    }
    // Released outside the lock.
    withExtendedLifetime(garbage) {}
    if !evicted.isEmpty { review(evicted) }
    sweepLater()
    return first
  }

  private func forget(_ member: Member, _ name: AccountName<Account>) {
    let garbage = state.withLock { state -> Any? in
      if state.retained.peek(name)?.member === member { return state.retained.remove(name) }
      return state.released[name]?.member === member ? state.released.removeValue(forKey: name) : nil
    }
    withExtendedLifetime(garbage) {}
  }

  /// Retains those released members that are still busy, and no others: of some, or of all if there are many.
  private func review(_ some: [Entry]) {
    let all = state.withLock { state in
      state.released.count > 64 + 2 * state.retained.statistics.count ? state.busy : nil
    }
    for entry in some + (all ?? []) {
      let isBusy = entry.member.isBusy
      state.withLock { state in
        let name = AccountName(entry.account)
        if state.released[name]?.member === entry.member {
          state.released[name]?.busyMember = isBusy ? entry.member : nil
        }
      }
    }
    if all != nil { prune() }
  }

  private func prune() { state.withLock { $0.released = $0.released.filter { $0.value.member != nil } } }

  private func sweepLater() {
    guard let idleTimeout, state.withLock({ $0.timer == nil }) else { return }
    let timer = scheduler.schedule(after: idleTimeout / 4) { [weak self] in self?.sweep() }
    let unused = state.withLock { state -> (any Disposable)? in
      if state.timer != nil { return timer }
      state.timer = timer
      return nil
    }
    unused?.dispose()
  }

  private func sweep() {
    review(
      state.withLock { state in
        let idle = state.retained.sweep(keeping: 4)
        state.release(idle)
        // It has fired.
        state.timer = nil
        return idle + state.busy
      })
    prune()
    let isEmpty = state.withLock { $0.retained.statistics.count == 0 && $0.released.isEmpty }
    if !isEmpty { sweepLater() }
  }
}

extension AccountGroup {
  /// The store of an account; see ``member(for:)``.
  public func store<Key, Value>(for account: Account) throws -> Store<Key, Value> where Member == Store<Key, Value> {
    try member(for: account)
  }

  /// The sum over all open stores.
  public func statistics<Key, Value>() -> CacheStatistics where Member == Store<Key, Value> {
    open().map(\.member.statistics).reduce(into: CacheStatistics()) { $0 += $1 }
  }

  /// The outbox of an account; see ``member(for:)``.
  public func outbox<Mutation, Response>(
    for account: Account
  ) throws -> Outbox<Mutation, Response> where Member == Outbox<Mutation, Response> {
    try member(for: account)
  }
}

/// An account as a dictionary's key: one that is a string is compared by its bytes, since `String` takes canonically
/// equivalent ones for equal.
private struct AccountName<Account: Hashable & Sendable>: Hashable, Sendable {
  let account: Account

  init(_ account: Account) { self.account = account }

  static func == (left: Self, right: Self) -> Bool {
    if let left = left.account as? String, let right = right.account as? String {
      return left.utf8.elementsEqual(right.utf8)
    }
    return left.account == right.account
  }

  func hash(into hasher: inout Hasher) {
    guard let string = account as? String else { return account.hash(into: &hasher) }
    for byte in string.utf8 { hasher.combine(byte) }
  }
}
