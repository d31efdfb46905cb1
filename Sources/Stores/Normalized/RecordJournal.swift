import HTTPClientCore
import Streams
import Synchronization
import SystemBase

/// Writes what has changed in the records of an account to their storage, and takes from it what was there, and what other
/// processes add.
///
/// What cannot be written stays in memory, and is tried again: when something changes, when the storage says that there is
/// something, and after 1, 2, 4 and up to 30 seconds.
final class RecordJournal: Sendable {
  /// How many bytes may be added to a journal of any size before it is replaced.
  private static let slack = 256 << 10
  /// How often a change is tried again because others have been quicker.
  static let attempts = 100
  /// How many bytes of what cannot be written are kept as they are.
  static let limit = 4 << 20
  /// How long after a failure the storage is tried again.
  static let backoff = Backoff(initial: .seconds(1), maximum: .seconds(30), jitter: 0)

  let storage: any RecordStorage
  let configuration: NormalizedConfiguration
  let records: Locked<NormalizedRecords>
  let state = Locked(State())
  /// Whether the server has refused the account, as the storage has it; `nil` before it was asked.
  private let refusal = Locked<Bool?>(nil)
  private let isLoaded = Atomic(false)
  /// Who waits for what has changed to be written; `nil` if nothing is being written.
  private let waiting = Locked<[@Sendable () -> Void]?>(nil)
  /// Shows what others have added, and returns what calls watchers.
  let onReceived = Locked<(@Sendable (NormalizedRecords.Received) -> @Sendable () -> Void)?>(nil)
  private let following = Locked<(any Disposable)?>(nil)
  let listening = Locked(Listening())

  /// Begins to use a storage, and reads nothing of it.
  init(_ storage: some RecordStorage, of records: Locked<NormalizedRecords>, _ configuration: NormalizedConfiguration) {
    (self.storage, self.records, self.configuration) = (storage, records, configuration)
    guard let remains = RecordRemains.take(of: storage.identity) else { return }
    state.withLock { ($0.remains, $0.lacksRefusal) = (remains, remains.isRefused) }
    if remains.isRefused { refusal.withLock { $0 = true } }
  }

  deinit {
    state.withLockUnchecked { end(&$0) }
  }

  private var writesBehind: Bool { configuration.writing == .behind }

  /// Whether the server has refused the account, as the storage has it. It is asked once.
  var isRefused: Bool {
    if let known = refusal.withLock({ $0 }) { return known }
    let isRefused = storage.isRefused
    refusal.withLock { $0 = $0 ?? isRefused }
    return isRefused
  }

  /// Keeps whether the server has refused the account.
  func setRefused(_ isRefused: Bool) throws {
    try state.withLockUnchecked { if $0.isOpen { try setRefused(isRefused, &$0) } }
  }

  /// Keeps a refusal that the storage has failed to keep.
  func keepRefusal() throws {
    try state.withLockUnchecked { if $0.isInUse, $0.lacksRefusal { try setRefused(true, &$0) } }
  }

  private func setRefused(_ isRefused: Bool, _ state: inout State) throws {
    do {
      state.lacksRefusal = isRefused
      try storage.setRefused(isRefused)
      state.lacksRefusal = false
      refusal.withLock { $0 = isRefused }
    } catch {
      // A storage that is away says that it is; but then nobody would try again.
      if isRefused { refusal.withLock { $0 = false } }
      throw error
    }
  }

  // MARK: Reading

  /// The records, with what was there.
  var loaded: Locked<NormalizedRecords> {
    if !isLoaded.load(ordering: .acquiring) { load() }
    return records
  }

  private func load() {
    let errors = state.withLockUnchecked { state -> [any Error] in
      if isLoaded.load(ordering: .acquiring) { return [] }
      defer { isLoaded.store(true, ordering: .releasing) }
      guard state.isOpen else {
        state.isUnread = true
        return []
      }
      // From before the first read on, so that nothing is missed.
      let subscription = storage.changes.subscribe(onNext: { [weak self] in self?.noteOthers() })
      following.withLock { $0 = subscription }
      do { return load(try storage.read(after: nil), &state) } catch {
        state.isUnread = true
        return [error]
      }
    }
    if state.withLock({ $0.isUnread || $0.mustRemove || !$0.unwritten.isEmpty || $0.lacksRefusal }) { retryLater() }
    for error in errors { configuration.onStorageError(error) }
  }

