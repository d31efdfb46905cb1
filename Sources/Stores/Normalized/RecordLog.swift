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
  private var bytes: [UInt8] = []
  /// Whether everything was removed.
  private var isReset = false
  /// Whether a part of the changes is lost, so that everything has to be written.
  var lacksAll = false

  init(_ digest: @escaping @Sendable (NormalizedKey) -> UInt128?) { self.digest = digest }

  /// What is kept of an operation.
  func operation(_ key: NormalizedKey) -> Operation? { digest(key).flatMap { operations.peek($0) } }

  mutating func note(_ operation: Operation, of key: NormalizedKey) {
    guard let digest = digest(key), operations.peek(digest) != operation else { return }
    _ = operations.write(operation, for: digest, cost: 1)
    if !lacksAll { Self.encode(operation, digest, into: &bytes) }
  }

  /// Notes what the server has answered for some fields.
  mutating func note(_ fields: [RecordChange], in cache: RecordCache) {
    if !lacksAll { cache.encode(fields, into: &bytes) }
  }

  /// Notes all that the server has answered for an entity.
  mutating func noteAll(of entity: RecordID, in cache: RecordCache) {
    if !lacksAll { cache.encodeAll(of: entity.number, into: &bytes) }
  }

  /// Everything was removed.
  mutating func reset() {
    (bytes, isReset, lacksAll) = ([], true, false)
    _ = operations.removeAll()
  }

  mutating func restore(_ operation: (digest: UInt128, writtenAt: StoreTime, isInvalidated: Bool)) {
    let kept = Operation(writtenAt: operation.writtenAt, isInvalidated: operation.isInvalidated)
    _ = operations.write(kept, for: operation.digest, cost: 1)
  }

  mutating func take(all: Bool, of cache: RecordCache, since start: StoreTime) -> (isReset: Bool, changes: [UInt8]) {
    let isReset = exchange(&isReset, with: false)
    let changes = exchange(&bytes, with: [])
    if changes.isEmpty, !lacksAll { return (isReset, []) }
    guard all || isReset || lacksAll else { return (false, changes) }
    lacksAll = false
    var everything: [UInt8] = []
    everything.append(.beginning)
    everything.append(fixed: start.microseconds)
    everything.append(text: cache.schema.keyDescription.utf8)
    for digest in operations.keys {
      if let operation = operations.peek(digest) { Self.encode(operation, digest, into: &everything) }
    }
    cache.encodeAll(into: &everything)
    return (isReset, everything)
  }

  private static func encode(_ operation: Operation, _ digest: UInt128, into bytes: inout [UInt8]) {
    bytes.append(.operation)
    bytes.append(fixed: digest)
    bytes.append(fixed: operation.writtenAt.microseconds)
    bytes.append(operation.isInvalidated ? 1 : 0)
  }
}
