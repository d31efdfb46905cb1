/// How a store keeps its values.
public struct StoreConfiguration<Value: Sendable>: Sendable {
  /// When a value gets to the source of truth.
  public enum Writing: Sendable {
    /// Before the caller gets the response; a failure to write fails the request.
    case through
    /// Later, on a queue of the store's own; ``Store/flush()`` tells when. A failure is reported, and nothing else.
    case behind
  }

  /// How long values are good for; for ever unless set.
  public var freshness = Freshness()

  /// The greatest number of values in memory; those of watched keys stay while they are watched.
  public var memoryCount = 1_000

  /// The greatest sum of costs in memory; no limit unless set.
  public var memoryCost = Int.max

  /// The cost of a value, in a unit of your choice, such as bytes; 1 by default. Called once for each write.
  public var cost: @Sendable (Value) -> Int = { _ in 1 }

  /// Whether a response may be kept at all, in memory or beyond: an apology that a server sends with status 200 should
  /// not. One that is not kept still goes to the caller, and to watchers that have nothing better.
  public var isCacheable: @Sendable (Value) -> Bool = { _ in true }

  /// When a value gets to the source of truth; `through` unless set.
  public var writing = Writing.through

  /// The clock by which ages are measured; the system's by default.
  public var clock = StoreClock.system

  /// Called with each error of the source of truth, on the thread that used it or on the queue that writes behind;
  /// reads go on without it.
  public var onStorageError: @Sendable (any Error) -> Void = { _ in }

  /// The defaults.
  public init() {}
}