  private func load(_ tail: RecordTail, _ state: inout State) -> [any Error] {
    takeRemains(at: tail, &state)
    var entries = state.mustRemove ? [] : tail.entries.map { $0.bytes[...] }
    if !state.unwritten.isEmpty { entries.append(state.unwritten[...]) }
    let isRead = records.withLockUnchecked { $0.restore(entries) }
    let size = tail.entries.reduce(0) { $0 + $1.bytes.count }
    state.position = tail.last
    (state.size, state.firstSize) = (size, tail.entries.first?.bytes.count ?? 0)
    for entry in tail.entries { state.note(entry) }
    state.mustReplace = tail.last == nil || !isRead || tail.lostBytes > 0 || state.mustRemove
    state.signOut = tail.signOut
    // If nothing is damaged, the types had other keys.
    if tail.lostBytes == 0 { return [] }
    return [NormalizedStorageError.damaged(lostBytes: isRead ? tail.lostBytes : tail.lostBytes + size)]
  }

  /// Takes what the journal before could not write, unless others have written since. If that one had not been read, it is not
  /// known who has: then all is removed, and requested again.
  func takeRemains(at tail: RecordTail, _ state: inout State) {
    guard let remains = exchange(&state.remains, with: nil), let last = tail.last else { return }
    let isSameJournal = remains.position.map { $0.journal == last.journal } ?? true
    if let changes = remains.changes {
      if last == remains.position || remains.attempts.contains(where: { $0.isOf(tail.entries.last) }) {
        state.unwritten = changes + state.unwritten
      }
    } else if remains.signOut.map({ $0 == tail.signOut }) ?? isSameJournal {
      (state.mustRemove, state.mustReplace) = (true, true)
    }
  }

  // MARK: Writing

  /// Calls the completion when what has changed until now is written, or has failed to be, which is reported; at once if
  /// it is written behind. It may be called on a thread of its own, which may block.
  func flush(then completion: @escaping @Sendable () -> Void) {
    let begins = waiting.withLock { waiting in
      let begins = waiting == nil
      // Behind, nobody waits; but what changes while something is written is to be written, too.
      waiting = writesBehind ? [{}] : (waiting ?? []) + [completion]
      return begins
    }
    if writesBehind { completion() }
    if begins { _ = ElasticScheduler().schedule { self.flushAll() } }
  }

  private func flushAll() {
    while true {
      let served = waiting.withLock { waiting in
        let served = waiting
        waiting = waiting.flatMap { _ in [] }
        return served ?? []
      }
      flushNow()
      // Each for itself: one that stalls delays no other.
      for completion in served.dropFirst() { _ = ElasticScheduler().schedule { completion() } }
      let isDone = waiting.withLock { waiting in
        if waiting?.isEmpty == true { waiting = nil }
        return waiting == nil
      }
      if isDone {
        served.first?()
        return
      }
      if let first = served.first { _ = ElasticScheduler().schedule { first() } }
    }
  }

  /// Writes what has changed until now on this thread, unless it is written behind.
  func flushHere() {
    if writesBehind { flush {} } else { flushNow() }
  }

  /// Writes what has changed until now, and reports why it could not.
  func flushNow() {
    do { try write() } catch { configuration.onStorageError(error) }
  }

  /// Writes what has changed until now, after what others have added.
  func write() throws {
    do {
      for _ in 0..<Self.attempts {
        if try tryToWrite() { return }
        try receive(showing: show)
      }
    } catch {
      state.withLockUnchecked { keepUnwritten(&$0) }
      if !(error is DiskCacheError) { retryLater() }
      throw error
    }
    retryLater()
    throw NormalizedStorageError.busy
  }

  /// Keeps what could not be written for the next attempt.
  private func keepUnwritten(_ state: inout State) {
    // The next process must not find what the server has refused. A file can be removed also from a full device.
    if state.isInUse, state.removesSomething {
      state.lacksChanges = true
      // If that cannot be done either, all that there is takes its place when it can: others need not lose the rest.
      if isJournalKnown(state) { try? removeAll(&state) }
    }
    if state.unwritten.count > state.unwrittenLimit { shortenUnwritten(&state) }
  }

