import Streams
import SystemBase

/// The files of one partition's outbox: a ``Record`` for each entry, whose key is the partition, and whose value is the
/// entry as JSON.
///
/// Files are changed under the lock of the file `lock`; a process that sends holds that of the file `sending`
/// meanwhile. The system releases both when a process ends, however it does.
///
/// Each change makes the folder's modification time greater than it was before. So a listing of the folder is valid for
/// as long as that time is the same, and no change has to list the folder that this process was the last to change.
final class OutboxFolder<Mutation: Codable & Sendable>: Sendable {
  typealias Entry = OutboxEntry<Mutation>

  /// How much an entry's file may grow when it is changed later, in bytes.
  private static var growthLimit: Int { 64 << 10 }

  /// How long a discarded entry is remembered, for a submitter that waits for it in another process.
  private static var memory: Duration { .seconds(3_600) }

  private struct State {
    /// The names of all entries, oldest first, as of a modification time of the folder; `nil` if they have to be
    /// listed.
    var listing: (names: [OutboxFileName], changedAt: Int64)?
    /// Counts the listings: the names differ from those of an earlier one by changes of this process alone while it
    /// stays the same.
    var listingNumber: UInt64 = 0
    /// Which sign-out was the last one when this was opened.
    var generation: [UInt8]?
    var isSignedOut = false
    /// The generation that a sign-out by this process begins, once there is one.
    var next: [UInt8]?
    /// The last time that the lock was waited for in vain.
    var lockFailure: (error: FileError, at: ContinuousClock.Instant)?
    /// When discarded entries were last forgotten.
    var forgotAt = Duration.zero

    mutating func forgetListing() {
      listing = nil
      listingNumber += 1
    }
  }

  let path: String
  /// The path without symbolic links.
  let identity: String
  private let partition: [UInt8]
  private let fileSystem: any FileSystem
  private let entryLimit: Int
  private let state = Locked(State())

  /// Opens the folder, and finishes a sign-out that was begun before, and not finished.
  /// - Parameters:
  ///   - entryLimit: The greatest size of a new entry's file, in bytes.
  ///   - uptime: The time by a clock that only goes forward.
  init(
    _ folder: URL, partition: String, fileSystem: any FileSystem, entryLimit: Int = 16 << 20,
    uptime: Duration = ConcurrentScheduler().now
  ) throws {
    self.partition = Array(partition.utf8)
    path = Partition.folder(of: partition, in: folder).path
    self.fileSystem = fileSystem
    self.entryLimit = entryLimit
    try fileSystem.makeFolders(path)
    identity = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    try locked(evenSignedOut: true) { folder, changedAt in
      defer { stamp(folder, after: changedAt) }
      try fileSystem.removeTemporaryFiles(in: path)
      let begun = unfinishedSignOuts.all(of: identity)
      // If another one has followed, what is there now is of a later session.
      let own = try begun.last { try !isPast($0.generation) }?.next
      if let next = try own ?? unfinishedGeneration() { try finishSignOut(next, folder) }
      for signOut in begun { unfinishedSignOuts.end(signOut.next, of: identity) }
      try forgetDiscarded(uptime)
      let generation = try generation()
      state.withLock { $0.generation = generation }
      _ = try listedNames()
    }
  }

  /// Adds an entry behind all others; it is on the device when this returns.
  /// - Parameter requestedAt: Since when the caller has waited: if the lock was waited for in vain since, this fails at
  ///   once.
  /// - Throws: ``OutboxError/tooLarge(size:limit:)``, or ``FileError``.
  func append(
    _ mutation: Mutation, id: String, now: StoreTime, requestedAt: ContinuousClock.Instant = .now
  ) throws -> Entry {
    if let failure = state.withLock({ $0.lockFailure }), failure.at > requestedAt { throw failure.error }
    do {
      return try add(mutation, id: id, now: now)
    } catch let error as FileError where error.isNotFound {
      // Somebody has removed the folder.
      try checkSignOut()
      try fileSystem.makeFolders(path)
      return try add(mutation, id: id, now: now)
    }
  }

