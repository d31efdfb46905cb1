import Foundation
import Streams

/// Looks names up, off the caller's thread: once for all who ask for the same name at a time, and few at once, for the
/// system's own look-up cannot be called off.
final class AddressResolver: Sendable {
  typealias Outcome = Result<[SocketAddress], SocketAddress.LookUpError>
  typealias Completion = @Sendable (Outcome) -> Void

  private struct Name: Hashable {
    let host: String
    let port: Int
  }

  private struct State {
    var waiting: [Name: [Int: Completion]] = [:]
    /// The names that nobody looks up yet, the first one first.
    var queue: [Name] = []
    var workers = 0
    var lastNumber = 0

    /// The next name that somebody still waits for; without one the worker that asks is gone.
    mutating func takeNext() -> Name? {
      while !queue.isEmpty {
        let name = queue.removeFirst()
        if waiting[name]?.isEmpty == false { return name }
        waiting[name] = nil
      }
      workers -= 1
      return nil
    }
  }

  private let state = Locked(State())
  private let lookUp: @Sendable (String, Int) -> Outcome

  /// How many look-ups there are at once: each one blocks a thread.
  private static let mostWorkers = 8

  init(lookUp: @escaping @Sendable (String, Int) -> Outcome = { SocketAddress.lookUp($0, port: $1) }) {
    self.lookUp = lookUp
  }

  /// Calls back on a thread of its own, unless the result is disposed; a look-up that has not begun by then is not made.
  func lookUp(_ host: String, port: Int, _ completion: @escaping Completion) -> any Disposable {
    let name = Name(host: host, port: port)
    let (number, needsWorker) = state.withLock { state in
      state.lastNumber += 1
      let isFirst = state.waiting[name] == nil
      state.waiting[name, default: [:]][state.lastNumber] = completion
      if isFirst { state.queue.append(name) }
      let needsWorker = isFirst && state.workers < Self.mostWorkers
      if needsWorker { state.workers += 1 }
      return (state.lastNumber, needsWorker)
    }
    if needsWorker { DispatchQueue.unshared().async { [self] in work() } }
    return Disposables.create { [state] in
      _ = state.withLock { $0.waiting[name]?.removeValue(forKey: number) }
    }
  }

  private func work() {
    while let name = state.withLock({ $0.takeNext() }) {
      let outcome = lookUp(name.host, name.port)
      let completions = state.withLock { $0.waiting.removeValue(forKey: name) ?? [:] }
      for completion in completions.values { completion(outcome) }
    }
  }
}
