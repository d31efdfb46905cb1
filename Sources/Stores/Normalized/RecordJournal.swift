import HTTPClientCore
import Streams
import Synchronization
import SystemBase

/// Writes what has changed in the records of an account to their storage, and takes from it what was there, and what other
/// processes add.
///
/// What cannot be written stays in memory; then, all of it is written as soon as something changes.
final class RecordJournal: Sendable {
  /// How many bytes may be added to a journal of any size before it is replaced.
  private static let slack = 256 << 10
  /// How often a change is tried again because others have been quicker.
  private static let attempts = 100
  /// How many bytes are kept of what cannot be written.
  private static let limit = 4 << 20

  private struct State {
    var isOpen = true
    /// The place of the last entry that was read or written.
    var position: RecordPosition?
    /// Whether all has to be written, in the place of what is there: nothing is, or it cannot be read.
    var mustReplace = true
    /// The bytes of all entries, and those of the first.
    var size = 0
    var firstSize = 0
    /// Whether everything is to be removed before something is written.
    var mustRemove = false
    /// What has changed and is not written yet, and whether that removes something.
    var unwritten: [UInt8] = []
    var removesSomething = false
    /// Whether more than that is not written: then all has to be.
    var lacksChanges = false
    /// Entries that the storage has failed to write, and may have nevertheless.
    var attempts: [Attempt] = []

    /// Forgets what is not written.
    mutating func dropChanges() { (unwritten, removesSomething, lacksChanges, attempts) = ([], false, false, []) }

    /// Forgets as much of what is not written as is in an entry, if it was written nevertheless: on top of what others have
    /// added since, it would undo that.
    mutating func noteOwn(_ entry: RecordEntry) {
      let hash = attempts.contains { $0.position == entry.position } ? entry.bytes.hashValue : 0
      guard let attempt = attempts.last(where: { $0.position == entry.position && $0.hash == hash }) else { return }
      unwritten.removeFirst(min(attempt.count, unwritten.count))
      if attempt.isAll { lacksChanges = false }
      removesSomething = removesSomething && (lacksChanges || !unwritten.isEmpty)
    }
  }

  /// An entry that the storage has failed to write.
  private struct Attempt {
    let position: RecordPosition
    let hash: Int
    /// How many of the bytes that are not written it has.
    let count: Int
    let isAll: Bool
  }

  private let storage: any RecordStorage
  private let configuration: NormalizedConfiguration
  private let records: Locked<NormalizedRecords>
  private let state = Locked(State())
  private let isLoaded = Atomic(false)
  /// Who waits for what has changed to be written; `nil` if nothing is being written.
  private let waiting = Locked<[@Sendable () -> Void]?>(nil)
  /// Shows what others have added.
  private let onReceived = Locked<(@Sendable (NormalizedRecords.Received) -> Void)?>(nil)
  private let following = Locked<(any Disposable)?>(nil)
  /// Whether what others have added will be read.
  private let willReceive = Atomic(false)

  /// Begins to use a storage, and reads nothing of it.
  init(_ storage: some RecordStorage, of records: Locked<NormalizedRecords>, _ configuration: NormalizedConfiguration) {
    (self.storage, self.records, self.configuration) = (storage, records, configuration)
  }

  deinit {
    state.withLockUnchecked { end(&$0) }
  }

  private var writesBehind: Bool { configuration.writing == .behind }

  /// Whether the server has refused the account.
  var isRefused: Bool { storage.isRefused }

  /// Keeps whether the server has refused the account.
  func setRefused(_ isRefused: Bool) throws {
    try state.withLockUnchecked { state in
      if state.isOpen { try storage.setRefused(isRefused) }
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
      guard state.isOpen else { return [] }
      // From before the first read on, so that nothing is missed.
      let subscription = storage.changes.subscribe(onNext: { [weak self] in self?.noteOthers() })
      following.withLock { $0 = subscription }
      do { return load(try storage.read(after: nil), &state) } catch { return [error] }
    }
    for error in errors { configuration.onStorageError(error) }
  }

  private func load(_ tail: RecordTail, _ state: inout State) -> [any Error] {
    let isRead = records.withLockUnchecked { $0.restore(tail.entries.map { $0.bytes[...] }) }
    let size = tail.entries.reduce(0) { $0 + $1.bytes.count }
    state.position = tail.last
    (state.size, state.firstSize) = (size, tail.entries.first?.bytes.count ?? 0)
    state.mustReplace = tail.last == nil || !isRead || tail.lostBytes > 0
    // If nothing is damaged, the types had other keys.
    if tail.lostBytes == 0 { return [] }
    return [NormalizedStorageError.damaged(lostBytes: isRead ? tail.lostBytes : tail.lostBytes + size)]
  }

  // MARK: What others add

  /// Sets who shows what others have added.
  func setReceiver(_ receiver: @escaping @Sendable (NormalizedRecords.Received) -> Void) {
    onReceived.withLock { $0 = receiver }
  }

  private func noteOthers() {
    if willReceive.exchange(true, ordering: .acquiringAndReleasing) { return }
    _ = ElasticScheduler().schedule { [weak self] in
      self?.willReceive.store(false, ordering: .releasing)
      do { try self?.receive() } catch { self?.configuration.onStorageError(error) }
    }
  }

