import HTTPClientCore
import Streams
import Synchronization
public import SystemBase

/// The file in which the records of an account survive: a journal of what has changed, which is rewritten as a whole when
/// it has become long. Each entry is a ``Record`` with a checksum and the number of the entry. The article
/// <doc:DiskFormat> describes it.
///
/// A process has the file's lock for as long as the journal is open. What cannot be written stays in memory; then, the
/// journal is rewritten as soon as something changes.
final class RecordJournal: Sendable {
  /// The file.
  static let name = "records"
  /// The file that says that the server has refused the account.
  private static let refusal = "refused"
  /// The file that says that everything is being removed.
  private static let removal = "removing"
  /// How many bytes may be added to a journal of any size before it is rewritten.
  private static let slack = 256 << 10
  /// How many bytes a journal may have.
  private static var limit: Int { RecordCache.responseLimit }

  private struct State {
    /// The file that is locked; `nil` once the journal is closed.
    var lock: Int32?
    /// The journal, to be added to; `nil` if it has to be rewritten: there is none, or its end is damaged.
    var file: Int32?
    /// Tells this file's entries from those of others.
    var id: UInt64 = 0
    /// The number of the next entry.
    var next: UInt64 = 0
    /// The bytes of the file, and those of its first entry.
    var size = 0
    var firstSize = 0
    /// Whether everything is to be removed before something is written.
    var mustRemove = false
    /// Whether the server has refused the account.
    var isRefused = false
    var isSignedOut = false
  }

  private let path: String
  private let prefix: [UInt8]
  private let fileSystem: any FileSystem
  private let onError: @Sendable (any Error) -> Void
  private let writesBehind: Bool
  private let records: Locked<NormalizedRecords>
  private let state = Locked(State())
  private let isLoaded = Atomic(false)
  /// Who waits for what has changed to be on disk; `nil` if nothing is being written.
  private let waiting = Locked<[@Sendable () -> Void]?>(nil)

  /// Opens the journal of a partition, and reads nothing of it.
  init(
    _ folder: URL, partition: String, of records: Locked<NormalizedRecords>, _ configuration: NormalizedConfiguration,
    fileSystem: some FileSystem
  ) throws {
    path = Partition.folder(of: partition, in: folder).path
    let name = Array(partition.utf8)
    prefix = withUnsafeBytes(of: UInt32(truncatingIfNeeded: name.count).littleEndian) { Array($0) } + name
    self.fileSystem = fileSystem
    self.records = records
    onError = configuration.onStorageError
    writesBehind = configuration.writing == .behind
    try fileSystem.makeFolders(path)
    let lock = try takeLock()
    do {
      try fileSystem.removeTemporaryFiles(in: path)
      let names = try fileSystem.names(in: path)
      try state.withLockUnchecked { state in
        if names.contains(Self.removal) { try remove(&state) }
        (state.lock, state.isRefused) = (lock, names.contains(Self.refusal))
      }
    } catch {
      try? fileSystem.close(lock)
      throw error
    }
  }

  private func takeLock() throws -> Int32 {
    let lock = try fileSystem.open("\(path)/lock", .lock)
    do {
      guard try fileSystem.tryLock(lock) else { throw NormalizedStorageError.alreadyOpen }
      return lock
    } catch {
      try? fileSystem.close(lock)
      throw error
    }
  }

  deinit { state.withLock { end(&$0) } }

  private func end(_ state: inout State) {
    for file in [state.file.take(), state.lock.take()] { if let file { try? fileSystem.close(file) } }
  }

  /// Whether the server has refused the account.
  var isRefused: Bool { state.withLock { $0.isRefused } }

  // MARK: Reading

  /// The records, with what was on disk.
  var loaded: Locked<NormalizedRecords> {
    if !isLoaded.load(ordering: .acquiring) { load() }
    return records
  }