  private func add(_ mutation: Mutation, id: String, now: StoreTime) throws -> Entry {
    try changing { folder in
      let last = try listedNames().last?.addedAt ?? StoreTime(microseconds: 0)
      let entry = Entry(id: id, mutation: mutation, addedAt: max(now, last + .microseconds(1)))
      let bytes = try bytes(of: entry)
      guard bytes.count <= entryLimit else { throw OutboxError.tooLarge(size: bytes.count, limit: entryLimit) }
      try fileSystem.place("\(entry.name)", in: path, with: bytes)
      state.withLock { $0.listing?.names.append(entry.name) }
      do {
        try fileSystem.sync(folder)
      } catch {
        // What is reported as not kept must not be sent. The sender reads it under the lock that is held here, and
        // so after its removal. What can neither be synced nor removed will be sent, so it must not be reported.
        guard (try? remove(entry: entry.name)) != nil else { return entry }
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
      try remove(entry: name)
      try fileSystem.sync(folder)
    }
  }

  /// Removes an entry, and records the removal, if there is room, for a submitter that waits for it, maybe in another
  /// process.
  func discard(_ name: OutboxFileName, uptime: Duration = ConcurrentScheduler().now) throws {
    try changing { folder in
      if uptime - state.withLock({ $0.forgotAt }) >= Self.memory { try? forgetDiscarded(uptime) }
      let mark = { [fileSystem, path] in
        try fileSystem.replace(name.discarded, in: folder, at: path, with: Array("\(Uptime(uptime).microseconds)".utf8))
      }
      let isMarked = (try? mark()) != nil
      try remove(entry: name)
      // A full device may have room now.
      if !isMarked { try? mark() }
      try fileSystem.sync(folder)
    }
  }

  /// Keeps a pause for other processes, if there is room; returns whether it did.
  func keep(_ pause: OutboxPause.Kept) -> Bool {
    let result = Result {
      try changing { folder in
        try fileSystem.replace("pause", in: folder, at: path, with: Array(try JSONEncoder.sorted.encode(pause)))
      }
    }
    return if case .success = result { true } else { false }
  }

  /// The pause that a process has begun last; `nil` if an attempt has succeeded since, or it cannot be read.
  func pause() -> OutboxPause.Kept? {
    guard let bytes = try? fileSystem.contents(of: "\(path)/pause", limit: 64 << 10) else { return nil }
    return try? JSONDecoder().decode(OutboxPause.Kept.self, from: Data(bytes))
  }

  /// Ends the pause for all processes.
  func endPause() {
    guard (try? fileSystem.status(at: "\(path)/pause")) != nil else { return }
    try? changing { _ in try remove(file: "pause") }
  }

  /// Whether an entry that is no longer there was discarded.
  func wasDiscarded(_ name: OutboxFileName) throws -> Bool {
    // If the folder is gone, nobody knows.
    _ = try fileSystem.status(at: path)
    return try isThere(name.discarded)
  }

  /// Removes all entries, also those of other versions, and accepts no more, here or in another process that has opened
  /// the folder before. All removals are tried before the first error is thrown; then another call finishes this, or who
  /// opens the folder next, also in another process if this one ends meanwhile.
  func signOut() throws {
    let (own, next) = state.withLock { state in
      let next = state.next ?? Array(UUID().uuidString.utf8)
      (state.isSignedOut, state.next) = (true, next)
      state.forgetListing()
      return (state.generation, next)
    }
    unfinishedSignOuts.begin(.init(generation: own, next: next), of: identity)
    do {
      try locked(evenSignedOut: true) { folder, changedAt in
        defer { stamp(folder, after: changedAt) }
        // Who has opened the folder since may have finished it, or signed out: then the entries that are there are of a
        // later session.
        if (try? isPast(own)) == true { return try fileSystem.sync(folder) }
        try finishSignOut(next, folder)
      }
    } catch let error as FileError where error.isNotFound {
      // Somebody has removed the folder, with everything in it.
    }
    unfinishedSignOuts.end(next, of: identity)
  }

  /// Whether a sign-out has ended a generation. If somebody has removed the folder, none is known.
  private func isPast(_ own: [UInt8]?) throws -> Bool {
    guard let current = try generation() else { return false }
    return current != own
  }

  /// Removes everything, then begins a generation.
  private func finishSignOut(_ next: [UInt8], _ folder: Int32) throws {
    let mark = { [path, fileSystem] in
      try fileSystem.replace(Self.unfinishedFile, in: folder, at: path, with: next)
    }
    // First, so that no process finds an entry gone without knowing why, or takes what is left for what is to be sent.
    // There may be no room for it yet.
    let isMarked = (try? mark()) != nil
    let spared = ["lock", "sending", Self.generationFile, Self.unfinishedFile]
    let names = try fileSystem.names(in: path).filter { !spared.contains($0) }
    var steps = names.map { name in
      Result { try fileSystem.removeIfThere("\(path)/\(name)", sparingFolders: true) }
    }
    if !isMarked, (try? unfinishedGeneration()) != next { steps.append(Result { try mark() }) }
    for step in steps + [Result { try fileSystem.sync(folder) }] { try step.get() }
    try fileSystem.rename("\(path)/\(Self.unfinishedFile)", to: "\(path)/\(Self.generationFile)")
    try fileSystem.sync(folder)
  }

  /// Throws ``OutboxError/signedOut`` if the account was signed out, here or in another process, even if that is not
  /// finished.
  func checkSignOut() throws {
    let (isSignedOut, known) = state.withLock { ($0.isSignedOut, $0.generation) }
    if isSignedOut { throw OutboxError.signedOut }
    // The unfinished one first, which becomes the other. If somebody has removed the folder, there is none.
    guard let found = try unfinishedGeneration() ?? generation(), found != known else { return }
    state.withLock { $0.isSignedOut = true }
    throw OutboxError.signedOut
  }

  /// Whether the account was signed out, as far as can be read.
  var isSignedOut: Bool {
    do {
      try checkSignOut()
    } catch OutboxError.signedOut {
      return true
    } catch {}
    return false
  }

  /// The file with the name of the last sign-out.
  private static var generationFile: String { "generation" }

  /// The file with that of one that has not removed everything yet, and then gets the other's name.
  private static var unfinishedFile: String { "signing-out" }

  private func generation() throws -> [UInt8]? {
    try fileSystem.contents(of: "\(path)/\(Self.generationFile)", limit: 64)
  }

  private func unfinishedGeneration() throws -> [UInt8]? {
    try fileSystem.contents(of: "\(path)/\(Self.unfinishedFile)", limit: 64)
  }

  /// The names of all entries, oldest first.
  func names() throws -> [OutboxFileName] { try listing().names }

  /// The names of all entries, oldest first, and the listing that they are from; `nil` if that cannot be relied on
  /// later, since another process may be changing the folder.
  func listing() throws -> (names: [OutboxFileName], number: UInt64?) {
    let (known, number) = state.withLock { ($0.listing, $0.listingNumber) }
    if let known, try fileSystem.status(at: path).changedAt == known.changedAt { return (known.names, number) }
    return (try list(), nil)
  }

  /// Whether only this process has changed the folder since a listing.
  func isUnchanged(since number: UInt64?) throws -> Bool {
    guard let number else { return false }
    let (changedAt, current) = state.withLock { ($0.listing?.changedAt, $0.listingNumber) }
    return try number == current && changedAt != nil && fileSystem.status(at: path).changedAt == changedAt
  }

  private func list() throws -> [OutboxFileName] {
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
    guard let bytes else { return try isThere("\(name)") ? unreadable : nil }
    guard let record = try? Record(bytes) else { return unreadable }
    guard record.key.elementsEqual(partition) else { return nil }
    guard var entry = try? JSONDecoder().decode(Entry.self, from: Data(record.value)), entry.name == name else {
      return unreadable
    }
    // One more has to fit.
    entry.attempts = min(max(entry.attempts, 0), .max - 1)
    return .entry(entry)
  }

  /// The content of a file, read under the lock, so that it is not the content of an entry whose adding may still fail.
  func settledContent(_ name: OutboxFileName) throws -> OutboxContent<Mutation>? {
    try locked { _, _ in try content(name) }
  }

  /// The content of a file for a list: one that cannot be opened or read counts as unreadable, so the others can still
  /// be listed.
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

  private func isThere(_ name: String) throws -> Bool {
    do {
      _ = try fileSystem.status(at: "\(path)/\(name)")
      return true
    } catch let error as FileError where error.isNotFound {
      return false
    }
  }

  /// Forgets the entries that were discarded more than an hour ago, or in an earlier version of this format.
  private func forgetDiscarded(_ uptime: Duration) throws {
    for name in try fileSystem.names(in: path) where OutboxFileName(discarded: name) != nil {
      let content = try? fileSystem.contents(of: "\(path)/\(name)", limit: 20)
      let discardedAt = content.flatMap { Int64(String(decoding: $0, as: UTF8.self)) }.map { Uptime(microseconds: $0) }
      if let discardedAt, discardedAt.elapsed(at: uptime) < Self.memory { continue }
      try remove(file: name)
    }
    state.withLock { $0.forgotAt = uptime }
  }

  private func bytes(of entry: Entry) throws -> [UInt8] {
    let value = Array(try JSONEncoder.sorted.encode(entry))
    return Record(key: partition, value: value, writtenAt: entry.addedAt, isInvalidated: false).bytes
  }

  private func remove(entry name: OutboxFileName) throws {
    try remove(file: "\(name)")
    state.withLock { $0.listing?.names.removeSorted(name) }
  }

  private func remove(file name: String) throws {
    try fileSystem.removeIfThere("\(path)/\(name)")
  }

  /// The names of all entries, oldest first; to be called by a change.
  private func listedNames() throws -> [OutboxFileName] {
    if let names = state.withLock({ $0.listing?.names }) { return names }
    let names = try list()
    // The change's stamp will be its time.
    state.withLock { $0.listing = (names, .min) }
    return names
  }

  /// Changes files under the lock. A listing stays valid if the change has recorded what it has done to the entries,
  /// and has not failed in between.
  private func changing<Result>(_ body: (_ folder: Int32) throws -> Result) throws -> Result {
    try locked { folder, changedAt in
      defer { stamp(folder, after: changedAt) }
      do {
        return try body(folder)
      } catch {
        state.withLock { $0.forgetListing() }
        throw error
      }
    }
  }

  /// Makes the folder's modification time greater than it was before the change, so that every process can see that
  /// there was one, even if changes come faster than the file system's clock ticks.
  private func stamp(_ folder: Int32, after changedAt: Int64) {
    let stamp = fileSystem.touchLater(folder, after: changedAt)
    state.withLock { state in if let stamp { state.listing?.changedAt = stamp } else { state.forgetListing() } }
  }

  /// Runs a closure under the lock, with the folder and its modification time.
  private func locked<Result>(
    evenSignedOut: Bool = false, _ body: (_ folder: Int32, _ changedAt: Int64) throws -> Result
  ) throws -> Result {
    do {
      return try fileSystem.withExclusiveAccess(to: path) { folder in
        let changedAt = try fileSystem.status(of: folder).changedAt
        if evenSignedOut { return try body(folder, changedAt) }
        let isUnchanged = state.withLock { state in
          if state.listing?.changedAt == changedAt { return !state.isSignedOut }
          state.forgetListing()
          return false
        }
        if !isUnchanged { try checkSignOut() }
        return try body(folder, changedAt)
      }
    } catch let error as FileError where error.isLockTimeout {
      state.withLock { $0.lockFailure = (error, .now) }
      throw error
    }
  }
}

/// Those of outboxes' folders.
private let unfinishedSignOuts = UnfinishedSignOuts<[UInt8]>()

/// The entries that an outbox knows of, and which of them wait.
struct OutboxIndex<Mutation: Codable & Sendable> {
  private var entries: [OutboxFileName: OutboxEntry<Mutation>] = [:]
  /// Oldest first.
  private(set) var waiting: [OutboxFileName] = []

