import Foundation

/// Makes the TLS context, and looks from time to time whether its files have changed, on a thread that may block: this
/// reads and parses the system's certificates.
final class TLSPreparation: Sendable {
  typealias Completion = @Sendable (Result<TLSContext, RequestError>) -> Void

  private enum State {
    case none
    case running([Completion])
    /// The context was ready at that time.
    case ready(Instant)
  }

  /// How long it is not looked whether files have changed.
  private static let pause = Duration.seconds(1)
  private let context: TLSContext
  private let state = Locked(State.none)

  /// `whenReloaded` is called whenever changed files have been read, on a thread of its own.
  init(_ configuration: TLSConfiguration, whenReloaded: (@Sendable (RequestError?) -> Void)?) {
    context = TLSContext(configuration) { error in
      if let whenReloaded { ThreadPool.shared.run { whenReloaded(error) } }
    }
  }

  /// Calls back with the context: synchronously if it was ready within the last second, otherwise on another thread.
  /// After a failure, the next call tries again.
  func prepare(_ completion: @escaping Completion) {
    let (isReady, isFirst) = state.withLock { state in
      switch state {
      case .ready(let instant) where Instant.now - instant < Self.pause: return (true, false)
      case .running(let waiting):
        state = .running(waiting + [completion])
        return (false, false)
      case .none, .ready:
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
      state = isReady ? .ready(.now) : .none
      return waiting
    }
    for completion in completions { completion(result) }
  }
}
