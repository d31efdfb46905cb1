import Dispatch
public import Streams
import SystemBase

/// One ``Store`` for each account, so that a process can serve many accounts without ever showing one of them another's
/// data.
///
///     let timelines = StoreGroup { (account: String) in
///       let folder = caches.appending(path: "timelines")
///       let cache = try DiskCache<UserID, Timeline>(folder: folder, partition: account)
///       return Store(.ofStream { session.getTimeline($0) }, storage: .source(cache))
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

  /// Whether it is closed or signed out, and nothing is left to be removed, so that the account needs another one.
  var hasEnded: Bool { get }

  /// Sets what to call each time that it becomes busy, before the caller that makes it so can release it; called
  /// without a lock. A group calls this once.
  func notifyWhenBusy(_ action: @escaping @Sendable () -> Void)

  /// Ends it, and keeps its data.
  func close() async

  /// Ends it, and removes its data. Throws an error if something could not be removed; another call tries again.
  func signOut() async throws
}

extension AccountMember {
  /// `false`.
  public var isBusy: Bool { false }

  /// `false`.
  public var hasEnded: Bool { false }

  /// Does nothing.
  public func notifyWhenBusy(_ action: @escaping @Sendable () -> Void) {}
}

extension Store: AccountMember {
  /// Whether writes wait, or the store alone remembers what it could not write.
  public var isBusy: Bool { storage.isBusy }

  /// Whether it is closed or signed out, and no removal is left to be done.
  public var hasEnded: Bool {
    state.withLock { $0.ending != nil } && !storage.hasRemains
  }

  /// Calls an action when there is something to write, and was nothing before.
  public func notifyWhenBusy(_ action: @escaping @Sendable () -> Void) { storage.onBusy(action) }
}

extension Outbox: AccountMember {
  /// Whether something waits, which it sends by itself.
  public var isBusy: Bool {
    !isOver && hasFinished || state.withLock { $0.known.waitingCount > 0 || !$0.waiters.isEmpty }
  }
}

/// One object for each account, such as a ``Store``: see ``StoreGroup`` and ``OutboxGroup``.
///
/// The account identifies whose data they are: a user's id together with an endpoint, for example. Each account has a
/// member of its own, so requests, values and records of two accounts never mix. Accounts that are strings are told
/// apart by their bytes; if strings are a part of your own type, its `==` should compare them by `utf8`, since `String`
/// takes canonically equivalent ones for equal.
///
/// A member that was not asked for during the idle timeout, or for the longest time of too many, is released; but one
/// that somebody still uses, by a reference or a subscription, is found again by ``member(for:)``. Its data stay, if it
/// has a source of truth, and so does what it has not written there yet; what it had in memory alone is gone.
public final class AccountGroup<Account: Hashable & Sendable, Member: AccountMember>: Sendable {
  private typealias Table = MemberTable<AccountName<Account>, Member>

  private struct State {
    var table: Table
    var timer: (any Disposable)?
  }

  private let idleTimeout: Duration?
  private let scheduler: any Scheduler
  private let make: @Sendable (Account) throws -> Member
  private let state: Locked<State>

  /// Makes a group.
  /// - Parameters:
  ///   - idleTimeout: How long a member is retained that nobody asks for: this long, or up to a quarter longer; a
  ///     quarter of an hour by default, `nil` for no limit.
  ///   - maximumCount: The greatest number of members that are retained; 10,000 by default. Busy ones, and those that
  ///     somebody uses, come in addition.
  ///   - scheduler: Measures the idle timeout.
  ///   - make: Makes the member of an account, such as a store over the account's own source of truth. Called once for
  ///     an account that has none, however many ask for it, without a lock held.
  public init(
    idleTimeout: Duration? = .seconds(900), maximumCount: Int = 10_000,
    scheduler: some Scheduler = ConcurrentScheduler(), _ make: @escaping @Sendable (Account) throws -> Member
  ) {
    self.idleTimeout = idleTimeout
    self.scheduler = scheduler
    self.make = make
    state = Locked(State(table: MemberTable(maximumCount: maximumCount)))
  }

  deinit { state.withLock { exchange(&$0.timer, with: nil) }?.dispose() }

  /// The accounts whose members are open, in no particular order.
  public var accounts: [Account] {
    let members = state.withLockUnchecked { $0.table.members }
    return members.map(\.name.account)
  }

  /// The member of an account; the same one as long as it is retained or used, and until it is closed or signed out.
  /// Throws what the group's closure throws; the next call then tries again. Blocks while that makes the member, on
  /// this thread or another.
  public func member(for account: Account) throws -> Member {
    let name = AccountName(account)
    while true {
      switch change({ $0.open(name) }) {
      case .found(let member, let isEnding):
        if isEnding || !member.hasEnded { return member }
        change { ($0.forget(name, member), []) }
      case .wait(let pending) where !pending.isMadeHere: return try pending.wait()
      case .wait(let pending), .make(let pending):
        let result = Result { try make(account) }
        if let member = try? result.get() {
          member.notifyWhenBusy { [weak self, weak member] in
            guard let member else { return }
            self?.change { ($0.keep(name, member), []) }
          }
        }
        change { ((), $0.made(name, try? result.get())) }
        return try pending.end(with: result).get()
      }
    }
  }

