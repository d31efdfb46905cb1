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
