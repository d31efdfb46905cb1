/// How long values are good for. A limit that is `nil` does not exist.
public struct Freshness: Hashable, Sendable {
  /// The age from which a value is stale: it is still shown, and `cacheFirst` asks the network.
  public var staleTime: Duration?

  /// The age from which a value counts as not there.
  public var expireAfterWrite: Duration?

  /// The time without a read after which a value counts as not there. Reads of this process count; what comes from
  /// disk counts as read when it was written.
  public var expireAfterAccess: Duration?

  /// The greatest age of a value that is given in place of a failed request.
  public var staleIfError: Duration?

  /// Makes limits; none unless given.
  public init(
    staleTime: Duration? = nil, expireAfterWrite: Duration? = nil, expireAfterAccess: Duration? = nil,
    staleIfError: Duration? = nil
  ) {
    self.staleTime = staleTime
    self.expireAfterWrite = expireAfterWrite
    self.expireAfterAccess = expireAfterAccess
    self.staleIfError = staleIfError
  }
}

/// A date in the future tells nothing of the age, as after a change of the clock: such a value is stale, but not
/// expired, and may stand in for a failed request.
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
