/// The contents of a disk cache in numbers.
public struct DiskStatistics: Hashable, Sendable {
  /// The number of records.
  public var count: Int

  /// The sum of the files' sizes, in bytes.
  public var bytes: Int

  /// Makes statistics.
  public init(count: Int, bytes: Int) {
    self.count = count
    self.bytes = bytes
  }
}