  /// Keeps of what could not be written what memory still has.
  private func shortenUnwritten(_ state: inout State) {
    let (schema, staleTimes) = records.withLock { ($0.cache.schema, $0.cache.dates.staleTimes) }
    let now = configuration.clock.now
    guard var unwritten = UnwrittenRecords(state.unwritten, schema, staleTimes, now: now) else {
      (state.unwritten, state.attempts, state.lacksChanges) = ([], [], true)
      return
    }
    records.withLockUnchecked { unwritten.forget(missingIn: $0) }
    state.shortenUnwritten(to: unwritten.bytes)
    state.unwrittenLimit = max(Self.limit, 2 * state.unwritten.count)
  }

  /// Whether the journal is known to be the one that was read last, or nothing could ever be read: if others have removed
  /// all, or signed the account out, that is to be read first.
  private func isJournalKnown(_ state: State) -> Bool {
    guard let tail = try? storage.read(after: state.position) else { return state.isUnread }
    return tail.last?.journal == state.position?.journal
  }

  /// Returns whether nothing is left to be written; it is if others have added something.
  private func tryToWrite() throws -> Bool {
    try state.withLockUnchecked { state in
      guard state.isInUse else {
        // Nobody writes it any more.
        _ = records.withLockUnchecked { $0.takeLog() }
        return true
      }
      let all = take(&state)
      do {
        if state.mustRemove, try !remove(&state) { return false }
        if all == nil, state.unwritten.isEmpty { return true }
        // What is there is read first.
        if state.isUnread { return false }
        let bytes = all.map { [UInt8](signOut: state.signOut) + $0 } ?? state.unwritten
        guard try write(bytes, replaces: all != nil, &state) else { return false }
        state.dropChanges()
        state.failures = 0
        return true
      } catch {
        state.mustReplace = true
        // It would be too long with what has changed: all that there is takes its place.
        if all == nil, error is DiskCacheError { return false }
        throw error
      }
    }
  }

  /// Takes what has changed, and returns all that there is, if something has, and all is to be written.
  private func take(_ state: inout State) -> [UInt8]? {
    records.withLockUnchecked { records in
      takeChanges(of: &records, &state)
      let isLong = state.size - state.firstSize > max(state.firstSize, Self.slack)
      let isChanged = !state.unwritten.isEmpty || state.lacksChanges
      return isChanged && (state.mustReplace || state.lacksChanges || isLong) ? records.encoded() : nil
    }
  }

  func takeChanges(of records: inout NormalizedRecords, _ state: inout State) {
    let changes = records.takeLog()
    if changes.isReset {
      state.dropChanges()
      (state.mustRemove, state.mustReplace) = (true, true)
    }
    state.unwritten += changes.bytes
    state.removesSomething = state.removesSomething || changes.isRemoval
  }

  private func write(_ bytes: [UInt8], replaces: Bool, _ state: inout State) throws -> Bool {
    guard bytes.count <= RecordCache.responseLimit else {
      throw DiskCacheError.tooLarge(size: bytes.count, limit: RecordCache.responseLimit)
    }
    var place = state.position?.next ?? RecordPosition(journal: .random(in: .min ... .max), number: 0)
    // Others may have read more than there is, if the storage has lost something.
    if replaces, state.position != nil { place.number = max(place.number, state.greatestNumber &+ 1) }
    let entry = RecordEntry(place, bytes)
    do { return try write(entry, replaces: replaces, &state) } catch {
      if state.attempts.count < Self.attempts {
        state.attempts.append(
          Attempt(position: place, hash: bytes.hashValue, count: state.unwritten.count, isAll: replaces))
      }
      throw error
    }
  }

  private func write(_ entry: RecordEntry, replaces: Bool, _ state: inout State) throws -> Bool {
    let count = entry.bytes.count
    if !replaces, let position = state.position {
      guard try storage.append(entry, after: position) else { return false }
      state.size += count
    } else {
      guard try storage.replaceAll(with: entry, after: state.position) else { return false }
      (state.size, state.firstSize, state.mustReplace) = (count, count, false)
    }
    state.position = entry.position
    state.note(entry)
    return true
  }

  // MARK: Removing

  /// Returns whether what has changed since may be written.
  private func remove(_ state: inout State) throws -> Bool {
    (state.mustRemove, state.mustReplace) = (true, true)
    let signOut = try signOutOfOthers(state)
    if signOut != state.signOut, !state.isUnread { state.isOutdated = true }
    state.signOut = signOut
    try removeAll(&state)
    // A place that is in no journal: so the next read finds another journal, and forgets what has changed.
    if state.isOutdated { state.position = RecordPosition(journal: .random(in: .min ... .max), number: 0) }
    return !state.isOutdated
  }

