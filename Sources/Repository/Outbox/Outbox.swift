import Dispatch
public import Platform
public import Streams

/// Mutations that are kept on disk in order, and sent once, as soon as the server can be reached.
///
///     let outbox = try Outbox<Rename, User>(
///       folder: folder, partition: account, isIdempotent: { _ in true }
///     ) { rename, key in
///       RenameUser(rename, idempotencyKey: key).put(on: client)
///     }
///     let user = try await outbox.submit(rename).value  // or `OutboxError.queued`: it is sent later
///     await outbox.flush()                              // sends what waits, if the outbox does not pause
///
/// A mutation is on disk before it is sent, and is removed when the server has responded, so none is lost, however the
/// process ends. Entries are sent oldest first, one at a time, even if several processes use one folder. Each entry has
/// an idempotency key, which all its attempts carry.
///
/// What becomes of an entry depends on how its attempt ends:
///
/// - With a response: it is removed.
/// - If it certainly did not reach the server, also at a deadline; with status 401 or `UNAUTHENTICATED`, a token that
///   could not be refreshed, status 429, a redirect, a TLS failure, or settings that prevent sending, such as a
///   proxy's: it waits.
/// - With a lost connection, another deadline, a response that cannot be decoded, or status 408 or 5xx, whatever the
///   response's body is: it waits if the mutation is idempotent, for at least 8 such attempts and an hour. Otherwise it
///   is set aside, since a second attempt might carry it out twice, and the entries behind it wait. So is a mutation
///   that is not idempotent if `UNAUTHENTICATED` comes from inside its result.
/// - With any other failure, such as GraphQL errors or an invalid request: it is set aside.
///
/// While an entry waits, all later ones wait behind it; so they do while the oldest one cannot be read because of an
/// error of the system. An entry that is damaged is passed over, and reported. An entry that is set aside stays on
/// disk, and is sent again only after ``retry(id:)``. If the submitter of an entry is still subscribed, the entry is
/// not set aside but removed, and the submitter gets the error.
///
/// After an attempt that makes entries wait, the outbox pauses: for 2 seconds after the first, twice as long after each
/// further one, and at most 128. Then it makes the next attempt by itself, as long as the process lives and the outbox
/// is retained. During a pause a mutation that is submitted is queued behind the others, and
/// ``flush(lockTimeout:evenDuringPause:)`` sends nothing, in any process, unless the queue was blocked by something
/// that may have changed, such as a missing token, or the server was not reached at all.
///
/// A partition is, for example, an account at an endpoint. Mutations are stored unencrypted, in files that only their
/// owner may read. Thread-safe; responses and changes arrive on the outbox's own threads or the callers'.
public final class Outbox<Mutation: Codable & Sendable, Response: Sendable>: Sendable {
  typealias Entry = OutboxEntry<Mutation>

  struct State {
    /// The entries on disk, when last read or written.
    var known = OutboxIndex<Mutation>()
    var waiters: [String: AnyObserver<Response>] = [:]
    /// The ids of entries that are being added: they are skipped until observers have been notified.
    var arriving: Set<String> = []
    /// Finished entries that could not be removed: they are not sent again, and each `look()` tries to remove them.
    var over: Set<OutboxFileName> = []
    var pause = OutboxPause()
    /// Makes the next attempt at the end of the pause.
    var timer: (any Disposable)?
    /// The last turn.
    var turn: Task<OutboxReport<Mutation>, Never>?
    var coming: [ComingTurn] = []
    var lastNumber: UInt64 = 0
    /// Whether nothing more is sent.
    var isClosed = false
    /// The unreadable entries found by the latest `look()`.
    var unreadable: [UnreadableOutboxEntry] = []
  }

  let folder: OutboxFolder<Mutation>
  private let place: OpenOutbox?
  /// A turn that has not begun, which others may join; `submitted` are notified at its end.
  struct ComingTurn {
    let number: UInt64
    let lockTimeout: Duration
    let task: Task<OutboxReport<Mutation>, Never>
    var submitted: [Entry] = []
    var urgency: Urgency
  }

  /// Whether to make an attempt during a pause.
  enum Urgency: Int {
    case afterPause
    /// If something was blocked that the caller may have fixed, for example by signing in.
    case ifBlocked
    case now
  }

  let isIdempotent: @Sendable (Mutation) -> Bool
  let send: @Sendable (Mutation, _ idempotencyKey: String) -> Observable<Response>
  let state = Locked(State())
  let notices: AnyObserver<OutboxNotice<Mutation, Response>>
  let isSignedOut = BehaviorSubject(value: false)
  let queue = DispatchQueue(label: "outbox", qos: .utility)
  let lockTimeout: Duration
  let clock: StoreClock
  let scheduler: any Scheduler

