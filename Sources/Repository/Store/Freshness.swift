/// How long cached values may be used. A limit of `nil` means no limit.
public struct Freshness: Hashable, Sendable {
  /// The age at which a value becomes stale: it is still shown, but `cacheFirst` makes a request.
  public var staleTime: Duration?

  /// The age at which a value expires, and counts as missing.
  public var expireAfterWrite: Duration?

  /// How long after its last read a value expires. Only reads in this process count; a value loaded from disk counts as
  /// read when it was written.
  public var expireAfterAccess: Duration?

  /// The greatest age of a value that may be returned when a request fails, see ``StoreConfiguration/mayServeStale``; a
  /// week by default.
  public var staleIfError: Duration?

  /// Makes a set of limits; by default, only that of ``staleIfError``.
  public init(
    staleTime: Duration? = nil, expireAfterWrite: Duration? = nil, expireAfterAccess: Duration? = nil,
    staleIfError: Duration? = .seconds(7 * 86_400)
  ) {
    self.staleTime = staleTime
    self.expireAfterWrite = expireAfterWrite
    self.expireAfterAccess = expireAfterAccess
    self.staleIfError = staleIfError
  }
}

/// A date in the future, as after the clock was set back, says nothing about the age: such a value is stale, but not
/// expired, and may be returned when a request fails.
extension Freshness {
  @inlinable func isStale<Value>(_ kept: CachedValue<Value>, now: StoreTime) -> Bool {
    if kept.isInvalidated || kept.writtenAt > now { return true }
    return staleTime.map { now - kept.writtenAt >= $0 } ?? false
  }

  @inlinable func isExpired<Value>(_ kept: CachedValue<Value>, now: StoreTime) -> Bool {
    if let limit = expireAfterWrite, now - kept.writtenAt >= limit { return true }
    if let limit = expireAfterAccess, now - kept.readAt >= limit { return true }
    return false
  }

  func mayStandIn<Value>(_ kept: CachedValue<Value>, now: StoreTime) -> Bool {
    staleIfError.map { now - kept.writtenAt <= $0 } ?? true
  }
}