  /// The number of the latest sign-out, as the storage has it; as it is known here, if nothing could ever be read.
  private func signOutOfOthers(_ state: State) throws -> UInt64 {
    do {
      let tail = try storage.read(after: state.position)
      return tail.last == nil || tail.last?.journal == state.position?.journal ? state.signOut : tail.signOut
    } catch {
      if state.isUnread { return state.signOut }
      throw error
    }
  }

  /// Removes all entries, and leaves what is known of the latest sign-out: by it, who knew of no entry still notices that.
  private func removeAll(_ state: inout State) throws {
    try storage.removeAll()
    (state.mustRemove, state.mustReplace, state.isUnread, state.position) = (false, true, false, nil)
    if state.signOut == 0 { return }
    let mark = mark(of: state.signOut)
    // If it fails, what is written next says it.
    if (try? storage.replaceAll(with: mark, after: nil)) == true {
      state.position = mark.position
      state.note(mark)
    }
  }

  /// An entry that begins a journal, and has nothing but the number of a sign-out.
  private func mark(of signOut: UInt64) -> RecordEntry {
    let schema = records.withLock { $0.cache.schema }
    let nothing = RecordLog.beginning(schema, since: configuration.clock.now)
    return RecordEntry(
      RecordPosition(journal: .random(in: .min ... .max), number: 0), [UInt8](signOut: signOut) + nothing)
  }

  /// Removes what was written before the records were emptied.
  func removeAll() throws { try write() }

  /// Removes everything, and ends the journal, also one that was closed; after an error, another call tries again.
  func signOut() throws {
    try state.withLockUnchecked { state in
      // If this fails, the next one removes everything. What is there at another attempt may be of the next session.
      if !exchange(&state.isSignedOut, with: true) {
        let isKnown = isLoaded.load(ordering: .acquiring) && !state.isUnread
        RecordRemains(changes: nil, signOut: isKnown ? state.signOut : nil).keep(for: storage.identity)
      }
      state.dropChanges()
      try storage.signOut(leaving: mark(of: .random(in: 1 ... .max)))
      _ = RecordRemains.take(of: storage.identity)
      refusal.withLock { $0 = false }
      end(&state)
    }
  }

  /// Ends the journal, and keeps what is written.
  func close() {
    flushNow()
    state.withLockUnchecked { end(&$0) }
  }

  func end(_ state: inout State) {
    following.withLock { exchange(&$0, with: nil) }?.dispose()
    guard exchange(&state.isOpen, with: false) else { return }
    if !state.isSignedOut {
      records.withLockUnchecked { takeChanges(of: &$0, &state) }
      // What was left to this one, if it was not read, and what it has not written either.
      var remains = exchange(&state.remains, with: nil) ?? RecordRemains(position: state.position)
      remains.attempts += state.attempts
      let removesAll = state.mustRemove || state.lacksChanges || state.isUnread && !state.unwritten.isEmpty
      remains.changes = removesAll ? nil : remains.changes.map { $0 + state.unwritten }
      remains.isRefused = state.lacksRefusal
      remains.keep(for: storage.identity)
    }
    storage.close()
  }
}

/// What the store of values, whose values are read from the records, has beside memory: whether they are hidden, and the end
/// of the account. Changes of the records are written by those who make them.
struct RecordJournalSource: SourceOfTruth {
  let journal: RecordJournal

  /// Whatever the storage is, no task waits for it.
  var waitsForOtherProcesses: Bool { true }

  var isRefused: Bool { journal.isRefused }

  func read(_ key: NormalizedKey) throws -> StoredValue<NormalizedValue>? { nil }
  func write(_ stored: StoredValue<NormalizedValue>, for key: NormalizedKey) throws {}
  func invalidate(_ key: NormalizedKey) throws {}
  func remove(_ key: NormalizedKey) throws {}
  func keys() throws -> [NormalizedKey] { [] }
  func removeAll() throws { try journal.removeAll() }
  func signOut() throws { try journal.signOut() }
  func setRefused(_ isRefused: Bool) throws { try journal.setRefused(isRefused) }
}