  /// Opens the outbox of a partition, and creates its folder if it does not exist.
  /// - Parameters:
  ///   - folder: The folder of the partitions; it should contain nothing else.
  ///   - partition: Identifies the account.
  ///   - lockTimeout: How long to wait for another process that is sending, a minute by default; and for one that is
  ///     using the folder, for at most 10 seconds.
  ///   - clock: The clock by which entries are ordered, and pauses end.
  ///   - scheduler: The scheduler of the attempts that the outbox makes by itself.
  ///   - isIdempotent: Whether a mutation may be carried out twice without harm, or the server honours idempotency
  ///     keys.
  ///   - send: Sends a mutation with its key; the stream's first element is the response. It must end, as a request
  ///     with a total deadline does: everything behind it waits. A GraphQL document should have one mutation: of
  ///     several, some may have been carried out when another is refused for its token, and the entry is sent again.
  /// - Throws: ``OutboxError/alreadyOpen`` if another outbox of the folder and partition is open in this process; or
  ///   ``FileError`` if the folder cannot be created or read.
  public convenience init(
    folder: URL, partition: String, lockTimeout: Duration = .seconds(60), clock: StoreClock = .system,
    scheduler: some Scheduler = ConcurrentScheduler(), isIdempotent: @escaping @Sendable (Mutation) -> Bool,
    send: @escaping @Sendable (Mutation, _ idempotencyKey: String) -> Observable<Response>
  ) throws {
    try self.init(
      folder: folder, partition: partition, lockTimeout: lockTimeout, clock: clock, scheduler: scheduler,
      fileSystem: SystemFileSystem(lockTimeout: min(lockTimeout, .seconds(10))), isAlone: true,
      isIdempotent: isIdempotent, send: send)
  }

  /// - Parameter isAlone: Whether it must be the only one of its folder in this process; if not, it stands for one of
  ///   another process.
  package init(
    folder: URL, partition: String, lockTimeout: Duration, clock: StoreClock,
    scheduler: some Scheduler = ConcurrentScheduler(), fileSystem: some FileSystem, isAlone: Bool = false,
    isIdempotent: @escaping @Sendable (Mutation) -> Bool,
    send: @escaping @Sendable (Mutation, _ idempotencyKey: String) -> Observable<Response>
  ) throws {
    self.folder = try OutboxFolder(folder, partition: partition, fileSystem: fileSystem, now: clock.now)
    place = isAlone ? try OpenOutbox(at: self.folder.path) : nil
    self.lockTimeout = lockTimeout
    self.clock = clock
    self.scheduler = scheduler
    self.isIdempotent = isIdempotent
    self.send = send
    let board = OutboxBoard<Mutation, Response>()
    notices = AnyObserver { if case .next(let notice) = $0 { board.handle(notice) } }
    // What earlier processes have left is sent by itself, too.
    if try !look().isEmpty { setTimer(after: .seconds(2)) }
  }

  deinit {
    state.withLock { exchange(&$0.timer, with: nil) }?.dispose()
    notices.onNext(.end)
  }

  /// The waiting entries, oldest first, then each change. It completes when the outbox is closed, signed out or released.
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

  /// All readable entries on disk, oldest first: those that wait, and those that were set aside, which have a refusal.
  /// Throws ``FileError``.
  public func entries() throws -> [OutboxEntry<Mutation>] {
    try names().compactMap { try folder.read($0) }
  }

  /// All unreadable entries on disk, oldest first. Throws ``FileError``.
  public func unreadableEntries() throws -> [UnreadableOutboxEntry] {
    try names().compactMap { if case .unreadable(let entry) = try folder.listedContent($0) { entry } else { nil } }
  }

  /// Queues a mutation and sends it, after all that already wait: a cold stream of the response.
  ///
  /// It fails with ``OutboxError/queued(because:)`` if the mutation will be sent later, because an attempt to send it,
  /// or one before it, has failed. If the mutation would be set aside, it fails with the server's error, and the
  /// mutation is removed. A mutation is not sent if it cannot be written (``FileError`` or
  /// ``OutboxError/tooLarge(size:limit:)``) or read back (``OutboxError/unreadable(_:)``). Disposing does not withdraw
  /// the mutation; it only means that the response is not awaited.
  ///
  /// Subscribing does not block: the mutation is written on the outbox's own queue, in the order of subscription. If
  /// another process does not give the folder's lock back, those that waited for it fail together after ten seconds.
  public func submit(_ mutation: Mutation) -> Observable<Response> {
    .create { observer in
      let id = UUID().uuidString
      self.state.withLock { state in
        state.waiters[id] = observer
        state.arriving.insert(id)
      }
      let subscribedAt = ContinuousClock.now
      self.queue.async { self.add(mutation, id: id, subscribedAt) }
      return Disposables.create { _ = self.takeWaiter(id) }
    }
  }

