import Platform
import Streams

/// The files of one partition's outbox: a ``Record`` for each entry, whose key is the partition, and whose value is the
/// entry as JSON.
///
/// Files are changed under the lock of the file `lock`; a process that sends holds that of the file `sending`
/// meanwhile. The system releases both when a process ends, however it does.
final class OutboxFolder<Mutation: Codable & Sendable>: Sendable {
  typealias Entry = OutboxEntry<Mutation>

  /// How much an entry's file may grow when it is changed later, in bytes.
  private static var growthLimit: Int { 64 << 10 }

  /// How long after its `addedAt` a discarded entry is remembered: those that wait for one have added it shortly
  /// before.
  private static var memory: Duration { .seconds(3_600) }

  let path: String
  private let partition: [UInt8]
  private let fileSystem: any FileSystem
  private let entryLimit: Int
  private let isSignedOut = Locked(false)
  /// The last time that the lock was waited for in vain.
  private let lockFailure = Locked<(error: FileError, at: ContinuousClock.Instant)?>(nil)

  /// - Parameter entryLimit: The greatest size of a new entry's file, in bytes.
  init(
    _ folder: URL, partition: String, fileSystem: any FileSystem, entryLimit: Int = 16 << 20, now: StoreTime = .now()
  ) throws {
    self.partition = Array(partition.utf8)
    path = Partition.folder(of: partition, in: folder).path
    self.fileSystem = fileSystem
    self.entryLimit = entryLimit
    try fileSystem.makeFolders(path)
    try changing { _ in
      try fileSystem.removeTemporaryFiles(in: path)
      try forgetDiscarded(now)
    }
  }

  /// Adds an entry behind all others; it is on the device when this returns.
  /// - Parameter requestedAt: Since when the caller has waited: if the lock was waited for in vain since, this fails at
  ///   once.
  /// - Throws: ``OutboxError/tooLarge(size:limit:)``, or ``FileError``.
  func append(
    _ mutation: Mutation, id: String, now: StoreTime, requestedAt: ContinuousClock.Instant = .now
  ) throws -> Entry {
    if let failure = lockFailure.withLock({ $0 }), failure.at > requestedAt { throw failure.error }
    do {
      return try add(mutation, id: id, now: now)
    } catch let error as FileError where error.isNotFound {
      // Somebody has removed the folder.
      if isSignedOut.withLock({ $0 }) { throw OutboxError.signedOut }
      try fileSystem.makeFolders(path)
      return try add(mutation, id: id, now: now)
    }
  }

  private func add(_ mutation: Mutation, id: String, now: StoreTime) throws -> Entry {
    try changing { folder in
      let last = try names().last?.addedAt ?? StoreTime(microseconds: 0)
      let entry = Entry(id: id, mutation: mutation, addedAt: max(now, last + .microseconds(1)))
      let bytes = try bytes(of: entry)
      guard bytes.count <= entryLimit else { throw OutboxError.tooLarge(size: bytes.count, limit: entryLimit) }
      try fileSystem.place("\(entry.name)", in: path, with: bytes)
      do {
        try fileSystem.sync(folder)
      } catch {
        // What is reported as not kept must not be sent. Whoever sends reads it under the lock that is held here, and
        // so after its removal. What can neither be synced nor removed will be sent, so it must not be reported.
        guard (try? remove(file: "\(entry.name)")) != nil else { return entry }
        try? fileSystem.sync(folder)
        throw error
      }
      return entry
    }
  }

  /// Changes an entry, unless the closure returns `false`; returns it as it is now. `nil` if it was not changed, is
  /// gone, or cannot be read.
  @discardableResult
  func update(_ name: OutboxFileName, _ change: (inout Entry) -> Bool) throws -> Entry? {
    try changing { folder in
      guard case .entry(var entry)? = try content(name), change(&entry) else { return nil }
      try fileSystem.replace("\(name)", in: folder, at: path, with: bytes(of: entry))
      return entry
    }
  }

  /// Removes an entry, also from the device when this returns.
  func remove(_ name: OutboxFileName) throws {
    try changing { folder in
      try remove(file: "\(name)")
      try fileSystem.sync(folder)
    }
  }

  /// Removes an entry, and records the removal, if there is room, for a submitter that waits for it, maybe in another
  /// process.
  func discard(_ name: OutboxFileName, now: StoreTime) throws {
    try changing { folder in
      try? forgetDiscarded(now)
      if isRecent(name, now) { try? fileSystem.replace(name.discarded, in: folder, at: path, with: []) }
      try remove(file: "\(name)")
      try fileSystem.sync(folder)
    }
  }

  /// Keeps a pause for other processes, if there is room: without it they only make more attempts.
  func keep(_ pause: OutboxPause.Kept) {
    try? changing { folder in
      try fileSystem.replace("pause", in: folder, at: path, with: Array(try JSONEncoder.sorted.encode(pause)))
    }
  }

  /// The pause that a process has begun last; `nil` if an attempt has succeeded since, or it cannot be read.
  func pause() -> OutboxPause.Kept? {
    guard let bytes = try? fileSystem.contents(of: "\(path)/pause", limit: 64 << 10) else { return nil }
    return try? JSONDecoder().decode(OutboxPause.Kept.self, from: Data(bytes))
  }

  /// Ends the pause for all processes.
  func endPause() {
    guard (try? fileSystem.status(at: "\(path)/pause")) != nil else { return }
    try? remove(file: "pause")
  }

