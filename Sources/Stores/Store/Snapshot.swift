/// The state of a key at one moment: its value, where that came from, how old it is, and what went wrong.
public struct Snapshot<Value: Sendable>: Sendable {
  /// The value; `nil` if there is none, or none that the read's policy may show.
  public var value: Value?

  /// Where the value comes from; `nil` if there is none.
  public var source: SnapshotSource?

  /// The time since the server returned the value, or since it was saved; never negative.
  public var age: Duration

  /// Whether the value is older than the store's stale time, was invalidated, or has a date in the future.
  public var isStale: Bool

  /// Whether the value is only a part of what was requested; the errors say what is missing.
  public var isPartial: Bool

  /// What went wrong with the latest request; with a value from the network, what is missing from it.
  public var errors: [any Error]

  /// Whether a request for the key is in flight.
  public var isFetching: Bool

  /// Identifies the value: another write, or another set of optimistic changes, has another stamp.
  @usableFromInline var stamp: SnapshotStamp

  /// Makes a snapshot; for fixtures and other stores.
  @inlinable
  public init(
    value: Value?, source: SnapshotSource? = nil, age: Duration = .zero, isStale: Bool = false,
    isPartial: Bool = false, errors: [any Error] = [], isFetching: Bool = false
  ) {
    self.value = value
    self.source = source
    self.age = age
    self.isStale = isStale
    self.isPartial = isPartial
    self.errors = errors
    self.isFetching = isFetching
    stamp = SnapshotStamp()
  }

  /// This snapshot with its value transformed.
  public func map<Other: Sendable>(_ transform: (Value) throws -> Other) rethrows -> Snapshot<Other> {
    var other = Snapshot<Other>(
      value: try value.map(transform), source: source, age: age, isStale: isStale, isPartial: isPartial,
      errors: errors, isFetching: isFetching)
    other.stamp = stamp
    return other
  }

  /// The value. If there is none, throws the first error, or ``StoreError/notCached``.
  @inlinable
  public func requireValue() throws -> Value {
    if let value { return value }
    throw missingValueError
  }

  /// Why there is no value.
  @usableFromInline var missingValueError: any Error { errors.first ?? StoreError.notCached }
}

extension Snapshot: Equatable where Value: Equatable {
  /// Whether two snapshots show the same. Errors count as equal if they are of one type and have one description.
  public static func == (left: Snapshot, right: Snapshot) -> Bool {
    left.value == right.value && left.source == right.source && left.age == right.age
      && left.isStale == right.isStale && left.isPartial == right.isPartial && left.isFetching == right.isFetching
      && left.errors.isSame(as: right.errors)
  }
}

extension Snapshot: CustomStringConvertible {
  /// One line: where the value comes from and how old it is, its state, the value, and what went wrong.
  public var description: String {
    let origin = source.map { "\($0.rawValue), \(age) old" } ?? "no source"
    let state = (isStale ? ", stale" : "") + (isPartial ? ", partial" : "") + (isFetching ? ", fetching" : "")
    let value = value.map { "\($0)" } ?? "no value"
    return "\(origin)\(state): \(value)" + errors.map { "; \($0)" }.joined()
  }
}

/// Where the value of a ``Snapshot`` comes from.
public enum SnapshotSource: String, Sendable {
  /// The memory of this process.
  case memory

  /// The source of truth behind the memory: files, or a database.
  case disk

  /// A response that has just arrived, for this read or one that it shares. A mutation's result is published as
  /// ``memory``.
  case network

  /// It includes at least one change that the server has not confirmed.
  case optimistic
}

/// Identifies a value that was shown: its write, and the optimistic changes in it.
@usableFromInline
struct SnapshotStamp: Hashable, Sendable {
  /// The number of the write; 0 if no cached value is shown.
  @usableFromInline var version: UInt64
  @usableFromInline var layers: [UInt64]

  @inlinable init(version: UInt64 = 0, layers: [UInt64] = []) {
    self.version = version
    self.layers = layers
  }
}
