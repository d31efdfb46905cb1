import StrictJSON
public import SystemBase

/// A ``SourceOfTruth`` that keeps records in files, and needs nothing but Foundation.
///
/// Each value is one file, which is replaced atomically; a damaged file is a miss. Several processes may use one
/// folder: a process sees the records of others when it opens the folder, when it writes, and when it lists keys. A
/// miss for a key without a record makes no system call. Keys are compared by their encoded bytes, so equal keys must
/// have equal bytes:
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
    identity = "\(self.folder.identity)/\(self.folder.generation ?? "")"
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
    return StoredValue(
      value, writtenAt: record.writtenAt, isInvalidated: record.isInvalidated, version: record.version)
  }

  /// Writes a record; throws ``FileError``, ``DiskCacheError``, or what the coder throws.
  public func write(_ stored: StoredValue<Value>, for key: Key) throws {
    let key = try bytes(of: key)
    let record = Record(
      key: key, value: Array(try coder.encode(stored.value)), writtenAt: stored.writtenAt,
      isInvalidated: stored.isInvalidated, version: stored.version)
    try folder.write(record.bytes, as: RecordName(hashing: key))
  }

  /// `true`: processes that share the folder exclude each other while they write.
  public var waitsForOtherProcesses: Bool { true }

  /// Removes a record; throws ``FileError``, or what the coder throws for the key.
  public func remove(_ key: Key) throws {
    try folder.remove(RecordName(hashing: try bytes(of: key)))
  }

  /// Marks the record of a key as out of date, whichever process has written it. Throws ``FileError``, or what the
  /// coder throws for the key.
  public func invalidate(_ key: Key) throws {
    let key = try bytes(of: key)
    try folder.invalidate(RecordName(hashing: key), key: key)
  }

  /// Whether a key has a record, whichever process has written it. Throws ``FileError``, or what the coder throws for
  /// the key.
  package func contains(_ key: Key) throws -> Bool { try folder.contains(RecordName(hashing: try bytes(of: key))) }

  /// Removes all records of the partition; their files are unlinked when this returns. Throws ``FileError``.
  public func removeAll() throws {
    try folder.removeAll()
  }

  /// Removes the records whose key meets a condition, also those of other processes, and those whose key cannot be
  /// read, since it may be one of these; their files are unlinked when this returns. Throws ``FileError``.
  public func removeAll(where isAffected: (Key) -> Bool) throws {
    try folder.removeAll { key in decodedKey(key).map(isAffected) ?? true }
  }

  /// Removes all records of the partition, and refuses whatever opened it before, in any process: its writes throw
  /// ``StoreError/signedOut``. Throws ``FileError`` if something is left; another call then tries again, and so does
  /// the next process that opens the partition.
  public func signOut() throws { try folder.signOut() }

  /// The keys of the records that can be read, also of those that other processes have written. Reads the beginning of
  /// each file, once, and not its value, and waits for no lock. Throws ``FileError`` if none can be read.
  public func keys() throws -> [Key] {
    var failure: (any Error)?
    let keys = try keys { failure = failure ?? $0 }
    if keys.isEmpty, let failure { throw failure }
    return keys
  }

  /// The keys of all records that can be read; the closure is called with the error of each one that the system does
  /// not let be read.
  public func keys(onUnreadable: (any Error) -> Void) throws -> [Key] {
    try folder.keys(onUnreadable: onUnreadable).compactMap(decodedKey)
  }

  /// Whether another process has changed the partition since the last call, or this is the first one. If so, reads find
  /// what it has written. Costs one system call if not, and waits for no lock. Throws ``FileError``.
  package func refresh() throws -> Bool { try folder.refresh() }

  /// The path of the partition's folder, and its generation: that changes with a sign-out.
  public let identity: String?

  /// Whether the server had refused the account when this process last looked at the folder.
  public var isRefused: Bool { folder.isRefused }

  /// Keeps whether the server has refused the account. Throws ``FileError``.
  public func setRefused(_ isRefused: Bool) throws { try folder.setRefused(isRefused) }

  /// The key in the bytes of a record; `nil` if they are not one of this partition.
  private func decodedKey(_ bytes: [UInt8]) -> Key? {
    bytes.starts(with: prefix) ? try? coder.decodeKey(Data(bytes.dropFirst(prefix.count))) : nil
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

/// Turns keys and values into bytes and back: with closures, or as JSON if both are `Codable`.
///
/// Equal keys must have equal bytes. The closures are called on any thread, and several at once.
public struct RecordCoder<Key: Sendable, Value: Sendable>: Sendable {
  let encodeKey: @Sendable (Key) throws -> Data
  let decodeKey: @Sendable (Data) throws -> Key
  let encode: @Sendable (Value) throws -> Data
  let decode: @Sendable (Data) throws -> Value

  /// Makes a coder from closures; an error of `decode` makes a record a miss.
  public init(
    encodeKey: @escaping @Sendable (Key) throws -> Data, decodeKey: @escaping @Sendable (Data) throws -> Key,
    encode: @escaping @Sendable (Value) throws -> Data, decode: @escaping @Sendable (Data) throws -> Value
  ) {
    self.encodeKey = encodeKey
    self.decodeKey = decodeKey
    self.encode = encode
    self.decode = decode
  }
}

extension RecordCoder where Key: Codable, Value: Codable {
  /// JSON: values by `JSONCoder`, keys by Foundation, with sorted properties.
  ///
  /// Keys whose JSON differs must not be equal. Those of `String` may be: its `==` takes "é" as one code point and as
  /// two for the same, so a record that is written under one is not found, or removed, under the other. So may those of
  /// `Double`: 0 and -0. If both may occur, use a key that compares bytes: `Data(text.utf8)`, or a type with its own
  /// `==`.
  public static var json: RecordCoder {
    RecordCoder(
      encodeKey: { try JSONEncoder.sorted.encode($0) }, decodeKey: { try JSONDecoder().decode(Key.self, from: $0) },
      encode: { try JSONCoder().encode($0) }, decode: { try JSONCoder().decode(Value.self, from: $0) })
  }
}

extension JSONEncoder {
  static var sorted: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }
}

/// The contents of a disk cache in numbers.
public struct DiskStatistics: Hashable, Sendable {
  /// The number of records.
  public var count: Int

  /// What the files take of the device, in bytes: each a multiple of 4,096.
  public var bytes: Int

  /// Makes statistics.
  public init(count: Int, bytes: Int) {
    self.count = count
    self.bytes = bytes
  }
}

/// Why a disk cache refuses a value. Cases may be added.
@nonexhaustive
public enum DiskCacheError: Error, Hashable, Sendable {
  /// A record is larger than the limit for all records together, both in bytes; it was not stored.
  case tooLarge(size: Int, limit: Int)
}

extension DiskCacheError: CustomStringConvertible {
  /// One line for people.
  public var description: String {
    switch self {
    case .tooLarge(let size, let limit):
      "A record of \(size) bytes is larger than the limit of \(limit) bytes for all records."
    }
  }
}

extension DiskCacheError: LocalizedError {
  /// What `localizedDescription` gives: `description`.
  public var errorDescription: String? { description }
}

/// The data of one account, for example: a folder of its own within those of caches and outboxes.
package enum Partition {
  /// The folder of a partition; any text will do as a name.
  package static func folder(of name: String, in folder: URL) -> URL {
    folder.appendingPathComponent(RecordName(hashing: name.utf8).hexadecimal)
  }
}
