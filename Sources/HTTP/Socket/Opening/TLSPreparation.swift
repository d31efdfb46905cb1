import Foundation

/// Makes the TLS context once, on a thread that may block: this reads and parses the system's certificates.
final class TLSPreparation: Sendable {
  typealias Completion = @Sendable (Result<TLSContext, RequestError>) -> Void

  private enum State {
    case none
    case running([Completion])
    case ready
  }

  private let context: TLSContext
  private let state = Locked(State.none)

  init(_ configuration: TLSConfiguration) {
    context = TLSContext(configuration)
  }

  /// Calls back with the context: synchronously if it is ready, otherwise on another thread. After a failure, the next
  /// call tries again.
  func prepare(_ completion: @escaping Completion) {
    let (isReady, isFirst) = state.withLock { state in
      switch state {
      case .ready: return (true, false)
      case .running(let waiting):
        state = .running(waiting + [completion])
        return (false, false)
      case .none:
        state = .running([completion])
        return (false, true)
      }
    }
    if isReady { completion(.success(context)) }
    if isFirst { ThreadPool.shared.run { [self] in prepare() } }
  }

  private func prepare() {
    let result = Result { () throws(RequestError) in
      try context.prepare()
      return context
    }
    let isReady = if case .success = result { true } else { false }
    let completions = state.withLock { state -> [Completion] in
      guard case .running(let waiting) = state else { return [] }
      state = isReady ? .ready : .none
      return waiting
    }
    for completion in completions { completion(result) }
  }
}
