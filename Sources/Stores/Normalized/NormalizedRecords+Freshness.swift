import SystemBase

/// When the responses to operations came, and what was requested because something was missing.
extension NormalizedRecords {
  /// What is known of a key beside its records.
  struct Freshness: Sendable {
    /// When its latest response came.
    var writtenAt: StoreTime
    /// The number of its latest invalidation, unless what was requested later has come.
    var invalidatedAt: UInt64?
    /// When it was last requested because something was missing, and how often in a row.
    var missed: (at: StoreTime, count: Int)?
    /// Whether it will be looked after the next pause.
    var awaitsRetry = false

    var isInvalidated: Bool { invalidatedAt != nil }
  }

  /// What is known of a key's operation beside its records.
  func freshness(of key: NormalizedKey) -> Freshness { known(of: key.operation) }

  func known(of key: NormalizedKey) -> Freshness {
    if let known = freshness.peek(key) { return known }
    guard let kept = log?.operation(key) else { return Freshness(writtenAt: emptyAt) }
    return Freshness(writtenAt: kept.writtenAt, invalidatedAt: kept.isInvalidated ? 0 : nil)
  }

  private mutating func modifyFreshness(of key: NormalizedKey, _ change: (inout Freshness) -> Void) {
    var known = known(of: key)
    change(&known)
    _ = freshness.write(known, for: key, cost: 1)
    if key.source.form == .partial { return }
    log?.note(.init(writtenAt: known.writtenAt, isInvalidated: known.isInvalidated), of: key)
  }

  /// Notes that the response to an operation has come, which was requested by a change.
  mutating func noteResponse(of key: NormalizedKey, to change: Change, at now: StoreTime) {
    modifyFreshness(of: key.operation) { known in
      known.writtenAt = now
      // One that was requested before says nothing about what made the operation invalid.
      if let number = known.invalidatedAt, number < change.number { known.invalidatedAt = nil }
    }
  }

  /// Marks an operation as out of date, until the response to a later request.
  mutating func invalidate(_ key: NormalizedKey) {
    let number = next()
    modifyFreshness(of: key.operation) { $0.invalidatedAt = number }
  }

  /// How long a key is not to be requested because something is missing: two keys whose responses take something from
  /// each other are not requested for ever. The pause doubles as long as that continues, up to a minute, or what it was.
  func missDelay(of key: NormalizedKey, now: StoreTime, pause: Duration) -> Duration {
    guard let missed = freshness.peek(key)?.missed, now >= missed.at else { return .zero }
    return max(.zero, Self.missPause(pause, missed.count) - (now - missed.at))
  }

  private static func missPause(_ pause: Duration, _ count: Int) -> Duration {
    min(pause * (1 << min(max(count - 1, 0), 16)), max(pause, .seconds(60)))
  }

  /// Notes that a key was requested because something was missing.
  mutating func noteMissRequest(of key: NormalizedKey, now: StoreTime, pause: Duration) {
    modifyFreshness(of: key) { known in
      let isInRow = known.missed.map { now >= $0.at && now - $0.at < Self.missPause(pause, $0.count) * 2 } ?? false
      known.missed = (now, isInRow ? (known.missed?.count ?? 0) + 1 : 1)
    }
  }

  /// Notes that a key will be looked at after a pause, or was; returns whether that is news.
  mutating func setAwaitsRetry(_ awaits: Bool, of key: NormalizedKey) -> Bool {
    if known(of: key).awaitsRetry == awaits { return false }
    modifyFreshness(of: key) { $0.awaitsRetry = awaits }
    return true
  }
}
