import CommandLineBase
import HTTPClientCore
import Models
import Networking
import Repository
import Streams
import Synchronization
import SystemBase

extension MomentsCommand {
  /// Shows the timeline, and again whenever it changes, until something ends the run.
  func watch() async throws {
    let service = try service()
    let screen = TimelineScreen(self)
    let states = try states(of: service)
    let result = await interrupt.result(
      of: Task {
        for try await state in states.values(bufferingPolicy: .bufferingNewest(1)) {
          guard let details = state.details else {
            if state.isUnread { return }
            continue
          }
          if try state.isUnread || screen.show(details, upTo: arguments.count) || state.isComplete { return }
        }
        // A cancelled sequence just ends.
        try Task.checkCancellation()
      })
    await service.repo.flush()
    await service.endConnections()
    try result.get()
  }

  /// What there is to show.
  private struct WatchState: Equatable, Sendable {
    var details: MomentsDetails?
    /// How often the window has changed its size.
    var windowChanges = 0
    /// Whether the server has ended the subscription.
    var isComplete = false
    /// Whether nobody reads the output any more.
    var isUnread = false
  }

  private enum WatchEvent: Sendable {
    case timeline(MomentsDetails)
    case windowChange
    case completion
    case end
  }

  /// Each state that differs from the one before. Ends with the time of the run, fails for what ends it early.
  private func states(of service: Service) throws -> Observable<WatchState> {
    let policy = arguments.givenPolicy ?? .cacheAndNetwork
    let timelines = service.repo.snapshots(userID: arguments.userID, policy: policy).compactMap { snapshot in
      try self.details(in: snapshot).map { WatchEvent.timeline($0) }
    }
    // One subscription for all that is made of it.
    let likes = service.repo.followLikes(userID: arguments.userID).do(onNext: { event in self.tell(event) })
    let windows = interrupt.windowChanges.map { WatchEvent.windowChange }
    let end = Output.standardOutput.end.map { WatchEvent.end }
    let states = Observable.merge([windows, end, timelines, limit(likes)]).scan(WatchState()) { state, event in
      var state = state
      switch event {
      case .timeline(let details): state.details = details
      case .windowChange: state.windowChanges += 1
      case .completion: state.isComplete = true
      case .end: state.isUnread = true
      }
      return state
    }
    .distinctUntilChanged()
    guard let duration = arguments.duration else { return states }
    return states.take(until: Observable.just(()).delay(duration, scheduler: ConcurrentScheduler()))
  }

  /// The timeline in a snapshot, if it has a whole one. Fails for an error that is no outage: the server will say the
  /// same again.
  private func details(in snapshot: Snapshot<MomentsDetails>) throws -> MomentsDetails? {
    if let error = snapshot.errors.first, !RequestError(wrapping: error).isOutage, !snapshot.isFetching { throw error }
    return snapshot.isPartial ? nil : snapshot.value
  }

  /// Says what becomes of the connection.
  private func tell(_ event: LiveEvent<MomentsDetails.Moment>) {
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
  }

  /// Fails once there was no live connection for too long; emits only that the server has ended the subscription.
  private func limit(_ likes: Observable<LiveEvent<MomentsDetails.Moment>>) -> Observable<WatchEvent> {
    let limit = arguments.timeout ?? .seconds(60)
    let states: Observable<Connection> = likes.compactMap { event -> Connection? in
      switch event {
      case .disconnected(let error, _): .away(error.message)
      case .connected, .reconnected, .resumed: .there
      case .value, .failed, .dropped: nil
      }
    }
    .concat(.deferred { .just(.complete) })
    // The time counts from the loss, and not from the last attempt.
    let changes = states.startWith(.away("there is no response yet."))
      .scan((Connection.there, 0)) { (last: (Connection, Int), next: Connection) -> (Connection, Int) in
        next.isSame(as: last.0) ? (next, last.1) : (next, last.1 + 1)
      }
      .distinctUntilChanged { $0.1 == $1.1 }
    return changes.flatMapLatest { connection, _ -> Observable<WatchEvent> in
      switch connection {
      case .there: return .never()
      case .complete:
        say("moments: the server has ended the subscription")
        return .just(.completion)
      case .away(let reason):
        return Observable.just(()).delay(limit, scheduler: ConcurrentScheduler()).map {
          throw RequestError(.timedOut, "There was no live connection for \(limit / .seconds(1)) s: \(reason)")
        }
      }
    }
  }

  private enum Connection: Sendable {
    case there
    case away(String)
    case complete

    /// Whether both say that there is a connection, or both that there is none.
    func isSame(as other: Connection) -> Bool {
      switch (self, other) {
      case (.there, .there), (.away, .away), (.complete, .complete): true
      default: false
      }
    }
  }
}

/// Where timelines are shown one after the other.
private final class TimelineScreen: Sendable {
  private let command: MomentsCommand
  private let shown = Mutex<(details: MomentsDetails?, count: Int)>((nil, 0))

  init(_ command: MomentsCommand) {
    self.command = command
  }

  /// Shows a timeline, or the same one in a window of another size; returns whether that was the last of `limit`, or
  /// nobody reads it.
  func show(_ details: MomentsDetails, upTo limit: Int?) throws -> Bool {
    let (last, count) = shown.withLock { shown in
      defer { shown.details = details }
      if shown.details != details { shown.count += 1 }
      return (shown.details, shown.count)
    }
    let isRead = try Output.standardOutput.writeToReader(
      last == details ? textAgain(details) : text(details, after: last))
    return !isRead || limit.map { count >= $0 } ?? false
  }

  /// A timeline that has not changed, again: a screen may have another size.
  private func textAgain(_ details: MomentsDetails) throws -> String {
    let terminal = Terminal(descriptor: Output.standardOutput.descriptor, environment: command.environment)
    return command.arguments.showsJSON || terminal.rows == nil ? "" : try text(details, after: details)
  }

  private func text(_ details: MomentsDetails, after last: MomentsDetails?) throws -> String {
    if command.arguments.showsJSON { return try JSONOutput.text(details) }
    let terminal = Terminal(descriptor: Output.standardOutput.descriptor, environment: command.environment)
    let renderer = TimelineRenderer(columns: terminal.columns, style: terminal.style, now: command.now)
    if let rows = terminal.rows {
      return Terminal.redraw(renderer.timeline(details), rows: rows, style: terminal.style)
    }
    guard let last else { return renderer.timeline(details) }
    let old = Dictionary(last.moments.map { ($0.id, $0) }) { first, _ in first }
    let changed = details.moments.filter { old[$0.id] != $0 }
    return changed.map { "\n" + renderer.moment($0) }.joined()
  }
}

extension Output {
  /// Emits once when nobody can read any more what is written: the pipe's other end, or the socket's, is closed. A
  /// thread waits for that, until the process ends.
  var end: Observable<Void> {
    .create { [descriptor] observer in
      var status = stat()
      guard fstat(descriptor, &status) == 0, [S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT) else {
        return Disposables.create()
      }
      _ = ElasticScheduler().schedule {
        var entry = pollfd(fd: descriptor, events: 0, revents: 0)
        while poll(&entry, 1, -1) < 0 && errno == EINTR {}
        observer.onNext(())
      }
      return Disposables.create()
    }
  }
}
