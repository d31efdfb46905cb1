import Foundation

/// The files of one partition, and what this process knows of them.
///
/// Files change under the file lock of the folder, which all processes ask for, and the index under a lock of its own,
/// which no system call is made under: reads wait for nobody.
final class RecordFolder: Sendable {
  private static let lockName = "lock"
  private static let temporaryPrefix = "temporary-"

  private struct Known {
    let name: RecordName
    let size: Int
  }

  private struct State {
    /// In the order of writing; costs are sizes.
    var index: LRUCache<RecordName, Known>
    /// The folder's time of change when this process last looked or wrote.
    var changedAt: Int64 = 0
  }

  private let path: String
  private let limit: Int
  private let fileSystem: any FileSystem
  private let state: Locked<State>
  /// Held while files change; the file lock keeps out others than this object.
  private let writing = NSLock()

  init(_ path: String, limit: Int, fileSystem: any FileSystem) throws {
    self.path = path
    self.limit = limit
    self.fileSystem = fileSystem
    state = Locked(State(index: Self.emptyIndex))
    try fileSystem.makeFolders(path)
    try changing { folder in
      try scan()
      for name in try fileSystem.names(in: path) where name.hasPrefix(Self.temporaryPrefix) {
        // Whoever wrote it had the lock, and is gone.
        try fileSystem.remove(file(name))
      }
      noteTime(folder)
    }
  }

  private static var emptyIndex: LRUCache<RecordName, Known> { LRUCache(countLimit: .max, costLimit: .max) }

  var statistics: DiskStatistics {
    let statistics = state.withLock { $0.index.statistics }
    return DiskStatistics(count: statistics.count, bytes: statistics.cost)
  }

  var names: [RecordName] { state.withLock { Array($0.index.keys) } }

  func read(_ name: RecordName) throws -> Record? {
    guard state.withLock({ $0.index.peek(name) != nil }) else { return nil }
    guard let bytes = try fileSystem.contents(of: file("\(name)"), limit: limit) else { return nil }
    do {
      return try Record(bytes)
    } catch {
      // What another version wrote may not be what this one takes it for.
      if case .otherVersion = error { try removeAll() }
      return nil
    }
  }

  func write(_ bytes: [UInt8], as name: RecordName) throws {
    guard bytes.count <= limit else {
      // The value before it is out of date.
      try remove(name)
      throw DiskCacheError.tooLarge(size: bytes.count, limit: limit)
    }
    try changing { folder in
      try rescanIfChanged(folder)
      defer { noteTime(folder) }
      do {
        let temporary = file("\(Self.temporaryPrefix)\(getpid())")
        try? removeIfThere(temporary)
        try fileSystem.replace(file("\(name)"), temporary: temporary, in: folder, with: bytes)
      } catch {
        // The new record may be in its place, and only the last step have failed.
        note(name)
        throw error
      }
      state.withLock { _ = $0.index.write(Known(name: name, size: bytes.count), for: name, cost: bytes.count) }
      try evict(except: name)
    }
  }

  func remove(_ name: RecordName) throws {
    try changing { folder in
      defer { noteTime(folder) }
      try removeIfThere(file("\(name)"))
      state.withLock { _ = $0.index.remove(name) }
    }
  }

  func removeAll() throws {
    try changing { folder in
      defer { noteTime(folder) }
      var failure: (any Error)?
      for name in try fileSystem.names(in: path) where name != Self.lockName {
        do {
          try removeIfThere(file(name))
          if let name = RecordName(name) { state.withLock { _ = $0.index.remove(name) } }
        } catch {
          failure = error
        }
      }
      if let failure { throw failure }
      state.withLock { $0.index = Self.emptyIndex }
    }
  }

  private func evict(except newest: RecordName) throws {
    while let oldest = state.withLock({ $0.index.statistics.cost > limit ? $0.index.oldestValue : nil }) {
      guard oldest.name != newest else { return }
      try removeIfThere(file("\(oldest.name)"))
      state.withLock { _ = $0.index.remove(oldest.name) }
    }
  }

  /// Runs a closure while no other process, and nobody else in this one, changes the folder.
  private func changing(_ body: (_ folder: Int32) throws -> Void) throws {
    writing.lock()
    defer { writing.unlock() }
    let lock = try fileSystem.open(file(Self.lockName), .append)
    defer { try? fileSystem.close(lock) }
    try fileSystem.lock(lock)
    let folder = try fileSystem.open(path, .folder)
    defer { try? fileSystem.close(folder) }
    try body(folder)
  }

  private func rescanIfChanged(_ folder: Int32) throws {
    let changedAt = try fileSystem.status(of: folder).changedAt
    if state.withLock({ $0.changedAt != changedAt }) { try scan() }
  }

  private func noteTime(_ folder: Int32) {
    let changedAt = (try? fileSystem.status(of: folder).changedAt) ?? 0
    state.withLock { $0.changedAt = changedAt }
  }

  /// Builds the index from the folder, oldest first; records of another version empty it.
  private func scan() throws {
    let names = try fileSystem.names(in: path)
    if names.contains(where: RecordName.isOtherVersion) {
      for name in names where name != Self.lockName { try removeIfThere(file(name)) }
      return state.withLock { $0.index = Self.emptyIndex }
    }
    var found: [(known: Known, changedAt: Int64)] = []
    for name in names.compactMap({ RecordName($0) }) {
      guard let status = try statusIfThere(name) else { continue }
      found.append((Known(name: name, size: status.size), status.changedAt))
    }
    found.sort { ($0.changedAt, $0.known.name) < ($1.changedAt, $1.known.name) }
    var index = Self.emptyIndex
    for (known, _) in found { _ = index.write(known, for: known.name, cost: known.size) }
    state.withLock { [index] in $0.index = index }
  }

  /// Looks at one file again.
  private func note(_ name: RecordName) {
    guard let status = try? statusIfThere(name) else { return }
    state.withLock {
      _ = $0.index.write(Known(name: name, size: status.size), for: name, cost: status.size)
    }
  }

  private func statusIfThere(_ name: RecordName) throws -> FileStatus? {
    do {
      return try fileSystem.status(at: file("\(name)"))
    } catch let error as FileError where error.isNotFound {
      return nil
    }
  }

  private func removeIfThere(_ path: String) throws {
    do {
      try fileSystem.remove(path)
    } catch let error as FileError where error.isNotFound {}
  }

  private func file(_ name: String) -> String { "\(path)/\(name)" }
}
