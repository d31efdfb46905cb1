public import Foundation

/// A folder of records: a ``SourceOfTruth`` of files, by Foundation alone.
///
/// Each value is one file, which is replaced whole or not at all; a file that is damaged in any way is a miss. Several
/// processes may use one folder: a process sees the records of another when it opens the folder, and when it writes. A
/// miss costs no system call. Keys are found by the bytes that the coder makes of them, so equal keys must have equal
/// bytes: ``RecordCoder/json`` says where they have not.
///
/// The records of a partition, such as an account at an endpoint, lie in a folder of their own: `clear` and sign-out
/// touch no other. Files are the owner's alone (mode 0600, folders 0700). Values are stored unencrypted; the SDK itself
/// stores no credentials there.
public final class DiskCache<Key: Hashable & Sendable, Value: Sendable>: SourceOfTruth {
  private let coder: RecordCoder<Key, Value>
  private let prefix: [UInt8]
  private let folder: RecordFolder

  /// Opens a folder, and makes it where it is missing.
  /// - Parameters:
  ///   - folder: Where the partitions are; nothing else should be.
  ///   - partition: What tells accounts apart.
  ///   - limit: The greatest sum of the sizes of a partition's files, in bytes; while one is written there may be one
  ///     more. The oldest go first.
  ///   - coder: Turns keys and values into bytes; JSON unless given.
  /// - Throws: ``FileError`` where the folder cannot be made or read, or another process has its lock for ten seconds.
  public convenience init(
    folder: URL, partition: String = "", limit: Int = 64 << 20, coder: RecordCoder<Key, Value>
  ) throws {
    try self.init(folder: folder, partition: partition, limit: limit, coder: coder, fileSystem: SystemFileSystem())
  }

  package init(
    folder: URL, partition: String = "", limit: Int = 64 << 20, coder: RecordCoder<Key, Value>,
    fileSystem: some FileSystem
  ) throws {
    self.coder = coder
    let name = Array(partition.utf8)
    prefix = withUnsafeBytes(of: UInt32(truncatingIfNeeded: name.count).littleEndian) { Array($0) } + name
    let path = Partition.folder(of: partition, in: folder).path
    self.folder = try RecordFolder(path, limit: limit, fileSystem: fileSystem)
  }

  /// What the partition holds, as far as this process knows.
  public var statistics: DiskStatistics { folder.statistics }

  /// The value of a key; `nil` also for a record that is damaged, or that the coder cannot read.
  public func read(_ key: Key) throws -> StoredValue<Value>? {
    let key = try bytes(of: key)
    guard let record = try folder.read(RecordName(hashing: key)), record.key.elementsEqual(key),
      let value = try? coder.decode(Data(record.value))
    else { return nil }
    return StoredValue(value, writtenAt: record.writtenAt, isInvalidated: record.isInvalidated)
  }

  /// Writes a record; throws ``FileError``, ``DiskCacheError``, or what the coder throws.
  public func write(_ stored: StoredValue<Value>, for key: Key) throws {
    let key = try bytes(of: key)
    let record = Record(
      key: key, value: Array(try coder.encode(stored.value)), writtenAt: stored.writtenAt,
      isInvalidated: stored.isInvalidated)
    try folder.write(record.bytes, as: RecordName(hashing: key))
  }

  /// Removes a record; throws ``FileError``.
  public func remove(_ key: Key) throws {
    try folder.remove(RecordName(hashing: try bytes(of: key)))
  }

  /// Removes all records of the partition; their files are unlinked when it returns. Throws ``FileError``.
  public func removeAll() throws {
    try folder.removeAll()
  }

  /// The keys of the records, as far as they can be read; the values are not looked at. Each record is opened for that once.
  /// Throws ``FileError`` where not one can be read.
  public func keys() throws -> [Key] {
    try folder.keys().compactMap { key in
      key.starts(with: prefix) ? try? coder.decodeKey(Data(key.dropFirst(prefix.count))) : nil
    }
  }

  private func bytes(of key: Key) throws -> [UInt8] {
    prefix + (try coder.encodeKey(key))
  }
}

extension DiskCache where Key: Codable, Value: Codable {
  /// Opens a folder whose records are JSON; see ``init(folder:partition:limit:coder:)``.
  public convenience init(folder: URL, partition: String = "", limit: Int = 64 << 20) throws {
    try self.init(folder: folder, partition: partition, limit: limit, coder: .json)
  }
}
