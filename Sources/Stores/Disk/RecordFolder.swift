import Streams
import SystemBase

/// The files of one partition, and what this process knows of them.
///
/// Files are changed under the folder's file lock, which all processes respect. The index has a lock of its own, under
/// which no system call is made, so reads do not wait for writes, nor for other processes.
///
/// A sign-out begins a new generation of the partition, whose name is that of an empty file. Who has opened the folder
/// in an earlier generation changes nothing any more: it is noticed as soon as the folder's modification time has
/// changed.
final class RecordFolder: Sendable {
  /// Enough bytes for the header and all but the longest keys.
  private static let headLength = 512

  /// What a file of some length takes of the device: whole blocks, of the size that most file systems have, and one at
  /// least, so that the limit holds for very many small records, too.
  private static func space(_ length: Int) -> Int { max((length + 4095) & ~4095, 4096) }

  /// The file that says that the server has refused the account.
  private static let refusal = "refused"

  private struct Known {
    let name: RecordName
    /// The record's key, once `keys()` has read it.
    var key: [UInt8]?
  }

  private enum Membership {
    case unopened
    /// Of a generation; of the first one, which has no name, if `nil`.
    case of(Generation?)
    /// It has begun a sign-out, and could not finish it.
    case leaving(Generation?, to: Generation)
    /// The account was signed out, here or elsewhere.
    case ended
  }

  private struct State {
    /// Ordered by time of writing; costs are what the files take of the device.
    var index = LRUCache<RecordName, Known>(countLimit: .max, costLimit: .max)
    /// The folder's modification time when the index was built or last updated.
    var changedAt: Int64?
    /// Its modification time when `refresh()` was called, or since then this process was the last to change the folder.
    var seenAt: Int64?
    var membership = Membership.unopened
    var isRefused = false
    /// Whether there are records of another version, which another process's lock keeps from being removed.
    var isOfOtherVersion = false
  }

  private let path: String
  /// The path without symbolic links.
  let identity: String
  private let limit: Int
  private let fileSystem: any FileSystem
  private let state = Locked(State())

  init(_ path: String, limit: Int, fileSystem: any FileSystem) throws {
    self.path = path
    self.limit = limit
    self.fileSystem = fileSystem
    try fileSystem.makeFolders(path)
    identity = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    try changing { _, _ in try fileSystem.removeTemporaryFiles(in: path) }
  }

  var statistics: DiskStatistics {
    let statistics = state.withLock { $0.index.statistics }
    return DiskStatistics(count: statistics.count, bytes: statistics.cost)
  }

  /// The name of the generation that this object belongs to; `nil` in the first one, and after a sign-out.
  var generation: String? { state.withLock { if case .of(let own) = $0.membership { own?.name } else { nil } } }

  /// Whether the server had refused the account when this process last looked.
  var isRefused: Bool { state.withLock { $0.isRefused } }

  /// The keys of all records that can be read, also of those that other processes have written. Each file is read once,
  /// without the value, so a damaged value goes unnoticed. Does not wait for the lock.
  /// - Parameter onUnreadable: Called for each file that the system does not let be read.
  func keys(onUnreadable: (FileError) -> Void) throws -> [[UInt8]] {
    try names().compactMap { name in
      do {
        return try key(of: name)
      } catch let error as FileError where error.isOfOneFile {
        // Where there is a folder, or a link, there is no record.
        if !error.isOfAnotherThing { onUnreadable(error) }
        return nil
      }
    }
  }

  /// Whether another process has changed the folder since the last call. If so, reads find what it has written from now
  /// on. Does not wait for the lock.
  func refresh() throws -> Bool {
    let now = (try? fileSystem.status(at: path).changedAt) ?? 0
    guard state.withLock({ exchange(&$0.seenAt, with: now) }) != now else { return false }
    _ = try names()
    return true
  }

  /// The names of all records, after a look at what others have written: without the lock, so the next change builds
  /// the index from scratch.
  private func names() throws -> [RecordName] {
    let known = state.withLock { $0.changedAt }
    if known != nil, (try? fileSystem.status(at: path).changedAt) == known {
      return state.withLock { Array($0.index.keys) }
    }
    let files: [String]
    do { files = try fileSystem.names(in: path) } catch let error as FileError where error.isNotFound { return [] }
    let names = files.compactMap { RecordName($0) }
    let isMember = state.withLock { state in
      guard case .of(let own) = state.membership, Generation.continues(own, files) else { return false }
      for name in names where state.index.peek(name) == nil {
        _ = state.index.write(Known(name: name), for: name, cost: Self.space(0))
      }
      state.changedAt = nil
      return true
    }
    return isMember ? names : []
  }

