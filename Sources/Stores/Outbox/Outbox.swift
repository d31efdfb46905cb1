import Dispatch
package import HTTPClientCore
public import Streams
public import SystemBase

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
/// A mutation is on disk before it is sent, and is removed when the server has responded and the stores that show it
/// have written the response, so none is lost, however the process ends. Entries are sent oldest first, one at a time,
/// even if several processes use one folder. Each entry has an idempotency key, which all its attempts carry.
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
    var pause = OutboxPause()
    /// Makes the next attempt at the end of the pause.
    var timer: (any Disposable)?
    /// The last turn.
    var turn: Task<OutboxReport<Mutation>, Never>?
    var coming: [ComingTurn] = []
    var lastNumber: UInt64 = 0
    /// Whether nothing more is sent.
    var isClosed = false
    /// Whether what is submitted is refused: it is closed, and all that was submitted before is on disk.
    var acceptsNothing = false
    /// Whether a sign-out has not removed everything yet.
    var hasRemains = false
    /// The listing of the folder that the known entries are from; `nil` if all files have to be looked at.
    var listing: UInt64?
    /// Entries that are damaged, as far as is known.
    var unreadable: [UnreadableOutboxEntry] = []
    /// Entries that could not be read because of an error of the system, oldest first: they may wait.
    var unread: [OutboxFileName] = []
    /// Called when there is something to send.
    var onBusy: @Sendable () -> Void = {}

    mutating func nextNumber() -> UInt64 {
      lastNumber += 1
      return lastNumber
    }
  }

  let folder: OutboxFolder<Mutation>
  let place: OpenOutbox?
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
  let publisher = OutboxPublisher<Mutation, Response>()
  let isSignedOut = BehaviorSubject(value: false)
  let queue = DispatchQueue(label: "outbox", qos: .utility)
  let lockTimeout: Duration
  let clock: StoreClock
  let scheduler: any Scheduler

  /// Opens the outbox of a partition, and creates its folder if it does not exist. If a sign-out has left entries, it
  /// removes them first.
  /// - Parameters:
  ///   - folder: The folder of the partitions; it should contain nothing else.
  ///   - partition: Identifies the account.
  ///   - lockTimeout: How long to wait for another process that is sending, a minute by default; and for one that is
  ///     using the folder, for at most 10 seconds.
  ///   - clock: The clock by which entries are ordered. Pauses end, and attempts are limited, by its scheduler's `now`,
  ///     which has to be that of all processes of the machine, as it is by default.
  ///   - scheduler: The scheduler of the attempts that the outbox makes by itself.
  ///   - isIdempotent: Whether a mutation may be carried out twice without harm, or the server honours idempotency
  ///     keys.
  ///   - send: Sends a mutation with its key; the stream's first element is the response. It must end, as a request
  ///     with a total deadline does: everything behind it waits. A GraphQL document should have one mutation: of
  ///     several, some may have been carried out when another is refused for its token, and the entry is sent again.
  /// - Throws: ``OutboxError/alreadyOpen`` if another outbox of the folder and partition is open in this process; or
  ///   ``FileError`` if the folder cannot be created or read, or what a sign-out has left cannot be removed.
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
    self.folder = try OutboxFolder(folder, partition: partition, fileSystem: fileSystem, uptime: clock.scheduler.now)
    place = isAlone ? try OpenOutbox(at: self.folder.path) : nil
    self.lockTimeout = lockTimeout
    self.clock = clock
    self.scheduler = scheduler
    self.isIdempotent = isIdempotent
    self.send = send
    place?.own(self)
    // What earlier processes have left is sent by itself, too.
    if try refresh() || hasFinished { setTimer(after: Self.firstDelay) }
  }

  deinit {
    state.withLock { exchange(&$0.timer, with: nil) }?.dispose()
    publisher.end()
  }

  /// The waiting entries, oldest first, then each change. It completes when the outbox is closed, signed out or
  /// released.
  ///
  /// An observer that stalls stops nothing else; what it has missed waits in memory, and it gets all of it in order.
  public var changes: Observable<OutboxChange<Mutation, Response>> {
    .create { [weak self, state, publisher] observer in
      self?.endIfSignedOutElsewhere()
      let watcher = OutboxWatcher<Mutation, Response>(
        id: state.withLock { $0.nextNumber() }, isStore: false,
        onChange: { change, done in
          observer.onNext(change)
          done()
          return {}
        },
        onCompleted: {
          observer.onCompleted()
          return {}
        })
      publisher.add(watcher)
      return Disposables.create { publisher.remove(watcher.id) }
    }
  }

  /// Notifies a store of the waiting entries, oldest first, then of each change, as ``changes`` does, and in that
  /// order.
  ///
  /// Of an entry that was sent, stores are notified first. It is removed from disk, and reported to its submitter and
  /// by
  /// ``changes``, when all of them have called `done` or are disposed; until then, no other entry is sent.
  /// - Parameters:
  ///   - onChange: Calls `done` once the change is where the store keeps its values, or cannot be written there; it
  ///     matters for `.sent` alone. Returns what calls the store's own watchers, which may stall: that is called next.
  ///     On any thread.
  ///   - onRefusal: Called when the server has refused the account (401) and the entry waits; returns the same.
  ///   - onCompleted: Called when the outbox is closed, signed out or released; returns the same.
  package func showing(
    _ onChange:
      @escaping @Sendable (OutboxChange<Mutation, Response>, _ done: @escaping @Sendable () -> Void) ->
      @Sendable () -> Void,
    onRefusal: @escaping @Sendable (RequestError) -> @Sendable () -> Void = { _ in {} },
    onCompleted: @escaping @Sendable () -> @Sendable () -> Void
  ) -> any Disposable {
    endIfSignedOutElsewhere()
    let watcher = OutboxWatcher<Mutation, Response>(
      id: state.withLock { $0.nextNumber() }, isStore: true, onChange: onChange, onRefusal: onRefusal,
      onCompleted: onCompleted)
    publisher.add(watcher)
    return Disposables.create { [publisher] in publisher.remove(watcher.id) }
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
  /// ``OutboxError/tooLarge(size:limit:)``) or read back (``OutboxError/unreadable(_:)``), or if the outbox is closed
  /// (``OutboxError/closed``). Disposing does not withdraw the mutation; it only means that the response is not awaited.
  ///
  /// Subscribing does not block: the mutation is written on the outbox's own queue, in the order of subscription. If
  /// another process does not give the folder's lock back, those that waited for it fail together after ten seconds.
  public func submit(_ mutation: Mutation) -> Observable<Response> {
    .create { observer in
      let id = UUID().uuidString
      let onBusy = self.state.withLock { state in
        state.waiters[id] = observer
        state.arriving.insert(id)
        return state.onBusy
      }
      onBusy()
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
  /// such an entry with this id. It keeps its key and its place; the next attempt sends it, in two seconds or at the
  /// end of a pause, if not before.
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
    guard let retried else { return false }
    note(retried)
    let now = uptime
    setTimer(after: state.withLock { $0.pause.remaining(now: now) } ?? Self.firstDelay)
    return true
  }

  /// Removes an entry that waits or was set aside; its submitter gets ``OutboxError/discarded``. An entry that is being
  /// sent may be carried out nonetheless. Throws ``FileError``, or ``OutboxError/signedOut``.
  public func discard(_ entry: OutboxEntry<Mutation>) throws { try discard(id: entry.id) }

  /// Removes an entry, even an unreadable one; returns whether there is one with this id. Throws ``FileError``, or
  /// ``OutboxError/signedOut``.
  @discardableResult
  public func discard(id: String) throws -> Bool {
    guard let name = try folder.names().first(where: { $0.id == id }) else { return false }
    try folder.discard(name, uptime: uptime)
    state.withLock { $0.unreadable.removeAll { $0.id == id } }
    let waiter = takeWaiter(id)
    if let entry = state.withLock({ $0.known[name] }) { forget(entry, .withdrawn(entry)) }
    fail(waiter, OutboxError.discarded)
    return true
  }

  /// When what waits is sent that nobody has just submitted.
  static var firstDelay: Duration { .seconds(2) }

  /// The time by a clock that no one sets.
  var uptime: Duration { clock.scheduler.now }
}
