import Foundation
import Streams

/// The files of one scope's outbox: a ``Record`` for each entry, with the scope as its key and the entry's JSON as its
/// value.
///
/// Files change under the lock of the file `lock`; who sends has that of the file `sending` meanwhile. Both locks are the
/// system's: the end of a process, however it comes, gives them back.
final class OutboxFolder<Mutation: Codable & Sendable>: Sendable {
  typealias Entry = OutboxEntry<Mutation>

  /// The greatest entry that is read: larger files are none of ours.
  private static var entryLimit: Int { 16 << 20 }

  private let path: String
  private let scope: [UInt8]
  private let fileSystem: any FileSystem
  private let isClosed = Guarded(false)

  init(_ folder: URL, scope: String, fileSystem: any FileSystem) throws {
    self.scope = Array(scope.utf8)
    path = folder.appendingPathComponent(RecordName(hashing: self.scope).hexadecimal).path
    self.fileSystem = fileSystem
    try fileSystem.makeFolders(path)
    try changing { _ in
      // Whoever wrote these had the lock, and is gone.
      for name in try fileSystem.names(in: path) where name.hasPrefix("temporary-") { try remove(file: name) }
    }
  }

  /// Puts an entry in behind all others; it is on the device when this returns.
  func append(_ mutation: Mutation, id: String, now: StoreTime) throws -> Entry {
    try changing { folder in
      let last = try names().last?.addedAt ?? StoreTime(microseconds: 0)
      let entry = Entry(id: id, mutation: mutation, addedAt: max(now, last + .microseconds(1)))
      try write(entry, in: folder)
      return entry
    }
  }

  /// Puts an entry in the place of what it was; one that is gone meanwhile stays away.
  func update(_ entry: Entry) throws {
    try changing { folder in
      if try names().contains(entry.name) { try write(entry, in: folder) }
    }
  }

  func remove(_ name: OutboxFileName) throws {
    try changing { _ in try remove(file: "\(name)") }
  }

  /// Removes all entries, also those of other versions, and lets no other in any more.
  func close() throws {
    isClosed.withLock { $0 = true }
    try fileSystem.withExclusiveAccess(to: path) { _ in
      for name in try fileSystem.names(in: path) where name != "lock" && name != "sending" { try remove(file: name) }
    }
  }

  /// The names of all entries, oldest first.
  func names() throws -> [OutboxFileName] {
    try fileSystem.names(in: path).compactMap { OutboxFileName($0) }.sorted()
  }

  /// An entry; `nil` where it is gone, or damaged.
  func read(_ name: OutboxFileName) throws -> Entry? {
    guard let bytes = try fileSystem.contents(of: "\(path)/\(name)", limit: Self.entryLimit),
      let record = try? Record(bytes), record.key.elementsEqual(scope),
      let entry = try? JSONDecoder().decode(Entry.self, from: Data(record.value)), entry.name == name
    else { return nil }
    return entry
  }

  /// Begins to send; `nil` where somebody else sends, in this process or another. Calling the result lets others send.
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

  private func write(_ entry: Entry, in folder: Int32) throws {
    let record = Record(
      key: scope, value: Array(try JSONEncoder.sorted.encode(entry)), writtenAt: entry.addedAt, isInvalidated: false)
    let temporary = "temporary-\(getpid())"
    try remove(file: temporary)
    try fileSystem.replace(
      "\(path)/\(entry.name)", temporary: "\(path)/\(temporary)", in: folder, with: record.bytes)
  }

  private func remove(file name: String) throws {
    try fileSystem.removeIfThere("\(path)/\(name)")
  }

  private func changing<Result>(_ body: (_ folder: Int32) throws -> Result) throws -> Result {
    try fileSystem.withExclusiveAccess(to: path) { folder in
      if isClosed.withLock({ $0 }) { throw OutboxError.closed }
      return try body(folder)
    }
  }
}
