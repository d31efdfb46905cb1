/// What a cache in memory has done so far, and what it holds.
public struct CacheStatistics: Hashable, Sendable {
  /// Reads that found a value.
  public var hits = 0

  /// Reads that found none.
  public var misses = 0

  /// Values that went to make room.
  public var evictions = 0

  /// How many values there are now.
  public var count = 0

  /// The sum of their costs.
  public var cost = 0

  /// Nothing yet.
  public init() {}
}