  /// The key of a record; `nil` if there is none, or it is damaged.
  private func key(of name: RecordName) throws -> [UInt8]? {
    guard let known = state.withLock({ $0.index.peek(name) }) else { return nil }
    if let key = known.key { return key }
    guard let key = try readKey(name) else { return nil }
    state.withLock { $0.index.modify(name) { $0.key = key } }
    return key
  }

  private func readKey(_ name: RecordName) throws -> [UInt8]? {
    guard let head = try fileSystem.contents(of: file("\(name)"), first: Self.headLength) else { return nil }
    let key = try parsed { () throws(Record.Failure) in try Record.key(atStartOf: head) }
    if let key, RecordName(hashing: key) == name { return Array(key) }
    // The file is damaged, or its key is longer than most.
    return try read(name).map { Array($0.key) }
  }

  /// Whether there is a record, by whatever process it was written.
  func contains(_ name: RecordName) throws -> Bool {
    do {
      _ = try fileSystem.status(at: file("\(name)"))
      return true
    } catch let error as FileError where error.isNotFound {
      return false
    }
  }

  func read(_ name: RecordName) throws -> Record? {
    guard state.withLock({ $0.index.peek(name) != nil && !$0.isOfOtherVersion }),
      let bytes = try fileSystem.contents(of: file("\(name)"), limit: limit)
    else { return nil }
    return try parsed { () throws(Record.Failure) in try Record(bytes) }
  }

  /// The parsed record; `nil` if it is damaged. A record of another version empties the folder: its meaning, and that
  /// of the other records, is unknown. A read waits for no lock, so they only count as missing while another process
  /// has it.
  private func parsed<Result>(_ parse: () throws(Record.Failure) -> Result) throws -> Result? {
    do {
      return try parse()
    } catch {
      guard case .otherVersion = error else { return nil }
      state.withLock { $0.isOfOtherVersion = true }
      do { try removeAll(within: .zero) } catch let error as FileError where error.isLockTimeout {}
      return nil
    }
  }

  func write(_ bytes: [UInt8], as name: RecordName) throws {
    guard Self.space(bytes.count) <= limit else {
      // The old value is out of date.
      try remove(name)
      throw DiskCacheError.tooLarge(size: bytes.count, limit: limit)
    }
    try changing { folder, before in
      try replace(name, with: bytes, in: folder, after: before)
      while let oldest = state.withLock({ $0.index.statistics.cost > limit ? $0.index.oldestValue : nil }) {
        try remove(file: "\(oldest.name)")
        forget(oldest.name)
      }
    }
  }

  private func replace(_ name: RecordName, with bytes: [UInt8], in folder: Int32, after before: Int64) throws {
    do {
      try fileSystem.replace("\(name)", in: folder, at: path, with: bytes, after: before)
    } catch {
      // The new record may be in place if only the last step failed.
      if let size = try? fileSystem.status(at: file("\(name)")).size { note(name, size: size) }
      throw error
    }
    note(name, size: bytes.count)
  }

  /// Marks the record of a key as out of date, by whatever process it was written.
  func invalidate(_ name: RecordName, key: [UInt8]) throws {
    try changing { folder, before in
      guard let bytes = try fileSystem.contents(of: file("\(name)"), limit: limit), var record = try? Record(bytes),
        record.key.elementsEqual(key), !record.isInvalidated
      else { return }
      record.isInvalidated = true
      try replace(name, with: record.bytes, in: folder, after: before)
    }
  }

  func remove(_ name: RecordName) throws {
    try changing { folder, _ in
      try remove(file: "\(name)")
      forget(name)
      try fileSystem.sync(folder)
    }
  }

  /// Removes the records whose key meets a condition, also those that other processes have written, and those whose key
  /// cannot be read, since it may be one of these. All removals are tried before the first error is thrown.
  /// - Parameter isAffected: Called without a lock.
  func removeAll(where isAffected: ([UInt8]) -> Bool) throws {
    let affected = try names().filter { name in
      do {
        return try key(of: name).map(isAffected) ?? true
      } catch let error as FileError where error.isOfOneFile {
        return true
      }
    }
    if affected.isEmpty { return }
    try changing { folder, _ in
      let removals = affected.map { name in
        Result {
          try remove(file: "\(name)")
          forget(name)
        }
      }
      try fileSystem.sync(folder)
      for removal in removals { try removal.get() }
    }
  }

  func removeAll() throws { try removeAll(within: nil) }

  private func removeAll(within timeout: Duration?) throws {
    // The index is not needed here, and one file that fails while it is built would keep all others from being removed.
    try changing(within: timeout, needsIndex: false) { folder, _ in
      let removal = Result { try empty() }
      try fileSystem.sync(folder)
      try removal.get()
    }
  }

