/// A mutation that waits in an ``Outbox``, or that was set aside there.
public struct OutboxEntry<Mutation: Codable & Sendable>: Codable, Sendable, Identifiable {
  /// Identifies the entry, and is the idempotency key of all its attempts: a UUID.
  public let id: String

  /// The mutation to send.
  public let mutation: Mutation

  /// When it was added. Within a partition the times are unique, and increase from entry to entry.
  public let addedAt: StoreTime

  /// How many attempts may have reached the server: those that ended with a lost connection, a deadline, a response
  /// that cannot be decoded, or a status of 408 or 5xx; and, if the mutation is not idempotent, one that is under way
  /// or was cut off.
  public internal(set) var attempts: Int

  /// When the first of those attempts was made; `nil` if there was none, or the mutation is not idempotent.
  public internal(set) var firstAttemptAt: StoreTime?

  /// Why it was set aside, on one line; `nil` while it waits.
  public internal(set) var refusal: String?

  /// How many attempts may reach the server, at least, before an entry is set aside.
  static var attemptLimit: Int { 8 }

  /// For how long attempts may reach the server, at least, before an entry is set aside.
  static var attemptTime: Duration { .seconds(3_600) }

  /// Makes an entry, to test a view of an outbox with: an outbox makes its own.
  public init(
    id: String, mutation: Mutation, addedAt: StoreTime, attempts: Int = 0, refusal: String? = nil,
    firstAttemptAt: StoreTime? = nil
  ) {
    self.id = id
    self.mutation = mutation
    self.addedAt = addedAt
    self.attempts = attempts
    self.refusal = refusal
    self.firstAttemptAt = firstAttemptAt
  }

  /// Counts an attempt that may have reached the server; returns whether another one may follow. An outage can be
  /// longer than any number of attempts is, so the limit is one of both number and time.
  mutating func countAttempt(now: StoreTime) -> Bool {
    attempts += 1
    let first = firstAttemptAt.map { min($0, now) } ?? now
    firstAttemptAt = first
    return attempts < Self.attemptLimit || now - first < Self.attemptTime
  }

  /// Forgets all attempts.
  mutating func forgetAttempts() { (attempts, firstAttemptAt) = (0, nil) }

  var isWaiting: Bool { refusal == nil }

  var name: OutboxFileName { OutboxFileName(addedAt: addedAt, id: id) }
}