  /// Sends what waits. Cancelling the task that awaits this does not stop the sending.
  ///
  /// Returns at once if nothing waits, or during a pause, with the failure because of which the outbox pauses. Calls at
  /// the same time are joined, so it may be called with every request. If another process is sending for longer than
  /// the lock timeout, the report's error is a `RequestError` of the kind `timedOut` with the cause
  /// ``OutboxError/busy``.
  /// - Parameters:
  ///   - lockTimeout: How long to wait for another process; by default, the outbox's `lockTimeout`.
  ///   - evenDuringPause: Whether to make an attempt even if one has failed shortly before, as a person may ask for.
  /// - Returns: What was sent, what was set aside, and why the rest still waits.
  @discardableResult
  public func flush(lockTimeout: Duration? = nil, evenDuringPause: Bool = false) async -> OutboxReport<Mutation> {
    // After what was submitted before.
    await onQueue { self.joinTurn(lockTimeout: lockTimeout, evenDuringPause ? .now : .ifBlocked) }.value
  }

  /// Queues an entry again that was set aside, once the server will accept it, for example. Returns whether there is
  /// such an entry with this id. It keeps its key and its place; the next attempt sends it, here or in a later process.
  /// Like all that follows, this blocks while files are changed, for ten seconds at most. Throws ``FileError``, or
  /// ``OutboxError/signedOut``.
  @discardableResult
  public func retry(id: String) throws -> Bool {
    guard let name = try names().first(where: { $0.id == id }) else { return false }
    let retried = try folder.update(name) { entry in
      if entry.isWaiting { return false }
      entry.refusal = nil
      entry.forgetAttempts()
      return true
    }
    if let retried { note(retried) }
    return retried != nil
  }

  /// Removes an entry that waits or was set aside; its submitter gets ``OutboxError/discarded``. An entry that is being
  /// sent may be carried out nonetheless. Throws ``FileError``, or ``OutboxError/signedOut``.
  public func discard(_ entry: OutboxEntry<Mutation>) throws { try discard(id: entry.id) }

  /// Removes an entry, even an unreadable one; returns whether there is one with this id. Throws ``FileError``, or
  /// ``OutboxError/signedOut``.
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

  /// Stops sending, and keeps what waits for the next outbox of the folder, which can be opened when this returns: after
  /// the attempt in progress, if there is one, has ended. ``changes`` completes, and submitters whose mutation was not
  /// sent get ``OutboxError/queued(because:)``. At the end of a process, no call is needed.
  public func close() async {
    let timer = state.withLock { state in
      state.isClosed = true
      return exchange(&state.timer, with: nil)
    }
    timer?.dispose()
    // After what was submitted before.
    await onQueue {}
    _ = await state.withLock { $0.turn }?.value
    notices.onNext(.end)
    place?.close()
  }

  /// Ends the outbox because its account ends: requests are cancelled, and all entries of the partition are removed.
  /// Throws ``FileError`` if some cannot be; the others are removed then, and another call tries again.
  ///
  /// To continue later, do not call this, but ``close()``: what waits is in the folder.
  public func signOut() throws {
    let (waiters, timer) = state.withLock { (exchange(&$0.waiters, with: [:]), exchange(&$0.timer, with: nil)) }
    timer?.dispose()
    isSignedOut.onNext(true)
    defer {
      for waiter in waiters.values { waiter.onError(OutboxError.signedOut) }
      notices.onNext(.end)
      place?.close()
    }
    try folder.signOut()
  }
}

extension Outbox {
  /// The names of all unfinished entries, oldest first.
  func names() throws -> [OutboxFileName] {
    let names = try folder.names()
    let over = state.withLock { $0.over }
    return over.isEmpty ? names : names.filter { !over.contains($0) }
  }