  private func load() {
    let errors = state.withLockUnchecked { state -> [any Error] in
      if isLoaded.load(ordering: .acquiring) { return [] }
      defer { isLoaded.store(true, ordering: .releasing) }
      guard state.lock != nil else { return [] }
      do {
        guard let bytes = try fileSystem.contents(of: file, limit: Self.limit) else { return [] }
        return try load(bytes, &state)
      } catch {
        return [error]
      }
    }
    for error in errors { onError(error) }
  }

  private var file: String { "\(path)/\(Self.name)" }

  /// Takes the entries of a file, up to the first one that is damaged. What was being written when a process ended is the
  /// last one; if others follow, nothing is taken, since they may have removed what the ones before have brought.
  private func load(_ bytes: [UInt8], _ state: inout State) throws -> [any Error] {
    var (offset, entries, id) = (0, [Record](), UInt64(0))
    while let record = entry(in: bytes[offset...], UInt64(entries.count), &id) {
      entries.append(record.record)
      offset += record.length
    }
    let isAtEnd = offset == bytes.count
    let isCut = isAtEnd || !isEntry(in: bytes[offset...], id)
    let isRead =
      isCut && records.withLockUnchecked { $0.restore(entries.map(\.value)) }
    guard isRead, isAtEnd, let first = entries.first else {
      // The file is rewritten with the next change. If it is whole, its types had other keys.
      if isAtEnd { return [] }
      return [NormalizedStorageError.damaged(lostBytes: isRead ? bytes.count - offset : bytes.count)]
    }
    (state.id, state.next) = (id, UInt64(entries.count))
    (state.size, state.firstSize) = (bytes.count, first.bytes.count)
    state.file = try fileSystem.open(file, .append)
    return []
  }

  /// The entry of a number at the start of bytes, if it is there and undamaged.
  private func entry(
    in bytes: ArraySlice<UInt8>, _ number: UInt64, _ id: inout UInt64
  ) -> (record: Record, length: Int)? {
    guard let length = Record.length(atStartOf: bytes), let record = try? Record(Array(bytes.prefix(length))) else {
      return nil
    }
    let place = record.key.suffix(16)
    if number == 0, place.count == 16 {
      id = place.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    return record.key.elementsEqual(key(id, number)) ? (record, length) : nil
  }

  private func key(_ id: UInt64, _ number: UInt64) -> [UInt8] {
    var key = prefix
    key.append(fixed: id)
    key.append(fixed: number)
    return key
  }

  /// Whether an entry begins after the start of bytes: then what is damaged is not the last.
  private func isEntry(in bytes: ArraySlice<UInt8>, _ id: UInt64) -> Bool {
    let key = key(id, 0).dropLast(8)
    let first = bytes.startIndex + Record.headerLength
    guard let start = key.last, bytes.endIndex - first > key.count else { return false }
    return bytes.indices[(first + key.count)...].contains { end in
      bytes[end] == start && bytes[(end + 1 - key.count)...end].elementsEqual(key)
    }
  }

  // MARK: Writing

  /// Calls the completion when what has changed until now is on disk, or has failed to be, which is reported; at once if
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
    do { try write() } catch { onError(error) }
  }

  /// Writes what has changed until now.
  func write() throws {
    try state.withLockUnchecked { state in
      guard state.lock != nil else { return }
      let isLong = state.size - state.firstSize > max(state.firstSize, Self.slack)
      let rewrites = state.file == nil || isLong
      let changes = records.withLockUnchecked { $0.takeLog(all: rewrites) }
      do {
        if changes.isReset || state.mustRemove { try remove(&state) }
        if changes.bytes.isEmpty { return }
        if state.file == nil || isLong {
          try rewrite(changes.bytes, &state)
        } else {
          try append(changes.bytes, &state)
        }
      } catch {
        if let file = state.file.take() { try? fileSystem.close(file) }
        records.withLock { $0.keepLog() }
        // The next process must not find what the server has refused. A file can be removed also from a full device.
        if changes.isRemoval { try? remove(&state) }
        throw error
      }
    }
  }

  private func append(_ changes: [UInt8], _ state: inout State) throws {
    guard let file = state.file else { return }
    let entry = entry(changes, state.id, state.next)
    try fileSystem.writeAll(entry, to: file)
    try fileSystem.sync(file)
    state.next += 1
    state.size += entry.count
  }