  /// Keeps, for the next process too, whether the server has refused the account.
  func setRefused(_ isRefused: Bool) throws {
    try changing { folder, _ in
      if isRefused {
        if state.withLock({ $0.isRefused }) { return }
        try fileSystem.replace(Self.refusal, in: folder, at: path, with: [])
        state.withLock { $0.isRefused = true }
      } else {
        state.withLock { $0.isRefused = false }
        try remove(file: Self.refusal)
        try fileSystem.sync(folder)
      }
    }
  }

  /// Removes everything, and begins a new generation: nobody who has opened the folder before changes it any more.
  /// After an error, another call finishes this, or who opens the folder next, also in another process if this one ends
  /// meanwhile.
  func signOut() throws {
    guard let (own, next) = beginSignOut() else { return }
    try withLock(within: nil) { folder, before in
      let files = try fileSystem.names(in: path)
      // Somebody else has signed the account out, or has finished this.
      if let current = Generation.current(files), current != own { return endSignOut(next) }
      defer { _ = fileSystem.touchLater(folder, after: before) }
      let marking = Result { try mark(next, folder) }
      let removal = Result { try empty(except: next.unfinishedName) }
      // There may be room now.
      if case .failure = marking { try mark(next, folder) }
      try fileSystem.sync(folder)
      try removal.get()
      try finish(next, folder)
      endSignOut(next)
    }
  }

  /// The generation that this object belongs to, and the next one; `nil` if it belongs to none any more.
  private func beginSignOut() -> (own: Generation?, next: Generation)? {
    let generations = state.withLock { state -> (Generation?, Generation)? in
      switch state.membership {
      case .ended: nil
      case .unopened: (nil, Generation())
      case .of(let own): (own, Generation())
      case .leaving(let own, let next): (own, next)
      }
    }
    guard let (own, next) = generations else { return nil }
    end(.leaving(own, to: next))
    unfinishedSignOuts.begin(.init(generation: own, next: next), of: identity)
    return (own, next)
  }

  private func endSignOut(_ next: Generation) {
    end(.ended)
    unfinishedSignOuts.end(next, of: identity)
  }

  private func mark(_ generation: Generation, _ folder: Int32) throws {
    try fileSystem.replace(generation.unfinishedName, in: folder, at: path, with: [])
  }

  private func end(_ membership: Membership) {
    state.withLockUnchecked { state in
      state = State()
      state.membership = membership
    }
  }

  private func finish(_ generation: Generation, _ folder: Int32) throws {
    try fileSystem.rename(file(generation.unfinishedName), to: file(generation.name))
    try fileSystem.sync(folder)
  }

  /// Runs a closure under the folder's lock, in the folder's own generation, with an index that is up to date, if it
  /// needs one, and the folder's modification time before. Creates the folder again if it was removed.
  private func changing(
    within timeout: Duration? = nil, needsIndex: Bool = true, _ body: (_ folder: Int32, _ before: Int64) throws -> Void
  ) throws {
    let isBegun = !unfinishedSignOuts.all(of: identity).isEmpty
    try withLock(within: timeout) { folder, before in
      let known = state.withLock { $0.changedAt }
      if known != before || isBegun { try catchUp(folder, needsIndex: needsIndex) }
      defer {
        let after = fileSystem.touchLater(folder, after: before)
        state.withLock { state in
          state.changedAt = needsIndex || known == before ? after : nil
          if state.seenAt == before { state.seenAt = after }
        }
      }
      if needsIndex, state.withLock({ $0.isOfOtherVersion }) { try empty() }
      try body(folder, before)
    }
  }

  private func withLock(
    within timeout: Duration?, _ body: (_ folder: Int32, _ before: Int64) throws -> Void
  ) throws {
    func locking() throws {
      try fileSystem.withExclusiveAccess(to: path, within: timeout) { folder in
        try body(folder, fileSystem.status(of: folder).changedAt)
      }
    }
    do {
      try locking()
    } catch let error as FileError where error.isNotFound {
      try fileSystem.makeFolders(path)
      try locking()
    }
  }