  /// Takes what others have added, below what is not written yet.
  func receive() throws {
    let (received, error) = try state.withLockUnchecked { state -> (NormalizedRecords.Received?, (any Error)?) in
      // What is to be removed is not taken.
      guard state.isOpen, !state.mustRemove else { return (nil, nil) }
      return receive(try storage.read(after: state.position), &state)
    }
    if let received { onReceived.withLock { $0 }?(received) }
    if let error { configuration.onStorageError(error) }
  }

  private func receive(_ tail: RecordTail, _ state: inout State) -> (NormalizedRecords.Received?, (any Error)?) {
    let damage = tail.lostBytes > 0 ? NormalizedStorageError.damaged(lostBytes: tail.lostBytes) : nil
    if tail.last == state.position {
      if damage == nil || state.mustReplace { return (nil, nil) }
      state.mustReplace = true
      return (nil, damage)
    }
    if tail.last == nil, damage != nil {
      // Nothing can be read, and so nothing says that others have removed everything.
      (state.position, state.mustReplace, state.lacksChanges) = (nil, true, true)
      return (nil, damage)
    }
    let known = state.position
    let isSameJournal = known == nil || known?.journal == tail.last?.journal
    let isNext = known == nil || tail.entries.first?.position == known?.next
    let (entries, now) = (tail.entries.map { $0.bytes[...] }, configuration.clock.now)
    let result = records.withLockUnchecked { records -> (NormalizedRecords.Received, UnreadableRecords?)? in
      // What has changed since the last write comes after what was read.
      takeChanges(of: &records, &state)
      if state.mustRemove { return nil }
      // What began before a removal of everything goes with that.
      if !isSameJournal {
        state.dropChanges()
        return records.receiveOther(entries, now: now)
      }
      for entry in tail.entries { state.noteOwn(entry) }
      return records.receive(entries, areAll: !isNext, then: state.unwritten[...])
    }
    guard let (received, failure) = result else { return (nil, nil) }
    state.attempts = []
    state.position = tail.last
    if failure?.hasOtherKeys == true {
      end(&state)
      return (received, NormalizedStorageError.otherKeys)
    }
    let sizes = tail.entries.map(\.bytes.count)
    state.size = (isNext ? state.size : 0) + sizes.reduce(0, +)
    if !isNext || known == nil { state.firstSize = sizes.first ?? 0 }
    if failure != nil {
      // What this process has takes the place of what nobody can read.
      (state.mustReplace, state.lacksChanges) = (true, true)
      return (received, NormalizedStorageError.damaged(lostBytes: tail.lostBytes + sizes.reduce(0, +)))
    }
    state.mustReplace = tail.last == nil || state.lacksChanges || damage != nil
    return (received, damage)
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
    for _ in 0..<Self.attempts {
      if try tryToWrite() { return }
      try receive()
    }
    throw NormalizedStorageError.busy
  }

  /// Returns whether nothing is left to be written; it is if others have added something.
  private func tryToWrite() throws -> Bool {
    try state.withLockUnchecked { state in
      guard state.isOpen else {
        // Nobody writes it any more.
        _ = records.withLockUnchecked { $0.takeLog() }
        return true
      }
      let all = take(&state)
      do {
        if state.mustRemove { try remove(&state) }
        if all == nil, state.unwritten.isEmpty { return true }
        guard try write(all ?? state.unwritten, replaces: all != nil, &state) else { return false }
        state.dropChanges()
        return true
      } catch {
        state.mustReplace = true
        // The next process must not find what the server has refused. A file can be removed also from a full device.
        if state.removesSomething {
          state.lacksChanges = true
          try? remove(&state)
        }
        if state.unwritten.count > Self.limit { (state.unwritten, state.attempts, state.lacksChanges) = ([], [], true) }
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

  private func takeChanges(of records: inout NormalizedRecords, _ state: inout State) {
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
    let place = state.position?.next ?? RecordPosition(journal: .random(in: .min ... .max), number: 0)
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
    return true
  }

  // MARK: Removing

  private func remove(_ state: inout State) throws {
    (state.mustRemove, state.mustReplace) = (true, true)
    try storage.removeAll()
    (state.mustRemove, state.position) = (false, nil)
  }

  /// Removes what was written before the records were emptied.
  func removeAll() throws { try write() }

  /// Removes everything, and ends the journal, also one that was closed; after an error, another call tries again.
  func signOut() throws {
    try state.withLockUnchecked { state in
      try storage.signOut()
      end(&state)
    }
  }

  /// Ends the journal, and keeps what is written.
  func close() {
    flushNow()
    state.withLockUnchecked { end(&$0) }
  }

  private func end(_ state: inout State) {
    following.withLock { exchange(&$0, with: nil) }?.dispose()
    if exchange(&state.isOpen, with: false) { storage.close() }
  }
}

/// What the store of values, whose values are read from the records, has beside memory: whether they are hidden, and the end
/// of the account. Changes of the records are written by those who make them.
struct RecordJournalSource: SourceOfTruth {
  let journal: RecordJournal

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