  /// Whether an entry that is no longer there was discarded.
  func wasDiscarded(_ name: OutboxFileName) throws -> Bool {
    try fileSystem.names(in: path).contains(name.discarded)
  }

  /// Removes all entries, also those of other versions, and accepts no more. All removals are tried before the first
  /// error is thrown.
  func signOut() throws {
    isSignedOut.withLock { $0 = true }
    do {
      try fileSystem.withExclusiveAccess(to: path) { folder in
        let names = try fileSystem.names(in: path).filter { $0 != "lock" && $0 != "sending" }
        let removals = names.map { name in Result { try remove(file: name) } }
        for step in removals + [Result { try fileSystem.sync(folder) }] { try step.get() }
      }
    } catch let error as FileError where error.isNotFound {
      // Somebody has removed the folder, with everything in it.
    }
  }

  /// The names of all entries, oldest first.
  func names() throws -> [OutboxFileName] {
    try fileSystem.names(in: path).compactMap { OutboxFileName($0) }.sorted()
  }

  /// The content of a file; `nil` if it is gone, or belongs to another partition.
  func content(_ name: OutboxFileName) throws -> OutboxContent<Mutation>? {
    let limit = entryLimit + Self.growthLimit
    let unreadable = OutboxContent<Mutation>.unreadable(UnreadableOutboxEntry(name))
    let bytes: [UInt8]?
    do {
      bytes = try fileSystem.contents(of: "\(path)/\(name)", limit: limit)
    } catch let error as FileError where error.isOfAnotherThing {
      return unreadable
    }
    // A file that is too large was written by no outbox.
    guard let bytes else { return try isThere(name) ? unreadable : nil }
    guard let record = try? Record(bytes) else { return unreadable }
    guard record.key.elementsEqual(partition) else { return nil }
    guard var entry = try? JSONDecoder().decode(Entry.self, from: Data(record.value)), entry.name == name else {
      return unreadable
    }
    // One more has to fit.
    entry.attempts = min(max(entry.attempts, 0), .max - 1)
    return .entry(entry)
  }

  /// The same under the lock, so that it is not the content of an entry whose adding may still fail.
  func settledContent(_ name: OutboxFileName) throws -> OutboxContent<Mutation>? {
    try changing { _ in try content(name) }
  }

  /// The same for a list: a file that cannot be opened or read counts as unreadable, so the others can still be listed.
  func listedContent(_ name: OutboxFileName) throws -> OutboxContent<Mutation>? {
    do {
      return try content(name)
    } catch let error as FileError where error.isOfOneFile {
      return .unreadable(UnreadableOutboxEntry(name))
    }
  }

  /// An entry; `nil` if it is gone, or cannot be read.
  func read(_ name: OutboxFileName) throws -> Entry? {
    if case .entry(let entry) = try listedContent(name) { entry } else { nil }
  }

  /// Takes the lock for sending; `nil` if another process, or another outbox in this one, has it. Call the result to
  /// release it.
  func trySend() throws -> (@Sendable () -> Void)? {
    let lock = try fileSystem.open("\(path)/sending", .lock)
    let close: @Sendable () -> Void = { [fileSystem] in try? fileSystem.close(lock) }
    do {
      if try fileSystem.tryLock(lock) { return close }
    } catch {
      close()
      throw error
    }
    close()
    return nil
  }

  private func isThere(_ name: OutboxFileName) throws -> Bool {
    do {
      _ = try fileSystem.status(at: "\(path)/\(name)")
      return true
    } catch let error as FileError where error.isNotFound {
      return false
    }
  }

  private func forgetDiscarded(_ now: StoreTime) throws {
    for name in try fileSystem.names(in: path) {
      if let entry = OutboxFileName(discarded: name), !isRecent(entry, now) { try remove(file: name) }
    }
  }

  private func isRecent(_ name: OutboxFileName, _ now: StoreTime) -> Bool { now - name.addedAt < Self.memory }

  private func bytes(of entry: Entry) throws -> [UInt8] {
    let value = Array(try JSONEncoder.sorted.encode(entry))
    return Record(key: partition, value: value, writtenAt: entry.addedAt, isInvalidated: false).bytes
  }

  private func remove(file name: String) throws {
    try fileSystem.removeIfThere("\(path)/\(name)")
  }

  private func changing<Result>(_ body: (_ folder: Int32) throws -> Result) throws -> Result {
    do {
      return try fileSystem.withExclusiveAccess(to: path) { folder in
        if isSignedOut.withLock({ $0 }) { throw OutboxError.signedOut }
        return try body(folder)
      }
    } catch let error as FileError where error.isLockTimeout {
      lockFailure.withLock { $0 = (error, .now) }
      throw error
    }
  }
}

/// The entries that an outbox knows of, and the number that wait.
struct OutboxIndex<Mutation: Codable & Sendable> {
  private var entries: [OutboxFileName: OutboxEntry<Mutation>] = [:]
  private(set) var waitingCount = 0

  var names: some Collection<OutboxFileName> { entries.keys }

  subscript(_ name: OutboxFileName) -> OutboxEntry<Mutation>? { entries[name] }

  /// Replaces or removes an entry; returns the old one.
  mutating func replace(_ name: OutboxFileName, with entry: OutboxEntry<Mutation>?) -> OutboxEntry<Mutation>? {
    let old = entries[name]
    entries[name] = entry
    waitingCount += (entry?.isWaiting == true ? 1 : 0) - (old?.isWaiting == true ? 1 : 0)
    return old
  }
}