  /// Reads what is on disk, and notifies observers of what other processes have added, removed, or queued again;
  /// returns the names of the waiting entries, oldest first; among them are those that cannot be read because of an
  /// error of the system, since they may wait.
  func look() throws -> [OutboxFileName] {
    for name in state.withLock({ $0.over }) {
      if (try? folder.remove(name)) != nil { state.withLock { _ = $0.over.remove(name) } }
    }
    // A known entry that is not on disk now has been removed.
    let known = state.withLock { $0.known }
    let names = try names()
    for name in Set(known.names).subtracting(names) { if let entry = known[name] { forget(entry, .withdrawn(entry)) } }
    // Entries that are just being added are skipped: they get a turn of their own.
    let arriving = state.withLock { state in
      state.unreadable = []
      return state.arriving
    }
    return try names.filter { name in
      if arriving.contains(name.id) { return false }
      do {
        return try known[name]?.isWaiting == true || reread(name) != nil
      } catch let error as FileError where error.isOfOneFile {
        return true
      }
    }
  }

  /// Reads an entry again, which another process may have changed or removed, and records its state; returns it if it
  /// waits. One that is damaged is passed over; one that cannot be read because of an error of the system is an error,
  /// since later ones must not overtake it.
  /// - Parameter isToBeSent: Whether to wait until it is certain that its adding has not failed.
  func reread(_ name: OutboxFileName, isToBeSent: Bool = false) throws -> Entry? {
    let content = try isToBeSent ? folder.settledContent(name) : folder.content(name)
    if case .entry(let entry)? = content {
      note(entry)
      return entry.isWaiting ? entry : nil
    }
    if case .unreadable(let entry)? = content { state.withLock { $0.unreadable.append(entry) } }
    if let known = state.withLock({ $0.known[name] }) { forget(known, .withdrawn(known)) }
    return nil
  }

  /// Changes an entry on disk; returns `nil` if it has been removed meanwhile.
  func change(_ name: OutboxFileName, _ change: @escaping @Sendable (inout Entry) -> Void) async throws -> Entry? {
    let update = { @Sendable (entry: inout Entry) in
      change(&entry)
      return true
    }
    guard let changed = try await onQueue({ try self.folder.update(name, update) }) else { return nil }
    let old = state.withLock { state in
      state.known[name] == nil ? nil : state.known.replace(name, with: changed)
    }
    // Released here, outside the lock.
    _ = old
    return changed
  }

  /// Records an entry as it is on disk, and notifies observers if it is new here, or no longer waits.
  func note(_ entry: Entry) {
    let old = state.withLock { $0.known.replace(entry.name, with: entry) }
    let (waited, waits) = (old?.isWaiting ?? false, entry.isWaiting)
    if waits, !waited { notices.onNext(.change(.added(entry)) {}) }
    if waited, !waits { notices.onNext(.change(.withdrawn(entry)) {}) }
  }

  /// Ends the arrival of an entry, after observers were notified that it was added. If it has been removed meanwhile,
  /// it is withdrawn once more: observers may have heard of the removal first.
  func endArrival(of entry: Entry) {
    let isGone = state.withLock { state in
      state.arriving.remove(entry.id)
      return state.known[entry.name] == nil
    }
    if isGone { notices.onNext(.change(.withdrawn(entry)) {}) }
  }

  /// Removes a finished entry and notifies observers. If it cannot be removed, returns the error; the entry is not sent
  /// again in any case.
  @discardableResult
  func end(
    _ entry: Entry, _ change: OutboxChange<Mutation, Response>, then completion: @escaping @Sendable () -> Void
  ) -> (any Error)? {
    let removal = Result { try folder.remove(entry.name) }
    if case .failure = removal { state.withLock { _ = $0.over.insert(entry.name) } }
    forget(entry, change, then: completion)
    return if case .failure(let error) = removal { error } else { nil }
  }

  /// Forgets an entry that is no longer on disk, and notifies observers of what became of it.
  func forget(
    _ entry: Entry, _ change: OutboxChange<Mutation, Response>, then completion: @escaping @Sendable () -> Void = {}
  ) {
    let old = state.withLock { $0.known.replace(entry.name, with: nil) }
    if old != nil { notices.onNext(.change(change, then: completion)) } else { completion() }
  }
}

/// The place of an outbox among those that are open in this process, of which each folder has one at most.
final class OpenOutbox: Sendable {
  private static let paths = Locked<Set<String>>([])

  private let path: Locked<String?>

  init(at path: String) throws(OutboxError) {
    let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    guard Self.paths.withLock({ $0.insert(path).inserted }) else { throw .alreadyOpen }
    self.path = Locked(path)
  }

  deinit { close() }

  func close() {
    guard let path = path.withLock({ exchange(&$0, with: nil) }) else { return }
    Self.paths.withLock { _ = $0.remove(path) }
  }
}
