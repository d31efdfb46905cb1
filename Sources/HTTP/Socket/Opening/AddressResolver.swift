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
    var lastNumber = 0
  }

  private let state = Locked(State())
  private let queue: OperationQueue
  private let lookUp: @Sendable (String, Int) -> Outcome

  init(lookUp: @escaping @Sendable (String, Int) -> Outcome = { SocketAddress.lookUp($0, port: $1) }) {
    self.lookUp = lookUp
    queue = OperationQueue()
    queue.name = "SocketTransport.AddressResolver"
    queue.maxConcurrentOperationCount = 8
  }

  /// Calls back on a thread of its own, unless the result is disposed; a look-up that has not begun by then is not made.
  func lookUp(_ host: String, port: Int, _ completion: @escaping Completion) -> any Disposable {
    let name = Name(host: host, port: port)
    let (number, isFirst) = state.withLock { state in
      state.lastNumber += 1
      let isFirst = state.waiting[name] == nil
      state.waiting[name, default: [:]][state.lastNumber] = completion
      return (state.lastNumber, isFirst)
    }
    if isFirst { queue.addOperation { [self] in lookUp(name) } }
    return Disposables.create { [state] in
      _ = state.withLock { $0.waiting[name]?.removeValue(forKey: number) }
    }
  }

  private func lookUp(_ name: Name) {
    let isWanted = state.withLock { state in
      if state.waiting[name]?.isEmpty ?? true { state.waiting[name] = nil }
      return state.waiting[name] != nil
    }
    guard isWanted else { return }
    let outcome = lookUp(name.host, name.port)
    let completions = state.withLock { $0.waiting.removeValue(forKey: name) ?? [:] }
    for completion in completions.values { completion(outcome) }
  }
}
