import HTTP
import Models
import Repository
import Streams
import Synchronization

extension MomentsCommand {
  /// The size of the account's cache.
  private struct CacheReport: Encodable {
    let timelines: Int
    let bytes: Int

    init(_ statistics: DiskStatistics?) {
      (timelines, bytes) = (statistics?.count ?? 0, statistics?.bytes ?? 0)
    }
  }

  /// The contents of the account's outbox.
  private struct OutboxContents: Encodable {
    let entries: [OutboxEntry<MomentLike>]
    let unreadable: [UnreadableOutboxEntry]
  }

  /// The counts of a flush.
  private struct FlushReport: Encodable {
    var sent = 0
    var refused = 0
    var waiting = 0
  }

  func showCacheStatistics() throws {
    let report = CacheReport(try service().cache?.statistics)
    try show(report) { _ in "\(counted(report.timelines, "timeline")), \(counted(report.bytes, "byte"))\n" }
  }

  func clearCache() throws {
    let cache = try service().cache
    let report = CacheReport(cache?.statistics)
    try cache?.removeAll()
    try showJSON("cleared", report)
  }

  func listOutbox() throws {
    let outbox = try service().outbox
    let kept = OutboxContents(entries: try outbox?.entries() ?? [], unreadable: try outbox?.unreadableEntries() ?? [])
    try show(kept) { _ in
      let lines = kept.entries.map { Self.line(for: $0) } + kept.unreadable.map { Self.line(for: $0) }
      return lines.isEmpty ? "nothing is queued\n" : lines.map { $0 + "\n" }.joined()
    }
  }

  /// Removes an entry, queued or set aside, from the outbox.
  func discard(_ id: String) throws {
    if try service().outbox?.discard(id: id) != true {
      throw UsageError("nothing is queued under the id '\(id)'; 'moments outbox list' shows the ids")
    }
    try showJSON("discarded", ["id": id])
  }

  /// Queues an entry again that was set aside.
  func retry(_ id: String) throws {
    if try service().outbox?.retry(id: id) != true {
      throw UsageError("nothing is set aside under the id '\(id)'; 'moments outbox list' shows the ids")
    }
    try showJSON("queued", ["id": id])
  }

  /// Sends what is queued; throws the reason if something still waits or was refused.
  func flushOutbox() async throws {
    let service = try service()
    guard let outbox = service.outbox else { return try show(FlushReport()) }
    let refusal = Mutex<(any Error)?>(nil)
    let watching = outbox.changes.subscribe(onNext: { change in
      if case .refused(_, let error) = change { refusal.withLock { $0 = $0 ?? error } }
    })
    defer { watching.dispose() }
    let report = try await answer(.async { await outbox.flush(evenDuringPause: true) }, from: service)
    let waiting = try outbox.entries().filter { $0.refusal == nil }.count
    let counts = FlushReport(sent: report.sent.count, refused: report.refused.count, waiting: waiting)
    try show(counts)
    for entry in report.unreadable { say("moments: not sent: \(Self.line(for: entry))") }
    if let error = report.error { throw error }
    if let error = refusal.withLock({ $0 }) ?? report.unreadable.first.map({ OutboxError.unreadable($0) }) {
      throw ToldError(cause: error)
    }
  }

  private func show(_ counts: FlushReport) throws {
    try show(counts) { _ in "\(counts.sent) sent, \(counts.refused) refused, \(counts.waiting) waiting\n" }
  }

  private static func line(for entry: OutboxEntry<MomentLike>) -> String {
    let age = Age.words(StoreTime.now() - entry.addedAt)
    let line = "\(entry.refusal == nil ? "waiting" : "refused")  \(entry.id)  \(entry.mutation.words), \(age)"
    return (line + (entry.refusal.map { ": \($0)" } ?? "")).sanitized(upTo: 2_000)
  }

  private static func line(for entry: UnreadableOutboxEntry) -> String {
    "unreadable  \(entry.id), \(Age.words(StoreTime.now() - entry.addedAt))".sanitized(upTo: 2_000)
  }

  /// The message about an outbox's change while the command does something else; `nil` for none.
  static func line(for change: OutboxChange<MomentLike, MomentsDetails>, since start: StoreTime) -> String? {
    switch change {
    case .sent(let entry, _) where entry.addedAt < start:
      "moments: '\(entry.mutation.words)' was queued \(Age.words(start - entry.addedAt)), and is sent now."
    case .refused(let entry, let error):
      "\(ErrorLine(error)) '\(entry.mutation.words)' was queued \(Age.words(start - entry.addedAt)), and is set aside."
    case .added, .sent, .withdrawn: nil
    }
  }
}

extension MomentLike {
  /// The like as arguments of the command.
  var words: String { "\(isLiked ? "like" : "unlike") \(momentID) --user \(userID)" }
}
