public import HTTP

/// How a store caches its values.
public struct StoreConfiguration<Value: Sendable>: Sendable {
  /// When a value is written to the source of truth.
  public enum Writing: Sendable {
    /// Before the caller gets the response.
    case through
    /// Later, on the store's own queue; ``Store/flush()`` returns when all is written.
    case behind
  }

  /// How long values may be used; without limit by default.
  public var freshness = Freshness()

  /// Whether a cached value may be returned in the place of a request that failed with this error, by the policies that
  /// do so: by default only in an outage (``RequestError/isOutage``; RFC 5861, section 4), so that a user whose token is
  /// revoked, or who may no longer see something, gets no data. Called on the thread on which the request failed; errors
  /// of other types are wrapped, with the kind `unknown`.
  public var mayServeStale: @Sendable (RequestError) -> Bool = { $0.isOutage }

  /// The greatest number of values in memory; values of watched keys are held in addition while they are watched.
  public var memoryCount = 1_000

  /// The greatest sum of costs in memory; no limit by default.
  public var memoryCost = Int.max

  /// The cost of a value, in a unit of your choice, such as bytes; 1 by default. Called once for each write.
  public var cost: @Sendable (Value) -> Int = { _ in 1 }

  /// Whether a response may be cached, in memory or elsewhere: an error page sent with status 200, for example, should
  /// not be. One that is not cached still goes to the caller, and to those watchers that share its request and have
  /// nothing better to show.
  public var isCacheable: @Sendable (Value) -> Bool = { _ in true }

  /// When a value is written to the source of truth; `through` by default. If that fails, the value is still in memory
  /// and goes to the caller, and the error is reported to ``onStorageError``.
  public var writing = Writing.through

  /// The clock by which ages are measured; the system's by default.
  public var clock = StoreClock.system

  /// Called with each error of the source of truth, on the thread that used it, or on the queue that writes behind.
  /// Reads go on without it.
  public var onStorageError: @Sendable (any Error) -> Void = { _ in }

  /// The defaults.
  public init() {}
}
