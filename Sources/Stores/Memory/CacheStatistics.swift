import SystemBase

/// What a cache in memory has done so far, and what it contains.
public struct CacheStatistics: Hashable, Sendable {
  /// Reads that found a value.
  public var hits = 0

  /// Reads that found none.
  public var misses = 0

  /// Values that were evicted to make room, or because they were idle.
  public var evictions = 0

  /// The number of values now.
  public var count = 0

  /// The sum of their costs.
  public var cost = 0

  /// Makes statistics of an empty cache.
  public init() {}

  init(_ statistics: LRUStatistics) {
    (hits, misses, evictions) = (statistics.hits, statistics.misses, statistics.evictions)
    (count, cost) = (statistics.count, statistics.cost)
  }

  /// Adds the numbers of another cache.
  static func += (sum: inout Self, other: Self) {
    sum.hits += other.hits
    sum.misses += other.misses
    sum.evictions += other.evictions
    sum.count += other.count
    sum.cost += other.cost
  }
}
