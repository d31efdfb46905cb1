/// How a store keeps its values.
public struct StoreConfiguration<Value: Sendable>: Sendable {
  /// When a value gets to the source of truth.
  public enum Writing: Sendable {
    /// Before the one who asked is answered; a failure to write fails the request.
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

  /// What a value costs, in a unit of one's own, such as bytes; 1 unless set. Called once for each write.
  public var cost: @Sendable (Value) -> Int = { _ in 1 }

  /// Whether an answer may be kept at all, in memory or beyond: a server's "sorry" with status 200 should not. It is
  /// given to those who asked, and shown to those who watch where there is nothing better.
  public var isCacheable: @Sendable (Value) -> Bool = { _ in true }

  /// When a value gets to the source of truth; `through` unless set.
  public var writing = Writing.through

  /// The time, for ages.
  public var clock = StoreClock.system

  /// Receives what went wrong in the source of truth, on the thread that wanted it, or the queue that writes behind: reads
  /// go on without it.
  public var onStorageError: @Sendable (any Error) -> Void = { _ in }

  /// The defaults.
  public init() {}
}
