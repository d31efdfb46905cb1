import GraphQLClient
public import HTTPClientCore
public import Streams

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
  /// do so: by default only in an outage (`RequestError.isOutage`; RFC 5861, section 4), so that a user whose token is
  /// revoked, or who may no longer see something, gets no data. Called on the thread on which the request failed;
  /// errors of other types are wrapped, with the kind `unknown`.
  public var mayServeStale: @Sendable (RequestError) -> Bool = { $0.isOutage }

  /// What becomes of cached values when a request fails with an error that is not an outage by ``mayServeStale``;
  /// ``FailureEffect/standard(for:)`` by default. Called as that is.
  public var effectOfFailure: @Sendable (RequestError) -> FailureEffect = { .standard(for: $0) }

  /// How long a key is not requested again after its request has failed: a second after the first failure, twice as
  /// long after each further one, and at most 30 seconds, each by default with a random part of up to a half; or as
  /// long as the server asks for (`Retry-After`), up to an hour. `nil` requests it with each read.
  ///
  /// Meanwhile, reads whose policy reads the cache fail at once with the same error, or return a stale value, as they
  /// do after a request of their own. `networkOnly`, so also ``Store/fresh(_:context:)``, and `noCache` make a request
  /// in any case, and so does `invalidate(_:)`. It ends when a value is cached or the key is invalidated or removed.
  /// After a refusal (401, 403) and a cancellation there is none: the next read may have another token. Measured by the
  /// ``clock``.
  public var backoff: Backoff? = Backoff(initial: .seconds(1), maximum: .seconds(30), jitter: 0.5)

  /// The greatest number of values in memory; values of watched keys are held in addition while they are watched.
  public var memoryCount = 1_000

  /// The greatest sum of costs in memory; no limit by default.
  public var memoryCost = Int.max

  /// How long a value stays in memory without being read or written: this long, or up to a quarter longer; an hour by
  /// default, `nil` for no limit. It stays in the source of truth. Measured by the scheduler of the ``clock``.
  public var idleTime: Duration? = .seconds(3_600)

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
  /// Reads continue without it.
  public var onStorageError: @Sendable (any Error) -> Void = { _ in }

  /// The newer of two values of a key, if values have an order of their own.
  var newer: (@Sendable (Value, Value) -> Value)?

  /// When a value becomes stale, if that is known otherwise than by its age.
  var staleDate: (@Sendable (Value) -> StaleDate?)?

  /// Whether a value is only a part of one, so that a response with errors is no worse.
  var isPart: (@Sendable (Value) -> Bool)?

  /// The defaults.
  public init() {}
}

/// What becomes of a store's cached values when a request fails.
public enum FailureEffect: Hashable, Sendable {
  /// They stay as they are.
  case keep

  /// The value of the requested key is removed, also from the source of truth.
  case remove

  /// All values are hidden, and kept: until a request or mutation that begins later succeeds, reads and watchers get
  /// only what is written after the failure.
  case hideAll

  /// All values are removed, also from the source of truth.
  case removeAll

  /// The effect of a refusal on what the server gave before: `hideAll` if the user has to sign in again
  /// (`RequestError.isUnauthenticated`), since the reader may no longer be the same user; `remove` if the user may not
  /// see this (`RequestError.isForbidden`); `keep` after any other failure.
  public static func standard(for error: RequestError) -> FailureEffect {
    if error.isUnauthenticated { return .hideAll }
    return error.isForbidden ? .remove : .keep
  }
}

/// How long cached values may be used. A limit of `nil` means no limit.
public struct Freshness: Hashable, Sendable {
  /// The age at which a value becomes stale: it is still shown, but `cacheFirst` makes a request.
  public var staleTime: Duration?

  /// The age at which a partial value becomes stale, if it is not by ``staleTime``; ten seconds by default. So a field
  /// that fails does not turn the cache off. A complete value that a partial response did not replace, since it is
  /// better, is served as long, even if it is stale.
  public var partialTime: Duration

