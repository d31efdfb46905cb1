import SystemBase

/// What a journal of records has not got yet, as its bytes, and what it has of operations.
struct RecordLog: Sendable {
  /// What is kept of an operation beside its records.
  struct Operation: Hashable, Sendable {
    let writtenAt: StoreTime
    let isInvalidated: Bool
  }

  private let digest: @Sendable (NormalizedKey) -> UInt128?
  private var operations = LRUCache<UInt128, Operation>(countLimit: 1 << 14, costLimit: .max)
  /// The operations of which something was noted, by which what others say of them is found.
  private var keys = LRUCache<UInt128, NormalizedKey>(countLimit: 1 << 14, costLimit: .max)
  private var bytes: [UInt8] = []
  private var refused = RefusedFields()
  /// Whether everything was removed.
  private var isReset = false
  /// Whether something was removed.
  private var isRemoval = false

  /// What a journal is given.
  struct Changes: Sendable {
    /// Whether everything before is to be removed first.
    var isReset = false
    /// Whether something is removed: then what the journal has must not be read again without this.
    var isRemoval = false
    var bytes: [UInt8] = []
  }

  init(_ digest: @escaping @Sendable (NormalizedKey) -> UInt128?) { self.digest = digest }

  /// What is kept of an operation.
  func operation(_ key: NormalizedKey) -> Operation? { digest(key).flatMap { operations.peek($0) } }

  mutating func note(_ operation: Operation, of key: NormalizedKey) {
    guard let digest = digest(key) else { return }
    _ = keys.write(key, for: digest, cost: 1)
    if operations.peek(digest) == operation { return }
    _ = operations.write(operation, for: digest, cost: 1)
    Self.encode(operation, digest, into: &bytes)
  }

  /// Notes what the server has answered for some fields.
  mutating func note(_ fields: [RecordChange], in cache: RecordCache) {
    cache.encode(fields, into: &bytes)
  }

  /// Notes when the server has said what some fields have.
  mutating func noteDates(of fields: [RecordChange], in cache: RecordCache) {
    cache.encodeDates(of: fields, into: &bytes)
  }

  /// Notes all that the server has answered for an entity.
  mutating func noteAll(of entity: RecordID, in cache: RecordCache) {
    cache.encodeAll(of: entity.number, into: &bytes)
  }

  /// Notes that the server has refused some fields, which were noted as missing.
  mutating func noteRefusal(of fields: [RecordChange], in cache: RecordCache) {
    cache.encodeRefusal(of: fields, into: &bytes)
    refused.note(fields, in: cache)
  }

  /// Takes what others say that the server has refused.
  mutating func restoreRefusal(of fields: [RecordChange], in cache: RecordCache) { refused.note(fields, in: cache) }

  /// Notes that some fields have other values, written here or by another process.
  mutating func noteTouched(_ fields: [RecordChange], in cache: RecordCache) { refused.forget(fields, in: cache) }

  /// Notes that what is noted removes something.
  mutating func noteRemoval() { isRemoval = true }

  /// Everything was removed.
  mutating func reset() {
    (bytes, refused, isReset) = ([], RefusedFields(), true)
    _ = operations.removeAll()
  }

  /// Everything was removed, by others.
  mutating func forget() {
    (bytes, refused, isReset, isRemoval) = ([], RefusedFields(), false, false)
    _ = operations.removeAll()
  }

  /// Whether something is kept of an operation.
  func knows(_ digest: UInt128) -> Bool { operations.peek(digest) != nil }

  /// The key of an operation of which something was noted here.
  func key(_ digest: UInt128) -> NormalizedKey? { keys.peek(digest) }

  /// What tells a key from others, also in other processes.
  func digest(of key: NormalizedKey) -> UInt128? { digest(key) }

  /// Takes what others say of an operation; returns whether that is news.
  @discardableResult
  mutating func restore(_ operation: (digest: UInt128, writtenAt: StoreTime, isInvalidated: Bool)) -> Bool {
    let kept = Operation(writtenAt: operation.writtenAt, isInvalidated: operation.isInvalidated)
    if operations.peek(operation.digest) == kept { return false }
    _ = operations.write(kept, for: operation.digest, cost: 1)
    return true
  }

  /// What has changed since this was asked last.
  mutating func take() -> Changes {
    Changes(
      isReset: exchange(&isReset, with: false), isRemoval: exchange(&isRemoval, with: false),
      bytes: exchange(&bytes, with: []))
  }

  /// All that there is.
  func all(of cache: RecordCache, since start: StoreTime) -> [UInt8] {
    var everything = Self.beginning(cache.schema, since: start)
    for digest in operations.keys {
      if let operation = operations.peek(digest) { Self.encode(operation, digest, into: &everything) }
    }
    cache.encodeAll(into: &everything)
    cache.encodeRefusal(of: refused.fields(in: cache), into: &everything)
    return everything
  }

  /// What all begins with that there is, or may come.
  static func beginning(_ schema: RecordSchema, since start: StoreTime) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(.beginning)
    bytes.append(fixed: start.microseconds)
    bytes.append(text: schema.keyDescription.utf8)
    return bytes
  }

  private static func encode(_ operation: Operation, _ digest: UInt128, into bytes: inout [UInt8]) {
    encode((digest, operation.writtenAt, operation.isInvalidated), into: &bytes)
  }

  static func encode(
    _ operation: (digest: UInt128, writtenAt: StoreTime, isInvalidated: Bool), into bytes: inout [UInt8]
  ) {
    bytes.append(.operation)
    bytes.append(fixed: operation.digest)
    bytes.append(fixed: operation.writtenAt.microseconds)
    bytes.append(operation.isInvalidated ? 1 : 0)
  }
}
