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
