import HTTP
import Models
import Networking
import Repository
import Streams
import Synchronization

extension MomentsCommand {
  /// Shows the timeline, and again whenever it changes, until something ends the run.
  func watch() async throws {
    let service = try service()
    let screen = TimelineScreen(self)
    let timelines = try timelines(of: service)
    let result = await interrupt.result(
      of: Task {
        for try await details in timelines.values(bufferingPolicy: .bufferingNewest(1)) {
          if try screen.show(details, upTo: arguments.count) { return }
        }
        // A cancelled sequence just ends.
        try Task.checkCancellation()
      })
    await service.repo.flush()
    await service.endConnections()
    try result.get()
  }

  /// Each timeline that differs from the one before. Ends with the time of the run, fails for what ends it early.
  private func timelines(of service: Service) throws -> Observable<MomentsDetails> {
    let policy = arguments.givenPolicy ?? .cacheAndNetwork
    let likes = service.repo.followLikes(userID: arguments.userID).share()
    let details = service.repo.snapshots(userID: arguments.userID, policy: policy).compactMap { snapshot in
      try self.details(in: snapshot)
    }
    let sources = [details, told(likes), limit(likes)]
    let all = Observable.merge(sources).distinctUntilChanged()
    guard let duration = arguments.duration else { return all }
    return all.take(until: Observable.just(()).delay(duration, scheduler: ConcurrentScheduler()))
  }

  /// The timeline in a snapshot, if it has a whole one. Fails for an error that is no outage: the server will say the
  /// same again.
  private func details(in snapshot: Snapshot<MomentsDetails>) throws -> MomentsDetails? {
    if let error = snapshot.errors.first, !RequestError(wrapping: error).isOutage, !snapshot.isFetching { throw error }
    return snapshot.isPartial ? nil : snapshot.value
  }

  /// Says what becomes of the connection; emits nothing.
  private func told(_ likes: Observable<LiveEvent<MomentsDetails.Moment>>) -> Observable<MomentsDetails> {
    likes.compactMap { [arguments] event in
      switch event {
      case .connected: if arguments.isVerbose { say("watch: connected") }
      case .disconnected(let error, let pause):
        let seconds = String(Double(Int(pause / .milliseconds(100))) / 10)
        say("\(ErrorLine(error)) Trying again in \(seconds) s.")
      case .reconnected, .resumed: say("moments: connected again")
      case .dropped(let count): say("moments: \(count) changes came too fast, and are fetched")
      case .failed(let error): say("\(ErrorLine(error)) The timeline is fetched.")
      case .value: break
      }
      return nil
    }
  }

  /// Fails once there was no live connection for too long; emits nothing.
  private func limit(_ likes: Observable<LiveEvent<MomentsDetails.Moment>>) -> Observable<MomentsDetails> {
    let limit = arguments.timeout ?? .seconds(60)
    let state = likes.compactMap { event -> Connection? in
      switch event {
      case .disconnected(let error, _): .away(error.message)
      case .connected, .reconnected, .resumed: .there
      case .value, .failed, .dropped: nil
      }
    }
    return state.startWith(.away("there is no response yet.")).scan((Connection.there, 0)) { last, next in
      // The time counts from the loss, and not from the last attempt.
      next.isThere == last.0.isThere ? (next, last.1) : (next, last.1 + 1)
    }
    .distinctUntilChanged { $0.1 == $1.1 }
    .flatMapLatest { connection, _ -> Observable<MomentsDetails> in
      guard case .away(let reason) = connection else { return .never() }
      return Observable.just(()).delay(limit, scheduler: ConcurrentScheduler()).map {
        throw RequestError(.timedOut, "There was no live connection for \(limit / .seconds(1)) s: \(reason)")
      }
    }
  }

  private enum Connection: Sendable {
    case there
    case away(String)

    var isThere: Bool { if case .there = self { true } else { false } }
  }
}

/// Where timelines are shown one after the other.
private final class TimelineScreen: Sendable {
  private let command: MomentsCommand
  private let shown = Mutex<(details: MomentsDetails?, count: Int)>((nil, 0))

  init(_ command: MomentsCommand) {
    self.command = command
  }

  /// Shows a timeline; returns whether that was the last of `limit`.
  func show(_ details: MomentsDetails, upTo limit: Int?) throws -> Bool {
    let (last, count) = shown.withLock { shown in
      defer { shown.details = details }
      shown.count += 1
      return (shown.details, shown.count)
    }
    try Output.standardOutput.write(text(details, after: last))
    return limit.map { count >= $0 } ?? false
  }

  private func text(_ details: MomentsDetails, after last: MomentsDetails?) throws -> String {
    if command.arguments.showsJSON { return try JSONOutput.text(details) }
    let terminal = Terminal(descriptor: Output.standardOutput.descriptor, environment: command.environment)
    let renderer = TimelineRenderer(columns: terminal.columns, style: terminal.style, now: command.now)
    if let rows = terminal.rows {
      // What does not fit would scroll.
      let lines = renderer.timeline(details).split(separator: "\n", omittingEmptySubsequences: false)
      return Terminal.redraw(lines.prefix(max(rows - 1, 1)))
    }
    guard let last else { return renderer.timeline(details) }
    let old = Dictionary(last.moments.map { ($0.id, $0) }) { first, _ in first }
    let changed = details.moments.filter { old[$0.id] != $0 }
    return changed.map { "\n" + renderer.moment($0) }.joined()
  }
}
