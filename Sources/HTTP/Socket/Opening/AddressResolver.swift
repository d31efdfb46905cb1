import Foundation
import Streams

/// Resolves host names away from the caller's thread. Simultaneous requests for the same name share one look-up, and
/// few look-ups run at once, because the system's look-up cannot be cancelled.
final class AddressResolver: Sendable {
  typealias Outcome = Result<[SocketAddress], SocketAddress.LookUpError>
  typealias Completion = @Sendable (Outcome) -> Void

  private struct Name: Hashable {
    let host: String
    let port: Int
  }

  private struct State {
    var waiting: [Name: [Int: Completion]] = [:]
    /// The names that no worker has taken yet, in order.
    var queue: [Name] = []
    var workers = 0
    var lastNumber = 0

    /// The next name that is still wanted. If there is none, the calling worker counts as gone.
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

  /// How many look-ups may run at once: each one blocks a thread.
  private static let mostWorkers = 8

  init(lookUp: @escaping @Sendable (String, Int) -> Outcome = { SocketAddress.lookUp($0, port: $1) }) {
    self.lookUp = lookUp
  }

  /// Calls back on a worker's thread, unless the result is disposed; a look-up that has not begun by then is skipped if
  /// nobody else waits for it.
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
