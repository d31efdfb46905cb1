public import Foundation
public import Streams

/// Mutations that are sent as soon as there is a server: kept on disk in their order, and sent once.
///
///     let outbox = try Outbox<Rename, User>(
///       folder: folder, partition: account, isIdempotent: { _ in true }
///     ) { rename, key in
///       RenameUser(rename, idempotencyKey: key).put(on: client)
///     }
///     let user = try await outbox.submit(rename).value  // or `OutboxError.queued`: it is sent later
///     await outbox.flush()                              // sends what waits
///
/// A mutation is on disk before it is sent, and is removed when the server has answered, so none is lost however the
/// process ends. What waits is sent oldest first, one at a time, also by several processes on one folder. Each entry
/// has an idempotency key, which goes along with all its attempts.
///
/// What becomes of an entry depends on how its attempt ends:
///
/// - With an answer: it goes.
/// - Without a connection, for certain, also at a deadline; with status 401 or `UNAUTHENTICATED`, a token that could not be
///   refreshed, status 429, a redirect, a failure of TLS, or settings that let nothing be sent, as those of a proxy: it
///   waits.
/// - With a lost connection, another deadline, an answer that cannot be decoded, or a status of 408 or 5xx: it waits where
///   the mutation is idempotent, for at most 8 such attempts. Else it is set aside, since a second attempt might carry it
///   out twice, and what is behind it waits.
/// - With anything else, such as GraphQL errors, or a request that is not valid: it is set aside.
///
/// While an entry waits, all later ones wait behind it. An entry that is set aside stays on disk, and is sent again
/// only after ``retry(id:)``. Only entries that no submitter is subscribed to are set aside: a submitter that is still
/// subscribed gets the error instead, and the entry is removed.
///
/// After an attempt at what waits has failed, the outbox pauses: for 2 seconds after the first attempt, twice as long
/// after each further one, and 128 at most; if the server was not reached at all, it does not. What is submitted
/// meanwhile is queued behind the others; it is tried only where a token or such was missing, which may be there now.
/// ``flush(lockTimeout:)`` does not wait.
///
/// A partition is an account at an endpoint, say. Mutations are stored unencrypted, in files that only their owner may
/// read. Any thread may call; answers and changes come on threads of the outbox's own, or of those who call.
public final class Outbox<Mutation: Codable & Sendable, Response: Sendable>: Sendable {
  typealias Entry = OutboxEntry<Mutation>

  struct State {
    /// What was on disk when it was last looked at, or written.
    var known = OutboxIndex<Mutation>()
    var waiters: [String: AnyObserver<Response>] = [:]
    /// The ids of what is being put in: nobody looks at it before those who watch were told.
    var arriving: Set<String> = []
    /// What is over and could not be removed: it is not sent any more, and each look tries again.
    var over: Set<OutboxFileName> = []
    var pause = OutboxPause()
    var turn: Task<OutboxReport<Mutation>, Never>?
    /// Whether there is a turn that has not begun, which others may join, and whose submitters are told at its end.
    var isTurnComing = false
    var submitted: [Entry] = []
    var lastNumber: UInt64 = 0
    /// What the last look has found that cannot be read.
    var unreadable: [UnreadableOutboxEntry] = []
  }

  let folder: OutboxFolder<Mutation>
  let isIdempotent: @Sendable (Mutation) -> Bool
  let send: @Sendable (Mutation, _ idempotencyKey: String) -> Observable<Response>
  let state = Guarded(State())
  let notices: AnyObserver<OutboxNotice<Mutation, Response>>
  let isSignedOut = BehaviorSubject(value: false)
  let queue = DispatchQueue(label: "outbox", qos: .utility)
  let lockTimeout: Duration
  let clock: StoreClock

  /// Opens the outbox of a partition, and makes its folder where it is missing.
  /// - Parameters:
  ///   - folder: Where the partitions are; nothing else should be.
  ///   - partition: What tells accounts apart.
  ///   - lockTimeout: How long to wait for another process that is sending; a minute unless given.
  ///   - isIdempotent: Whether it does no harm to carry a mutation out twice, or the server knows idempotency keys.
  ///   - send: Sends a mutation under its key; the stream's first element is the answer.
  /// - Throws: ``FileError`` where the folder cannot be made or read.
  public convenience init(
    folder: URL, partition: String, lockTimeout: Duration = .seconds(60),
    isIdempotent: @escaping @Sendable (Mutation) -> Bool,
    send: @escaping @Sendable (Mutation, _ idempotencyKey: String) -> Observable<Response>
  ) throws {
    try self.init(
      folder: folder, partition: partition, lockTimeout: lockTimeout, clock: .system, fileSystem: SystemFileSystem(),
      isIdempotent: isIdempotent, send: send)
  }

