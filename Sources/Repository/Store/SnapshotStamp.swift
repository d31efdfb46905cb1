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