  /// Ends the member of an account, whose data stay: its streams complete, its requests are cancelled, and its writes
  /// are on disk when this returns. The next call of ``member(for:)`` then makes another one.
  public func close(_ account: Account) async {
    let name = AccountName(account)
    guard let member = change({ ($0.end(name), []) }) else { return }
    await member.close()
    change { ((), $0.ended(name, isOver: true)) }
  }

  /// Ends the members of all accounts, whose data stay, as at the end of a process: also members that were released,
  /// and still write.
  public func close() async {
    await withTaskGroup(of: Void.self) { tasks in
      for account in accounts { tasks.addTask { await self.close(account) } }
    }
  }

  /// Ends the member of an account, and removes everything that it has kept. If it is not open, it is opened first;
  /// throws what the group's closure throws then, and its data stay. Throws the member's error if it could not remove
  /// everything; another call tries again. Meanwhile ``member(for:)`` gives the member that is being signed out.
  public func signOut(_ account: Account) async throws {
    let name = AccountName(account)
    var opened: Member?
    while true {
      guard let member = change({ ($0.end(name), []) }) else {
        opened = try await open(account)
        continue
      }
      withExtendedLifetime(opened) {}
      let result: Result<Void, any Error>
      do { result = .success(try await member.signOut()) } catch { result = .failure(error) }
      change { ((), $0.ended(name, isOver: (try? result.get()) != nil)) }
      return try result.get()
    }
  }

  /// Opens a member on a thread that may block.
  private func open(_ account: Account) async throws -> Member {
    try await withCheckedThrowingContinuation { continuation in
      _ = ElasticScheduler().schedule { continuation.resume(with: Result { try self.member(for: account) }) }
    }
  }

  /// Changes the table under the lock; then finds out which of the members that this returns are busy, and keeps no
  /// others.
  @discardableResult
  private func change<Result>(_ change: (inout Table) -> (Result, [Table.Review])) -> Result {
    let ((result, reviews), garbage, needsTimer) = state.withLockUnchecked { state in
      let changed = change(&state.table)
      return (changed, state.table.takeGarbage(), state.timer == nil && !state.table.isEmpty)
    }
    // Released outside the lock.
    withExtendedLifetime(garbage) {}
    for review in reviews {
      let isBusy = review.member.isBusy
      withExtendedLifetime(
        state.withLockUnchecked { state in
          state.table.conclude(review, isBusy: isBusy)
          return state.table.takeGarbage()
        }
      ) {}
    }
    if needsTimer { sweepLater() }
    return result
  }

  private func sweepLater() {
    guard let idleTimeout else { return }
    let timer = scheduler.schedule(after: idleTimeout / 4) { [weak self] in self?.sweep() }
    let unused = state.withLock { state -> (any Disposable)? in
      if state.timer != nil { return timer }
      state.timer = timer
      return nil
    }
    unused?.dispose()
  }

  private func sweep() {
    change { ((), $0.sweep()) }
    let (fired, garbage, isEmpty) = state.withLockUnchecked { state in
      state.table.prune()
      return (exchange(&state.timer, with: nil), state.table.takeGarbage(), state.table.isEmpty)
    }
    // Released outside the lock: a member may have no other user by now.
    withExtendedLifetime((fired, garbage)) {}
    if !isEmpty { sweepLater() }
  }
}

/// A member that is being made, by one thread, for all that ask for it.
final class PendingMember<Member: Sendable>: Sendable {
  private let made = DispatchGroup()
  private let result = Locked<Result<Member, any Error>?>(nil)
  private let maker = pthread_self()

  init() { made.enter() }

  /// Whether this thread makes it.
  var isMadeHere: Bool { pthread_equal(maker, pthread_self()) != 0 }

  /// Ends the wait; returns the first result, if there is one already.
  func end(with result: Result<Member, any Error>) -> Result<Member, any Error> {
    let first = self.result.withLock { known in
      if known == nil { return exchange(&known, with: result) }
      return known
    }
    if let first { return first }
    made.leave()
    return result
  }

  /// Blocks until the member is made; throws if that has failed.
  func wait() throws -> Member {
    made.wait()
    return try result.withLock { $0 ?? .failure(CancellationError()) }.get()
  }
}

extension AccountGroup {
  /// The store of an account; see ``member(for:)``.
  public func store<Key, Value>(for account: Account) throws -> Store<Key, Value> where Member == Store<Key, Value> {
    try member(for: account)
  }

  /// The sum over all open stores.
  public func statistics<Key, Value>() -> CacheStatistics where Member == Store<Key, Value> {
    let members = state.withLockUnchecked { $0.table.members }
    return members.map(\.member.statistics).reduce(into: CacheStatistics()) { $0 += $1 }
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
struct AccountName<Account: Hashable & Sendable>: Hashable, Sendable {
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
