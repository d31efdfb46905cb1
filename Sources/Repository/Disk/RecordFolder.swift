import Platform
import Streams

/// The files of one partition, and what this process knows of them.
///
/// Files are changed under the folder's file lock, which all processes respect. The index has a lock of its own, under
/// which no system call is made, so reads do not wait for writes.
final class RecordFolder: Sendable {
  /// Enough bytes for the header and all but the longest keys.
  private static let headLength = 512

  /// What a file of some length takes of the device: whole blocks, of the size that most file systems have, and one at
  /// least, so that the limit holds for very many small records, too.
  private static func space(_ length: Int) -> Int { max((length + 4095) & ~4095, 4096) }

  private struct Known {
    let name: RecordName
    /// The record's key, once `keys()` has read it.
    var key: [UInt8]?
  }

  private struct State {
    /// Ordered by time of writing; costs are what the files take of the device.
    var index = LRUCache<RecordName, Known>(countLimit: .max, costLimit: .max)
    /// The folder's modification time when the index was built or last updated.
    var changedAt: Int64?
  }

  private let path: String
  private let limit: Int
  private let fileSystem: any FileSystem
  private let state = Locked(State())

  init(_ path: String, limit: Int, fileSystem: any FileSystem) throws {
    self.path = path
    self.limit = limit
    self.fileSystem = fileSystem
    try changing { _, _ in try fileSystem.removeTemporaryFiles(in: path) }
  }

  var statistics: DiskStatistics {
    let statistics = state.withLock { $0.index.statistics }
    return DiskStatistics(count: statistics.count, bytes: statistics.cost)
  }

  /// The keys of all records that can be read; throws if none can. Each file is read once, without the value, so a
  /// damaged value goes unnoticed.
  func keys() throws -> [[UInt8]] {
    let names = state.withLock { Array($0.index.keys) }
    var failure: FileError?
    let keys = try names.compactMap { name -> [UInt8]? in
      guard let known = state.withLock({ $0.index.peek(name) }) else { return nil }
      if let key = known.key { return key }
      do {
        guard let key = try readKey(name) else { return nil }
        state.withLock { $0.index.modify(name) { $0.key = key } }
        return key
      } catch let error as FileError where error.isOfOneFile {
        failure = failure ?? error
        return nil
      }
    }
    if let failure, keys.isEmpty { throw failure }
    return keys
  }

  private func readKey(_ name: RecordName) throws -> [UInt8]? {
    guard let head = try fileSystem.contents(of: file("\(name)"), first: Self.headLength) else { return nil }
    let key = try parsed { () throws(Record.Failure) in try Record.key(atStartOf: head) }
    if let key, RecordName(hashing: key) == name { return Array(key) }
    // The file is damaged, or its key is longer than most.
    return try read(name).map { Array($0.key) }
  }

  func read(_ name: RecordName) throws -> Record? {
    guard state.withLock({ $0.index.peek(name) != nil }),
      let bytes = try fileSystem.contents(of: file("\(name)"), limit: limit)
    else { return nil }
    return try parsed { () throws(Record.Failure) in try Record(bytes) }
  }

  /// The parsed record; `nil` if it is damaged. A record of another version empties the folder: its meaning, and that
  /// of the other records, is unknown.
  private func parsed<Result>(_ parse: () throws(Record.Failure) -> Result) throws -> Result? {
    do {
      return try parse()
    } catch {
      if case .otherVersion = error { try removeAll() }
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
      do {
        try fileSystem.replace("\(name)", in: folder, at: path, with: bytes, after: before)
      } catch {
        // The new record may be in place if only the last step failed.
        if let size = try? fileSystem.status(at: file("\(name)")).size { note(name, size: size) }
        throw error
      }
      note(name, size: bytes.count)
      while let oldest = state.withLock({ $0.index.statistics.cost > limit ? $0.index.oldestValue : nil }) {
        try remove(file: "\(oldest.name)")
        forget(oldest.name)
      }
    }
  }

  func remove(_ name: RecordName) throws {
    try changing { folder, _ in
      try remove(file: "\(name)")
      forget(name)
      try fileSystem.sync(folder)
    }
  }

  func removeAll() throws {
    // The index is not needed here, and one file that fails while it is built would keep all others from being removed.
    try changing(needsIndex: false) { folder, _ in
      let removal = Result { try empty() }
      try fileSystem.sync(folder)
      try removal.get()
    }
  }

  /// Runs a closure under the folder's lock, with an index that is up to date, if it needs one, and the folder's
  /// modification time before. Creates the folder again if it was removed.
  private func changing(needsIndex: Bool = true, _ body: (_ folder: Int32, _ before: Int64) throws -> Void) throws {
    func change() throws {
      try fileSystem.withExclusiveAccess(to: path) { folder in
        let before = try fileSystem.status(of: folder).changedAt
        if needsIndex, state.withLock({ $0.changedAt != before }) { try scan() }
        defer {
          let after = try? fileSystem.touch(folder, after: before)
          state.withLock { $0.changedAt = needsIndex ? after : nil }
        }
        try body(folder, before)
      }
    }
    do {
      try change()
    } catch let error as FileError where error.isNotFound {
      try fileSystem.makeFolders(path)
      try change()
    }
  }

  /// Builds the index from the folder, oldest first; a record of another version empties the folder.
  private func scan() throws {
    let names = try fileSystem.names(in: path)
    if names.contains(where: RecordName.isOtherVersion) { return try empty() }
    let before = state.withLock { $0.index }
    var found: [(known: Known, size: Int, changedAt: Int64)] = []
    for name in names.compactMap({ RecordName($0) }) {
      let status = try fileSystem.status(at: file("\(name)"))
      found.append((Known(name: name, key: before.peek(name)?.key), status.size, status.changedAt))
    }
    found.sort { $0.changedAt < $1.changedAt }
    var index = State().index
    for (known, size, _) in found { _ = index.write(known, for: known.name, cost: Self.space(size)) }
    state.withLockUnchecked { $0.index = index }
  }

  private func empty() throws {
    var failure: (any Error)?
    for name in try fileSystem.names(in: path) where name != "lock" {
      do {
        try remove(file: name)
        if let name = RecordName(name) { forget(name) }
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    state.withLock { $0.index = State().index }
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
