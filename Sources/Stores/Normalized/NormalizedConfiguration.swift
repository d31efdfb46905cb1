public import GraphQLClient
public import HTTPClientCore
public import Streams

/// How a normalised store caches; see ``StoreConfiguration``, whose words these are.
public struct NormalizedConfiguration: Sendable {
  /// When a change is written to disk.
  public enum Writing: Sendable {
    /// Before the caller gets the response.
    case through
    /// Later, on a thread of its own; ``NormalizedStore/flush()`` returns when all is written.
    case behind
  }

  /// How long the response to an operation may be used; without limit by default. What other operations bring of it does
  /// not make it younger.
  public var freshness = Freshness()

  /// How long what the server has said may be used, by type and field, beside ``freshness``: of `User`, all fields but its
  /// key; of `Issue.state`, that field, whatever its type has. A value becomes stale when the first of what it was read of
  /// does, and any operation, mutation or push that has the same objects makes it younger.
  ///
  ///     configuration.staleTimes = ["Query.prices": .seconds(5), "User": .seconds(3_600)]
  ///
  /// The types are object types that have a key, or the roots of operations. For an object without a key, name the field
  /// that has it. What only ``NormalizedStore/update(_:)`` has set is as old as the store. A field whose list comes in pages
  /// is as old as the page that came last.
  public var staleTimes: [String: Duration] = [:]

  /// Whether what is cached may be returned in the place of a request that failed with this error; by default only in an
  /// outage. See ``StoreConfiguration/mayServeStale``.
  public var mayServeStale: @Sendable (RequestError) -> Bool = { $0.isOutage }

  /// What becomes of what is cached when a request fails with an error that is not an outage;
  /// ``FailureEffect/standard(for:)`` by default. `remove` makes missing what the operation begins with.
  public var effectOfFailure: @Sendable (RequestError) -> FailureEffect = { .standard(for: $0) }

  /// How long an operation is not requested again after its request has failed; see ``StoreConfiguration/backoff``.
  public var backoff: Backoff? = Backoff(initial: .seconds(1), maximum: .seconds(30), jitter: 0.5)

  /// How long an operation is not requested again because other operations have left something missing; ten seconds by
  /// default. They are requested after the pause, which doubles, up to a minute, as long as that continues. So two operations
  /// whose responses take something from each other are not requested without a pause.
  public var missPause: Duration = .seconds(10)

  /// The greatest number of operations whose values are kept decoded, and whose records are retained; values of watched
  /// operations are held in addition.
  public var memoryCount = 1_000

  /// How long the value of an operation is kept without being read: this long, or up to a quarter longer; an hour by
  /// default, `nil` for no limit.
  public var idleTime: Duration? = .seconds(3_600)

  /// The size of the records, in bytes, from which those are dropped that no kept value was read of; 64 MiB by default.
  public var collectionThreshold = 64 << 20

  /// The client that sends an operation, by the context of the read that needs it: one with the user's token, for
  /// example. The store's own by default.
  public var clientForContext: @Sendable (APIClient, ReadContext) -> APIClient = { client, _ in client }

  /// When a change is written to disk, if the store has a folder; `through` by default. If that fails, the change is
  /// still in memory, and the response goes to the caller, and the error is reported to ``onStorageError``.
  public var writing = Writing.through

  /// Called with each error of the disk, such as a ``FileError`` or a ``NormalizedStorageError``, on the thread that
  /// used it. The store continues without what is not there.
  public var onStorageError: @Sendable (any Error) -> Void = { _ in }

  /// The clock by which ages are measured; the system's by default.
  public var clock = StoreClock.system

  /// The defaults.
  public init() {}

  /// No records yet.
  func records(_ schema: RecordSchema) -> NormalizedRecords {
    NormalizedRecords(schema, staleTimes: staleTimes, now: clock.now)
  }

  /// The configuration of the store of values.
  var ofValues: StoreConfiguration<NormalizedValue> {
    var values = StoreConfiguration<NormalizedValue>()
    values.freshness = freshness
    values.mayServeStale = mayServeStale
    values.effectOfFailure = effectOfFailure
    values.backoff = backoff
    values.memoryCount = memoryCount
    values.idleTime = idleTime
    values.clock = clock
    values.onStorageError = onStorageError
    values.newer = { $0.number > $1.number ? $0 : $1 }
    values.isPart = { $0.isPartial }
    if !staleTimes.isEmpty { values.staleDate = { $0.lease?.staleDate } }
    // Nobody would notice its changes.
    values.isCacheable = { $0.lease != nil }
    return values
  }
}