  /// Catches up with what others have changed, and finishes a sign-out whose process has ended. Throws
  /// ``StoreError/signedOut`` if there was a sign-out since this object has opened the folder.
  private func catchUp(_ folder: Int32, needsIndex: Bool) throws {
    var files = try fileSystem.names(in: path)
    let begun = unfinishedSignOuts.all(of: identity)
    let current = Generation.current(files)
    // If another one has followed, what is there now is of a later session.
    let own = begun.last { current == nil || $0.generation == current }?.next
    if let own, Generation.unfinished(files) == nil {
      // This process has not got the lock.
      try mark(own, folder)
      files.append(own.unfinishedName)
    }
    if let next = Generation.unfinished(files) {
      try empty(except: next.unfinishedName)
      try finish(next, folder)
      files = try fileSystem.names(in: path)
    }
    for signOut in begun { unfinishedSignOuts.end(signOut.next, of: identity) }
    let isMember = state.withLock { state in
      switch state.membership {
      case .unopened: break
      case .of(let own) where Generation.continues(own, files): break
      case .of, .leaving, .ended: return false
      }
      state.membership = .of(Generation.current(files))
      state.isRefused = files.contains(Self.refusal)
      return true
    }
    guard isMember else {
      end(.ended)
      throw StoreError.signedOut
    }
    if needsIndex { try buildIndex(files) }
  }

  /// Builds the index of the folder, oldest first; a record of another version empties the folder.
  private func buildIndex(_ files: [String]) throws {
    if files.contains(where: RecordName.isOtherVersion) { return try empty() }
    let before = state.withLock { $0.index }
    var found: [(known: Known, size: Int, changedAt: Int64)] = []
    for name in files.compactMap({ RecordName($0) }) {
      let status = try fileSystem.status(at: file("\(name)"))
      found.append((Known(name: name, key: before.peek(name)?.key), status.size, status.changedAt))
    }
    found.sort { $0.changedAt < $1.changedAt }
    var index = State().index
    for (known, size, _) in found { _ = index.write(known, for: known.name, cost: Self.space(size)) }
    state.withLockUnchecked { $0.index = index }
  }

  /// Removes all files but the lock, and those that name generations: of these, too, all but one if `except` is given.
  /// The refusal is removed last: as long as a record is left, it stays hidden.
  private func empty(except kept: String? = nil) throws {
    var failure: (any Error)?
    for name in try fileSystem.names(in: path) where !["lock", Self.refusal, kept].contains(name) {
      if kept == nil, Generation(name) != nil || Generation(unfinishedName: name) != nil { continue }
      do {
        try remove(file: name)
        if let name = RecordName(name) { forget(name) }
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    try remove(file: Self.refusal)
    state.withLock { state in
      state.index = State().index
      (state.isRefused, state.isOfOtherVersion) = (false, false)
    }
  }

  private func note(_ name: RecordName, size: Int) {
    state.withLock { state in
      let known = Known(name: name, key: state.index.peek(name)?.key)
      _ = state.index.write(known, for: name, cost: Self.space(size))
    }
  }

  private func forget(_ name: RecordName) {
    state.withLock { _ = $0.index.remove(name) }
  }

  private func remove(file name: String) throws {
    try fileSystem.removeIfThere(file(name), sparingFolders: true)
  }

  private func file(_ name: String) -> String { "\(path)/\(name)" }
}

/// Those of records' folders.
private let unfinishedSignOuts = UnfinishedSignOuts<Generation>()

/// The time from one sign-out to the next, in all processes: an empty file has its name.
private struct Generation: Equatable {
  private static let prefix = "generation-"
  private static let unfinished = ".unfinished"

  private let number: UInt64

  /// A new one.
  init() { number = .random(in: .min ... .max) }

  /// Parses the name of a file; `nil` if it is not that of a generation.
  init?(_ name: String) {
    guard name.hasPrefix(Self.prefix), let number = UInt64(name.dropFirst(Self.prefix.count), radix: 16) else {
      return nil
    }
    self.number = number
  }

  /// Parses the name of a generation whose sign-out was begun, and has not removed everything yet.
  init?(unfinishedName name: String) {
    guard name.hasSuffix(Self.unfinished) else { return nil }
    self.init(String(name.dropLast(Self.unfinished.count)))
  }

  var name: String { Self.prefix + String(number, radix: 16) }

  var unfinishedName: String { name + Self.unfinished }

  /// The generation of a folder with these files; `nil` if it is the first.
  static func current(_ files: [String]) -> Generation? { files.lazy.compactMap { Generation($0) }.first }

  /// The generation that an unfinished sign-out has begun.
  static func unfinished(_ files: [String]) -> Generation? {
    files.lazy.compactMap { Generation(unfinishedName: $0) }.first
  }

  /// Whether a folder with these files is still in the generation `own`. One without a generation's name is in the
  /// first, or was removed and made again meanwhile.
  static func continues(_ own: Generation?, _ files: [String]) -> Bool {
    unfinished(files) == nil && (current(files) == nil || current(files) == own)
  }
}