  package init(
    folder: URL, partition: String, lockTimeout: Duration, clock: StoreClock, fileSystem: some FileSystem,
    isIdempotent: @escaping @Sendable (Mutation) -> Bool,
    send: @escaping @Sendable (Mutation, _ idempotencyKey: String) -> Observable<Response>
  ) throws {
    self.folder = try OutboxFolder(folder, partition: partition, fileSystem: fileSystem)
    self.lockTimeout = lockTimeout
    self.clock = clock
    self.isIdempotent = isIdempotent
    self.send = send
    let board = OutboxBoard<Mutation, Response>()
    notices = AnyObserver { if case .next(let notice) = $0 { board.handle(notice) } }
    _ = try look()
  }

  deinit { notices.onNext(.end) }

  /// What waits, oldest first, and then each change. It completes at a sign-out, or when the outbox goes away.
  public var changes: Observable<OutboxChange<Mutation, Response>> {
    .create { [state, notices] observer in
      let id = state.withLock { state in
        state.lastNumber += 1
        return state.lastNumber
      }
      notices.onNext(.arrival(id, observer))
      return Disposables.create { notices.onNext(.departure(id)) }
    }
  }

  /// All that is on disk and can be read, oldest first: what waits, and what was set aside, which has a refusal.
  public func entries() throws -> [OutboxEntry<Mutation>] {
    try names().compactMap { try folder.read($0) }
  }

  /// All that is on disk and cannot be read, oldest first.
  public func unreadableEntries() throws -> [UnreadableOutboxEntry] {
    try names().compactMap { if case .unreadable(let entry) = try folder.listedContent($0) { entry } else { nil } }
  }

  /// A cold stream of one answer: puts a mutation in, and sends it after all that waits already.
  ///
  /// It fails with ``OutboxError/queued(because:)`` where the mutation is to be sent later, because an attempt has failed,
  /// for it or for one before it; and with the server's error where it is set aside otherwise, and goes. Nor is it sent
  /// where it cannot be written, which is a ``FileError`` or ``OutboxError/tooLarge(size:limit:)``, or cannot be read back,
  /// which is ``OutboxError/unreadable(_:)``. Disposing does not withdraw the mutation; it only says that nobody waits
  /// for the response.
  public func submit(_ mutation: Mutation) -> Observable<Response> {
    .create { observer in
      let id = UUID().uuidString
      self.state.withLock { state in
        state.waiters[id] = observer
        state.arriving.insert(id)
      }
      do {
        let entry = try self.folder.append(mutation, id: id, now: self.clock.now)
        self.note(entry)
        self.endArrival(of: entry)
        self.joinTurn(for: entry)
      } catch {
        self.state.withLock { _ = $0.arriving.remove(id) }
        observer.onError(error)
      }
      return Disposables.create { _ = self.takeWaiter(id) }
    }
  }

  /// Sends what waits; cancelling the task that awaits this does not stop the sending.
  ///
  /// Where nothing waits, the report says so at once. Where another process is sending, and goes on for longer than the
  /// lock timeout, the report's error is a `RequestError` of the kind `timedOut` with the cause ``OutboxError/busy``.
  /// - Parameter lockTimeout: How long to wait for another process; as the outbox was opened with unless given.
  /// - Returns: What was sent, what was set aside, and why the rest still waits.
  @discardableResult
  public func flush(lockTimeout: Duration? = nil) async -> OutboxReport<Mutation> {
    await takeTurn(lockTimeout: lockTimeout).value
  }

  /// Lets an entry wait again that was set aside, as when the server takes such mutations now; false where there is none
  /// with this id. It keeps its key and its place; the next flush sends it, here or where the folder is opened later.
  @discardableResult
  public func retry(id: String) throws -> Bool {
    guard let name = try names().first(where: { $0.id == id }), var entry = try folder.read(name) else {
      return false
    }
    guard !entry.isWaiting else { return false }
    (entry.refusal, entry.attempts) = (nil, 0)
    guard try folder.update(entry) else { return false }
    note(entry)
    return true
  }

  /// Takes an entry out that waits or was set aside; who waits for it is told ``OutboxError/discarded``. One that is being
  /// sent may be carried out nonetheless.
  public func discard(_ entry: OutboxEntry<Mutation>) throws { try discard(id: entry.id) }

  /// Takes an entry out, also one that cannot be read; false where there is none with this id.
  @discardableResult
  public func discard(id: String) throws -> Bool {
    guard let name = try folder.names().first(where: { $0.id == id }) else { return false }
    try folder.discard(name, now: clock.now)
    let waiter = takeWaiter(id)
    guard let entry = state.withLock({ $0.known[name] }) else {
      waiter?.onError(OutboxError.discarded)
      return true
    }
    forget(entry, .withdrawn(entry)) { waiter?.onError(OutboxError.discarded) }
    return true
  }

  /// Ends the outbox because its account ends: requests are cancelled, and all entries of the partition removed. Throws
  /// ``FileError`` where one could not be; the others are gone then, and another call tries again.
  ///
  /// An outbox that is to go on after the next start needs no call: what waits is in its folder.
  public func signOut() throws {
    let waiters = state.withLock { exchange(&$0.waiters, with: [:]) }
    isSignedOut.onNext(true)
    defer {
      for waiter in waiters.values { waiter.onError(OutboxError.signedOut) }
      notices.onNext(.end)
    }
    try folder.signOut()
  }
}
