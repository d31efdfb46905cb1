import HTTPClientCore
import SystemBase

/// A file as the storage of records, for one process. Each entry is a ``Record`` with a checksum and its position. The
/// article <doc:DiskFormat> describes it.
///
/// A process has the folder's lock for as long as it is open.
final class RecordFile: RecordStorage {
  /// The file.
  private static let name = "records"
  /// The file that says that the server has refused the account.
  private static let refusal = "refused"
  /// The file that says that everything is being removed.
  private static let removal = "removing"

  private struct State {
    /// The file that is locked; `nil` once this is closed.
    var lock: Int32?
    /// The file, to be added to; `nil` if it has to be replaced: there is none, or its end is damaged.
    var file: Int32?
    /// How many bytes it has.
    var size = 0
    /// Whether the server has refused the account.
    var isRefused = false
    var isSignedOut = false
    /// Whether the file says that everything is being removed, since that has failed.
    var isRemoving = false
  }

  private let path: String
  private let prefix: [UInt8]
  private let fileSystem: any FileSystem
  private let limit: Int
  private let state = Locked(State())

  /// Opens the file of a partition, and reads nothing of it.
  /// - Parameter limit: How many bytes it may have: what is longer is not read.
  init(
    _ folder: URL, partition: String, fileSystem: some FileSystem, limit: Int = RecordCache.responseLimit
  ) throws {
    path = Partition.folder(of: partition, in: folder).path
    let name = Array(partition.utf8)
    prefix = withUnsafeBytes(of: UInt32(truncatingIfNeeded: name.count).littleEndian) { Array($0) } + name
    self.fileSystem = fileSystem
    self.limit = limit
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

  deinit { close() }

  func close() { state.withLock { end(&$0) } }

  private func end(_ state: inout State) {
    for file in [state.file.take(), state.lock.take()] { if let file { try? fileSystem.close(file) } }
  }

  private var file: String { "\(path)/\(Self.name)" }

  /// The path without symbolic links.
  var identity: String? { URL(fileURLWithPath: path).resolvingSymlinksInPath().path }

  // MARK: Reading

  /// Takes the entries up to the first one that is damaged. What was being written when a process ended is the last one;
  /// if others follow, nothing is taken, since they may have removed what the ones before have brought.
  func read(after position: RecordPosition?) throws -> RecordTail {
    // Other processes add nothing.
    if let position { return RecordTail(last: position) }
    return try state.withLockUnchecked { state in
      guard state.lock != nil else { return RecordTail(last: nil) }
      guard let bytes = try fileSystem.contents(of: file, limit: limit) else {
        // There is none, or it is too long.
        return RecordTail(last: nil, lostBytes: try fileSize())
      }
      var (offset, entries) = (0, [RecordEntry]())
      while let (entry, length) = entry(in: bytes[offset...], after: entries.last?.position) {
        entries.append(entry)
        offset += length
      }
      guard offset == bytes.count, let last = entries.last?.position else {
        // The file is replaced with the next change.
        let isCut = entries.last.map { !isEntry(in: bytes[offset...], $0.position) } ?? false
        return isCut
          ? RecordTail(last: entries.last?.position, entries: entries, lostBytes: bytes.count - offset)
          : RecordTail(last: nil, lostBytes: bytes.count)
      }
      state.file = try fileSystem.open(file, .append)
      state.size = bytes.count
      return RecordTail(last: last, entries: entries)
    }
  }

  private func fileSize() throws -> Int {
    do {
      return try fileSystem.status(at: file).size
    } catch let error as FileError where error.isNotFound {
      return 0
    }
  }

  /// The entry at the start of bytes, if it is there, undamaged, and follows a position.
  private func entry(
    in bytes: ArraySlice<UInt8>, after position: RecordPosition?
  ) -> (entry: RecordEntry, length: Int)? {
    guard let length = Record.length(atStartOf: bytes), let record = try? Record(Array(bytes.prefix(length))),
      record.key.count >= 16
    else { return nil }
    let place = record.key.suffix(16)
    func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
    let found = RecordPosition(journal: number(place.prefix(8)), number: number(place.suffix(8)))
    guard record.key.elementsEqual(key(found)), position.map({ $0.next == found }) ?? true else { return nil }
    return (RecordEntry(found, Array(record.value)), length)
  }

  private func key(_ position: RecordPosition) -> [UInt8] {
    var key = prefix
    key.append(fixed: position.journal)
    key.append(fixed: position.number)
    return key
  }

  /// Whether an entry begins after the start of bytes: then what is damaged is not the last.
  private func isEntry(in bytes: ArraySlice<UInt8>, _ position: RecordPosition) -> Bool {
    let key = key(position).dropLast(8)
    let first = bytes.startIndex + Record.headerLength
    guard let start = key.last, bytes.endIndex - first > key.count else { return false }
    return bytes.indices[(first + key.count)...].contains { end in
      bytes[end] == start && bytes[(end + 1 - key.count)...end].elementsEqual(key)
    }
  }

  // MARK: Writing

  /// Throws ``DiskCacheError/tooLarge(size:limit:)`` before anything is written if the file would become longer than is read.
  func append(_ entry: RecordEntry, after position: RecordPosition) throws -> Bool {
    try state.withLockUnchecked { state in
      guard let file = state.file else { throw StoreError.closed }
      let bytes = record(entry)
      let size = state.size + bytes.count
      guard size <= limit else { throw DiskCacheError.tooLarge(size: size, limit: limit) }
      do {
        try fileSystem.writeAll(bytes, to: file)
        try fileSystem.sync(file)
        state.size = size
      } catch {
        // Its end is unknown now.
        closeFile(&state)
        throw error
      }
      return true
    }
  }

  func replaceAll(with entry: RecordEntry, after position: RecordPosition?) throws -> Bool {
    try state.withLockUnchecked { state in
      guard state.lock != nil else { throw StoreError.closed }
      let bytes = record(entry)
      guard bytes.count <= limit else { throw DiskCacheError.tooLarge(size: bytes.count, limit: limit) }
      closeFile(&state)
      try withFolder { folder in
        try fileSystem.replace(Self.name, in: folder, at: path, with: bytes)
        if !state.isRemoving { return }
        try endRemoval()
        // Found again after a power cut, it would remove what is there now.
        try fileSystem.sync(folder)
        state.isRemoving = false
      }
      state.file = try fileSystem.open(file, .append)
      state.size = bytes.count
      return true
    }
  }

  private func closeFile(_ state: inout State) {
    if let file = state.file.take() { try? fileSystem.close(file) }
  }

  private func record(_ entry: RecordEntry) -> [UInt8] {
    Record(
      key: key(entry.position), value: entry.bytes, writtenAt: StoreTime(microseconds: 0), isInvalidated: false
    ).bytes
  }

  private func withFolder(_ body: (Int32) throws -> Void) throws {
    let folder = try fileSystem.open(path, .folder)
    defer { try? fileSystem.close(folder) }
    try body(folder)
  }

  // MARK: Removing

  func removeAll() throws { try state.withLockUnchecked { try remove(&$0) } }

  /// Removes the file; what is written later begins a new one. If that fails, and the process ends, the next one that opens
  /// it does it.
  private func remove(_ state: inout State) throws {
    closeFile(&state)
    try withFolder { folder in
      // On a full device there may be no room for it, and the removal may succeed nevertheless.
      state.isRemoving = true
      try? fileSystem.replace(Self.removal, in: folder, at: path, with: [])
      try fileSystem.removeIfThere(file)
      try fileSystem.sync(folder)
    }
    // What is written later syncs the folder.
    try endRemoval()
    state.isRemoving = false
  }

  private func endRemoval() throws { try fileSystem.removeIfThere("\(path)/\(Self.removal)") }

  func signOut(leaving mark: RecordEntry) throws {
    try state.withLockUnchecked { state in
      if state.isSignedOut { return }
      if state.lock == nil { state.lock = try takeLock() }
      try remove(&state)
      try setRefused(false, &state)
      state.isSignedOut = true
      end(&state)
    }
  }

  // MARK: Refusals

  var isRefused: Bool { state.withLock { $0.isRefused } }

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
