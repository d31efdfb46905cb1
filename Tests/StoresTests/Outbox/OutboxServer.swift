import Foundation
import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import SystemBase
import TestSupport

@testable import Stores

/// A server for outboxes, which can be away, say no, or get lost in the middle; it counts what reaches it.
final class OutboxServer: Sendable {
  enum Mood: Sendable {
    case answers
    /// Nothing reaches it.
    case isAway
    /// It carries out what it gets, and then the connection is lost.
    case losesAnswers
    case fails(RequestError)
    /// It never answers.
    case isSilent
  }

  struct State: Sendable {
    var mood = Mood.answers
    /// All that has reached it, in order.
    var received: [String] = []
    var keys: [String] = []
    var isBusy = false
    var overlaps = 0
    var cancellations = 0
  }

  let state = Monitor(State())

  var received: [String] { state.value.received }
  var keys: [String] { state.value.keys }

  func set(_ mood: Mood) { state.update { $0.mood = mood } }

  func send(_ mutation: String, _ key: String) -> Observable<String> {
    .create { [state] observer in
      let mood = state.update { state in
        if case .isAway = state.mood { return state.mood }
        if state.isBusy { state.overlaps += 1 }
        state.received.append(mutation)
        state.keys.append(key)
        state.isBusy = true
        return state.mood
      }
      let answer: @Sendable () -> Void = {
        state.update { $0.isBusy = false }
        switch mood {
        case .answers:
          observer.onNext("did \(mutation)")
          observer.onCompleted()
        case .isAway: observer.onError(RequestError(.cannotConnect, "Refused."))
        case .losesAnswers: observer.onError(RequestError(.connectionLost, "Reset."))
        case .fails(let error): observer.onError(error)
        case .isSilent: break
        }
      }
      if case .isSilent = mood {
        return Disposables.create { state.update { ($0.isBusy, $0.cancellations) = (false, $0.cancellations + 1) } }
      }
      DispatchQueue.global().async(execute: answer)
      return Disposables.create()
    }
  }
}

extension TemporaryFolder {
  /// An outbox in this folder.
  func outbox(
    _ server: OutboxServer, partition: String = "account", isIdempotent: Bool = true,
    lockTimeout: Duration = .seconds(60), clock: StoreClock = .system,
    scheduler: some Scheduler = TestScheduler(), fileSystem: some FileSystem = SystemFileSystem()
  ) throws -> Outbox<String, String> {
    try Outbox(
      folder: url, partition: partition, lockTimeout: lockTimeout, clock: clock, scheduler: scheduler,
      fileSystem: fileSystem,
      isIdempotent: { _ in isIdempotent }, send: { server.send($0, $1) })
  }

  /// The entries of that outbox, as another process sees them.
  func outboxFolder() throws -> OutboxFolder<String> {
    try OutboxFolder(url, partition: "account", fileSystem: SystemFileSystem())
  }
}

extension OutboxFolder {
  /// Writes an entry in the place of the one of its name; returns whether there was one.
  @discardableResult
  func replace(_ entry: Entry) throws -> Bool {
    let isThere = try update(entry.name) { old in
      old = entry
      return true
    }
    return isThere != nil
  }
}

extension Outbox<String, String> {
  /// Waits until what was submitted before is on disk, its turn is requested, and observers have it.
  func added() async {
    await onQueue {}
    await publisher.delivered()
  }

  /// Waits until the last turn that was requested, if there is one, has ended.
  func lastTurn() async {
    await added()
    _ = await state.withLock { $0.turn }?.value
    await publisher.delivered()
  }

  /// What came of submitting a mutation, in one word or two.
  func outcome(_ mutation: String) async -> String {
    do {
      return try await submit(mutation).value
    } catch OutboxError.queued(let error) {
      return "queued: \(error.kind)"
    } catch let error as RequestError {
      return "\(error.kind)"
    } catch {
      return "\(error)"
    }
  }

  /// What waits, and in brackets what was set aside.
  func contents() throws -> [String] {
    try entries().map { $0.refusal == nil ? $0.mutation : "[\($0.mutation)]" }
  }
}
