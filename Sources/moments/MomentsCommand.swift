import CommandLineBase
import HTTPClientCore
import Models
import Networking
import Repository
import Streams
import Synchronization
import SystemBase

/// One run of the command.
@main
struct MomentsCommand {
  let arguments: Arguments
  let environment: [String: String]
  let interrupt: Interrupt

  static func main() async {
    Output.prepare()
    let interrupt = Interrupt()
    do {
      let environment = ProcessInfo.processInfo.environment
      let arguments = try Arguments(CommandLine.validArguments(), environment: environment)
      try await MomentsCommand(arguments: arguments, environment: environment, interrupt: interrupt).run()
    } catch {
      let error = interrupt.named(error)
      if !(error is ToldError) { Output.standardError.say("\(ErrorLine(error))") }
      exit(ExitCode(error).rawValue)
    }
  }

  private func run() async throws {
    switch arguments.action {
    case .help: try Output.standardOutput.write(Help.text)
    case .version: try Output.standardOutput.write(Help.version)
    case .timeline: try await showTimeline()
    case .watch: try await watch()
    case .updateLike(let isLiked, let momentID): try await updateLike(isLiked, momentID)
    case .postPhoto(let path): try await postPhoto(path)
    case .cacheStatistics: try showCacheStatistics()
    case .clearCache: try clearCache()
    case .listOutbox: try listOutbox()
    case .flushOutbox: try await flushOutbox()
    case .discard(let id): try discard(id)
    case .retry(let id): try retry(id)
    }
  }

  /// The stream's only element; the first Ctrl-C cancels it. Whatever was cached on the way is on disk when this ends,
  /// even if it throws.
  func answer<Value>(_ stream: Observable<Value>, from service: Service) async throws -> Value {
    let result = await interrupt.result(of: Task { try await stream.value })
    await service.repo.flush()
    return try result.get()
  }

  func show(_ result: some Encodable, _ draw: (TimelineRenderer) throws -> String) throws {
    guard !arguments.showsJSON else { return try Output.standardOutput.write(JSONOutput.text(result)) }
    let terminal = Terminal(descriptor: Output.standardOutput.descriptor, environment: environment)
    try Output.standardOutput.write(draw(TimelineRenderer(columns: terminal.columns, style: terminal.style, now: now)))
  }

  /// Prints what was done for programs (`--json`); for people, no message means success.
  func showJSON<Value: Encodable>(_ name: String, _ value: @autoclosure () throws -> Value) throws {
    if arguments.showsJSON { try Output.standardOutput.write(JSONOutput.text([name: value()])) }
  }

  /// Opens the service, and prints messages about queued likes as they are sent or refused.
  func service() throws -> Service {
    let start = StoreTime.now()
    let service = try Service(arguments, now: now, say: { Output.standardError.say($0) })
    _ = service.outbox?.changes.subscribe(onNext: { change in
      if let line = Self.line(for: change, since: start) { Output.standardError.say(line.sanitized(upTo: 2_000)) }
    })
    return service
  }

  func say(_ line: String) { Output.standardError.say(line.sanitized(upTo: 4_000)) }

  var now: Int64 { Int64(Date().timeIntervalSince1970) }
}

extension MomentsCommand {
  func showTimeline() async throws {
    let service = try service()
    var snapshot = try await answer(timeline(arguments.policy, from: service), from: service)
    let error = snapshot.errors.first
    if snapshot.isPartial, let error {
      // A partial timeline counts as a failure.
      guard arguments.policy == .networkFirst,
        let kept = try? await answer(timeline(.cacheOnly, from: service), from: service), !kept.isPartial
      else { throw error }
      snapshot = kept
    }
    let details = try snapshot.requireValue()
    if let error {
      say("\(ErrorLine(error)) This is the timeline as it was kept \(Age.words(snapshot.age)).")
    } else if arguments.isVerbose {
      say("timeline: \(origin(of: snapshot))")
    }
    try show(details) { $0.timeline(details) }
    // Without a network, showing the cached timeline is a success.
    if let error, ExitCode(error) != .unreachable { throw ToldError(cause: error) }
  }

  private func timeline(_ policy: FetchPolicy, from service: Service) -> Observable<Snapshot<MomentsDetails>> {
    service.repo.getMoments(userID: arguments.userID, policy: policy)
  }

  /// Where a timeline came from, and how old it is.
  private func origin(of snapshot: Snapshot<MomentsDetails>) -> String {
    let age = Age.words(snapshot.age)
    return switch snapshot.source {
    case .network: "from the \(arguments.endpoint == nil ? "sample data" : "server"), \(age)"
    case .optimistic: "\(age), with queued likes"
    case .memory, .disk, nil: "from the cache, \(age)"
    }
  }

  func updateLike(_ isLiked: Bool, _ momentID: String) async throws {
    let service = try service()
    let (like, start) = (MomentLike(isLiked: isLiked, momentID: momentID, userID: arguments.userID), StoreTime.now())
    let words = like.words
    let queued = { try service.outbox?.entries().last { $0.mutation == like && $0.addedAt >= start } }
    do {
      let update = service.repo.updateLike(isLiked: isLiked, momentID: momentID, fromUserID: arguments.userID)
      let details = try await answer(update, from: service)
      guard let moment = details.moments.first(where: { $0.id == momentID }) else {
        throw RequestError(.undecodable, "The response does not contain the moment '\(momentID)'.")
      }
      try show(details) { $0.moment(moment) }
    } catch OutboxError.queued(let error) {
      say("\(ErrorLine(error)) '\(words)' is queued, and will be sent by the next run \(account).")
      try showJSON("queued", queued())
      // If the server was not reached, a queued like is a success; if it was queued for another reason, the user has to
      // fix something first.
      if [.notAllowed, .usage].contains(ExitCode(error)) { throw ToldError(cause: error) }
    } catch let error as CancellationError {
      if (try? queued()) != nil { say("'\(words)' is queued, since it may have been sent.") }
      throw error
    } catch OutboxError.sentElsewhere {
      say("moments: '\(words)' was sent by another run of the command.")
      try showJSON("sent", like)
    } catch let error as OutboxError {
      guard case .discarded = error else { throw error }
      say("moments: '\(words)' was discarded by another run of the command, and not sent.")
      throw ToldError(cause: error)
    }
  }

  /// Describes the account that a like is queued for.
  private var account: String {
    "with --user \(arguments.userID)\(arguments.endpoint == nil ? "" : " at this endpoint")"
  }
}

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