  /// The age from which a value is refreshed before it becomes stale: a read with `cacheFirst` or
  /// `staleWhileRevalidate` returns it, and the store makes a request of its own.
  public var refreshAfterWrite: Duration?

  /// The age at which a value expires, and counts as missing.
  public var expireAfterWrite: Duration?

  /// How long after its last read a value expires. Only reads in this process count; a value loaded from disk counts as
  /// read when it was written.
  public var expireAfterAccess: Duration?

  /// The greatest age of a value that may be returned when a request fails, see ``StoreConfiguration/mayServeStale``; a
  /// week by default.
  public var staleIfError: Duration?

  /// Makes a set of limits; by default, only those of ``staleIfError`` and ``partialTime``.
  public init(
    staleTime: Duration? = nil, partialTime: Duration = .seconds(10), refreshAfterWrite: Duration? = nil,
    expireAfterWrite: Duration? = nil, expireAfterAccess: Duration? = nil,
    staleIfError: Duration? = .seconds(7 * 86_400)
  ) {
    self.staleTime = staleTime
    self.partialTime = partialTime
    self.refreshAfterWrite = refreshAfterWrite
    self.expireAfterWrite = expireAfterWrite
    self.expireAfterAccess = expireAfterAccess
    self.staleIfError = staleIfError
  }
}

/// A date in the future, as after the clock was set back, says nothing about the age: such a value is stale, but not
/// expired, and may be returned when a request fails.
extension Freshness {
  @inlinable func isStale<Value>(_ cached: CachedValue<Value>, now: StoreTime) -> Bool {
    if cached.isInvalidated || cached.writtenAt > now || cached.staleDate?.isPast(now) == true { return true }
    if cached.isPartial, now - cached.writtenAt >= partialTime { return true }
    return staleTime.map { now - cached.writtenAt >= $0 } ?? false
  }

  @inlinable func isRefreshDue<Value>(_ cached: CachedValue<Value>, now: StoreTime) -> Bool {
    refreshAfterWrite.map { now - cached.writtenAt >= $0 } ?? false
  }

  /// Whether it has expired for every process, however lately one has read it.
  @inlinable func isTooOld<Value>(_ cached: CachedValue<Value>, now: StoreTime) -> Bool {
    expireAfterWrite.map { now - cached.writtenAt >= $0 } ?? false
  }

  @inlinable func isExpired<Value>(_ cached: CachedValue<Value>, now: StoreTime) -> Bool {
    if isTooOld(cached, now: now) { return true }
    if let limit = expireAfterAccess, now - cached.readAt >= limit { return true }
    return false
  }

  func isUsableOnError<Value>(_ cached: CachedValue<Value>, now: StoreTime) -> Bool {
    staleIfError.map { now - cached.writtenAt <= $0 } ?? true
  }
}

/// Tells a store the time: the system's wall clock, or that of a scheduler, which a test can move.
public struct StoreClock: Sendable {
  @usableFromInline let time: @Sendable () -> StoreTime
  /// For what has to be done at a time.
  let scheduler: any Scheduler

  /// A clock that calls a closure, on any thread.
  /// - Parameters:
  ///   - scheduler: Runs what has to be done at a time, such as releasing idle values.
  ///   - time: The time now.
  public init(scheduler: some Scheduler = ConcurrentScheduler(), _ time: @escaping @Sendable () -> StoreTime) {
    self.scheduler = scheduler
    self.time = time
  }

  /// The system's wall clock.
  public static let system = StoreClock { StoreTime.now() }

  /// A clock that follows a scheduler, and reads `start` at the scheduler's time zero.
  public static func scheduler(
    _ scheduler: some Scheduler, start: StoreTime = StoreTime(microseconds: 0)
  ) -> StoreClock {
    StoreClock(scheduler: scheduler) { start + scheduler.now }
  }

  /// The time now.
  @inlinable public var now: StoreTime { time() }
}