  var waitingCount: Int { waiting.count }

  var names: some Collection<OutboxFileName> { entries.keys }

  subscript(_ name: OutboxFileName) -> OutboxEntry<Mutation>? { entries[name] }

  /// Replaces or removes an entry; returns the old one.
  mutating func replace(_ name: OutboxFileName, with entry: OutboxEntry<Mutation>?) -> OutboxEntry<Mutation>? {
    let old = exchange(&entries[name], with: entry)
    switch (old?.isWaiting == true, entry?.isWaiting == true) {
    case (false, true): waiting.insertSorted(name)
    case (true, false): waiting.removeSorted(name)
    default: break
    }
    return old
  }
}

/// Names in order. What is added last, or removed first, is found at once.
extension [OutboxFileName] {
  /// The place of the first name that is not before another.
  func place(of name: OutboxFileName) -> Int {
    if let last, last < name { return count }
    if let first, !(first < name) { return 0 }
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < name { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The first name behind another; of all, if that is `nil`.
  func first(after name: OutboxFileName?) -> OutboxFileName? {
    guard let name else { return first }
    let place = place(of: name)
    let next = place < count && self[place] == name ? place + 1 : place
    return next < count ? self[next] : nil
  }

  mutating func insertSorted(_ name: OutboxFileName) { insert(name, at: place(of: name)) }

  mutating func removeSorted(_ name: OutboxFileName) {
    let place = place(of: name)
    if place < count, self[place] == name { remove(at: place) }
  }
}
