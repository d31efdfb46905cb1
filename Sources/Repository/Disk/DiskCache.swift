public import Foundation

/// A ``SourceOfTruth`` that keeps records in files, and needs nothing but Foundation.
///
/// Each value is one file, which is replaced atomically; a damaged file is a miss. Several processes may use one
/// folder: a process sees the records of others when it opens the folder, and when it writes. A miss for a key without
/// a record makes no system call. Keys are compared by their encoded bytes, so equal keys must have equal bytes:
/// ``RecordCoder/json`` says which do not.
///
/// The records of a partition, such as an account at an endpoint, are in a folder of their own: `clear` and sign-out
/// touch no other. Only the owner may access the files (mode 0600, folders 0700). Values are stored unencrypted; the
/// SDK itself stores no credentials there.
public final class DiskCache<Key: Hashable & Sendable, Value: Sendable>: SourceOfTruth {
  private let coder: RecordCoder<Key, Value>
  private let prefix: [UInt8]
  private let folder: RecordFolder

  /// Opens a folder, and creates it if it does not exist.
  /// - Parameters:
  ///   - folder: The folder of the partitions, and of nothing else: give each store a folder of its own. Records are
  ///     found by their keys alone, so two stores over the same partition overwrite each other's.
  ///   - partition: Identifies the account.
  ///   - limit: How much of the device a partition's files may take, in bytes; while one is written, there may be one
  ///     more. A file counts in whole blocks of 4 KiB, so a limit below that has room for nothing.
  ///     The oldest are removed first.
  ///   - coder: Turns keys and values into bytes.
  ///   - lockTimeout: How long to wait for another process that holds the folder's lock; 10 seconds by default.
  /// - Throws: ``FileError`` if the folder cannot be created or read, or another process holds its lock for longer.
  public convenience init(
    folder: URL, partition: String = "", limit: Int = 64 << 20, coder: RecordCoder<Key, Value>,
    lockTimeout: Duration = .seconds(10)
  ) throws {
    try self.init(
      folder: folder, partition: partition, limit: limit, coder: coder,
      fileSystem: SystemFileSystem(lockTimeout: lockTimeout))
  }

  /// Whether a partition has a folder, which opening it would create.
  public static func exists(in folder: URL, partition: String = "") -> Bool {
    FileManager.default.fileExists(atPath: Partition.folder(of: partition, in: folder).path)
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

  /// The number and size of the partition's records, as far as this process knows.
  public var statistics: DiskStatistics { folder.statistics }

  /// The value of a key; `nil` if there is none, the record is damaged, or the coder cannot decode it. Throws
  /// ``FileError``, or what the coder throws for the key.
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

  /// `true`: processes that share the folder exclude each other while they write.
  public var waitsForOtherProcesses: Bool { true }

  /// Removes a record; throws ``FileError``, or what the coder throws for the key.
  public func remove(_ key: Key) throws {
    try folder.remove(RecordName(hashing: try bytes(of: key)))
  }

  /// Removes all records of the partition; their files are unlinked when this returns. Throws ``FileError``.
  public func removeAll() throws {
    try folder.removeAll()
  }

  /// The keys of the records that can be read. Reads the beginning of each file, once, and not its value. Throws
  /// ``FileError`` if none can be read.
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
  /// Opens a folder whose records are JSON; see ``init(folder:partition:limit:coder:lockTimeout:)``.
  public convenience init(folder: URL, partition: String = "", limit: Int = 64 << 20) throws {
    try self.init(folder: folder, partition: partition, limit: limit, coder: .json)
  }
}
