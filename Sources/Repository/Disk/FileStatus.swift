/// A file's size and time of last change.
package struct FileStatus: Hashable, Sendable {
  package var size: Int
  /// The time of the last change, in nanoseconds since 1970.
  package var changedAt: Int64

  package init(size: Int, changedAt: Int64) {
    self.size = size
    self.changedAt = changedAt
  }
}