  private func rewrite(_ changes: [UInt8], _ state: inout State) throws {
    let id = UInt64.random(in: .min ... .max)
    let entry = entry(changes, id, 0)
    guard entry.count <= Self.limit else { throw DiskCacheError.tooLarge(size: entry.count, limit: Self.limit) }
    if let file = state.file.take() { try? fileSystem.close(file) }
    try withFolder { try fileSystem.replace(Self.name, in: $0, at: path, with: entry) }
    (state.id, state.next, state.size, state.firstSize) = (id, 1, entry.count, entry.count)
    state.file = try fileSystem.open(file, .append)
  }

  private func entry(_ changes: [UInt8], _ id: UInt64, _ number: UInt64) -> [UInt8] {
    Record(key: key(id, number), value: changes, writtenAt: StoreTime(microseconds: 0), isInvalidated: false).bytes
  }

  private func withFolder(_ body: (Int32) throws -> Void) throws {
    let folder = try fileSystem.open(path, .folder)
    defer { try? fileSystem.close(folder) }
    try body(folder)
  }

  // MARK: Removing

  /// Removes the file; what is written later begins a new one. If that fails, and the process ends, the next one that opens
  /// the journal does it.
  private func remove(_ state: inout State) throws {
    state.mustRemove = true
    if let file = state.file.take() { try? fileSystem.close(file) }
    try withFolder { folder in
      // On a full device there may be no room for it, and the removal may succeed nevertheless.
      try? fileSystem.replace(Self.removal, in: folder, at: path, with: [])
      try fileSystem.removeIfThere(file)
      try fileSystem.sync(folder)
    }
    try fileSystem.removeIfThere("\(path)/\(Self.removal)")
    state.mustRemove = false
  }

  /// Removes what was written before the records were emptied.
  func removeAll() throws { try write() }

  /// Removes everything, and ends the journal, also one that was closed; after an error, another call tries again.
  func signOut() throws {
    try state.withLockUnchecked { state in
      if state.isSignedOut { return }
      if state.lock == nil { state.lock = try takeLock() }
      try remove(&state)
      try setRefused(false, &state)
      state.isSignedOut = true
      end(&state)
    }
  }

  /// Ends the journal, and keeps what is written.
  func close() {
    flushNow()
    state.withLockUnchecked { end(&$0) }
  }

  /// Keeps whether the server has refused the account.
  func setRefused(_ isRefused: Bool) throws {
    try state.withLockUnchecked { state in
      if state.lock != nil { try setRefused(isRefused, &state) }
    }
  }

  private func setRefused(_ isRefused: Bool, _ state: inout State) throws {
    try withFolder { folder in
      if isRefused {
        try fileSystem.replace(Self.refusal, in: folder, at: path, with: [])
      } else {
        try fileSystem.removeIfThere("\(path)/\(Self.refusal)")
        try fileSystem.sync(folder)
      }
    }
    state.isRefused = isRefused
  }
}

/// What the store of values, whose values are read from the records, has on disk: whether they are hidden, and the end
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

/// Why a normalised store cannot use its folder, or has lost something of it. Cases may be added.
@nonexhaustive
public enum NormalizedStorageError: Error, Hashable, Sendable {
  /// Another store of the folder and partition is open, in this process or another.
  case alreadyOpen

  /// The file was damaged: this many bytes at its end were not read, or all of it, if that was not all. They may be what
  /// was being written when a process ended, and was not reported as written.
  case damaged(lostBytes: Int)
}

extension NormalizedStorageError: CustomStringConvertible {
  /// One line for people.
  public var description: String {
    switch self {
    case .alreadyOpen:
      "A normalised store of this folder and partition is open, here or in another process: use that one, or close it."
    case .damaged(let count): "The file of a normalised store is damaged; \(count) bytes of it are lost."
    }
  }
}

extension NormalizedStorageError: LocalizedError {
  /// What `localizedDescription` gives: `description`.
  public var errorDescription: String? { description }
}
