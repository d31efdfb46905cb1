import HTTPClientCore

/// A mutation that waits in an ``Outbox``, or that was set aside there.
public struct OutboxEntry<Mutation: Codable & Sendable>: Codable, Sendable, Identifiable {
  /// Identifies the entry, and is the idempotency key of all its attempts: a UUID.
  public let id: String

  /// The mutation to send.
  public let mutation: Mutation

  /// When it was added. Within a partition the times are unique, and increase from entry to entry.
  public let addedAt: StoreTime

  /// How many attempts may have reached the server: those that ended with a lost connection, a deadline, a response
  /// that cannot be decoded, or a status of 408 or 5xx; and, if the mutation is not idempotent, one that is being sent
  /// or was cut off.
  public internal(set) var attempts: Int

  /// When the first of those attempts was made, by the wall clock of that time; `nil` if there was none, or the mutation
  /// is not idempotent.
  public internal(set) var firstAttemptAt: StoreTime?

  /// For how long those attempts have been made; `nil` if there was none, or the mutation is not idempotent.
  var attempted: AttemptTime?

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

  /// The time from the first attempt to the last, as far as it is certain: the wall clock may be set between two, and the
  /// machine may boot, so it is the sum of what the machine's own time says of each step.
  struct AttemptTime: Codable, Hashable, Sendable {
    var microseconds: Int64
    var lastAt: Uptime

    var duration: Duration { .microseconds(max(microseconds, 0)) }

    mutating func add(_ now: Duration) {
      let sum = duration + lastAt.elapsed(at: now)
      (microseconds, lastAt) = (Uptime(sum).microseconds, Uptime(now))
    }
  }

  /// Counts an attempt that may have reached the server; returns whether another one may follow. An outage can be
  /// longer than any number of attempts is, so the limit is one of both number and time.
  mutating func countAttempt(now: StoreTime, uptime: Duration) -> Bool {
    attempts += 1
    firstAttemptAt = firstAttemptAt ?? now
    var attempted = attempted ?? AttemptTime(microseconds: 0, lastAt: Uptime(uptime))
    attempted.add(uptime)
    self.attempted = attempted
    return attempts < Self.attemptLimit || attempted.duration < Self.attemptTime
  }

  /// Forgets all attempts.
  mutating func forgetAttempts() { (attempts, firstAttemptAt, attempted) = (0, nil, nil) }

  var isWaiting: Bool { refusal == nil }

  var name: OutboxFileName { OutboxFileName(addedAt: addedAt, id: id) }
}

/// The content of an entry's file.
enum OutboxContent<Mutation: Codable & Sendable>: Sendable {
  case entry(OutboxEntry<Mutation>)
  case unreadable(UnreadableOutboxEntry)
}

/// An entry of an ``Outbox`` that can no longer be read, because the mutations' type has changed or the disk is
/// damaged. It stays where it is, is not sent, and delays no other.
public struct UnreadableOutboxEntry: Hashable, Encodable, Sendable, Identifiable {
  /// Identifies the entry; ``Outbox/discard(id:)`` removes it.
  public let id: String

  /// When it was added.
  public let addedAt: StoreTime

  /// Makes an entry, to test a view of an outbox with.
  public init(id: String, addedAt: StoreTime) {
    self.id = id
    self.addedAt = addedAt
  }

  init(_ name: OutboxFileName) {
    self.init(id: name.id, addedAt: name.addedAt)
  }
}

/// A change of an entry of an ``Outbox``, as observers see it.
public enum OutboxChange<Mutation: Codable & Sendable, Response: Sendable>: Sendable {
  /// The entry waits to be sent.
  case added(OutboxEntry<Mutation>)

  /// It was sent, and this is the server's response.
  case sent(OutboxEntry<Mutation>, Response)

  /// It was set aside, and is not sent again unless it is retried: the server has refused it, or it must not be sent
  /// twice.
  case refused(OutboxEntry<Mutation>, any Error)

  /// It no longer waits: it was discarded, its submitter received the reason why it was not sent, or another process
  /// has sent it or set it aside.
  case withdrawn(OutboxEntry<Mutation>)

  /// The entry.
  public var entry: OutboxEntry<Mutation> {
    switch self {
    case .added(let entry), .sent(let entry, _), .refused(let entry, _), .withdrawn(let entry): entry
    }
  }
}

/// The result of a flush of an ``Outbox``.
public struct OutboxReport<Mutation: Codable & Sendable>: Sendable {
  /// What was sent, in order.
  public internal(set) var sent: [OutboxEntry<Mutation>]

  /// What was set aside.
  public internal(set) var refused: [OutboxEntry<Mutation>]

  /// Unreadable entries: they are not sent, and stay until they are discarded.
  public internal(set) var unreadable: [UnreadableOutboxEntry]

  /// Why the rest still waits; `nil` if nothing waits any more.
  public internal(set) var error: (any Error)?

  /// Makes a report, to test a view of an outbox with.
  public init(
    sent: [OutboxEntry<Mutation>] = [], refused: [OutboxEntry<Mutation>] = [],
    unreadable: [UnreadableOutboxEntry] = [], error: (any Error)? = nil
  ) {
    self.sent = sent
    self.refused = refused
    self.unreadable = unreadable
    self.error = error
  }
}

extension OutboxEntry: Equatable where Mutation: Equatable {}

extension OutboxEntry: Hashable where Mutation: Hashable {}

extension OutboxChange: Equatable where Mutation: Equatable, Response: Equatable {
  /// Whether two changes are the same. Errors count as equal if they are of one type and have one description.
  public static func == (left: OutboxChange, right: OutboxChange) -> Bool {
    switch (left, right) {
    case (.added(let left), .added(let right)), (.withdrawn(let left), .withdrawn(let right)): left == right
    case (.sent(let left, let response), .sent(let right, let other)): left == right && response == other
    case (.refused(let left, let reason), .refused(let right, let other)):
      left == right && Optional(reason).isSame(as: other)
    default: false
    }
  }
}

extension OutboxReport: Equatable where Mutation: Equatable {
  /// Whether two reports say the same. Errors count as equal if they are of one type and have one description.
  public static func == (left: OutboxReport, right: OutboxReport) -> Bool {
    left.sent == right.sent && left.refused == right.refused && left.unreadable == right.unreadable
      && left.error.isSame(as: right.error)
  }
}
