/// Where the value of a ``Snapshot`` comes from.
public enum SnapshotSource: String, Sendable {
  /// This process had it.
  case memory

  /// The source of truth behind the memory had it: files, or a database.
  case disk

  /// The server has just given it.
  case network

  /// At least one change is in it that the server has not confirmed.
  case optimistic
}
