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

  /// Why it was set aside, on one line; `nil` while it waits.
  public internal(set) var refusal: String?

  /// How many attempts may reach the server before an entry is set aside.
  static var attemptLimit: Int { 8 }

  /// Makes an entry, to test a view of an outbox with: an outbox makes its own.
  public init(id: String, mutation: Mutation, addedAt: StoreTime, attempts: Int = 0, refusal: String? = nil) {
    self.id = id
    self.mutation = mutation
    self.addedAt = addedAt
    self.attempts = attempts
    self.refusal = refusal
  }

  var isWaiting: Bool { refusal == nil }

  var name: OutboxFileName { OutboxFileName(addedAt: addedAt, id: id) }
}
