import SystemBase

/// What waits for one receiver: posted under the lock of the sender, and so in one order for all, and handed over without
/// it, one letter at a time.
///
/// The first thread that delivers also delivers what others post meanwhile; so a receiver that is slow, or never returns,
/// blocks no thread but the one that has called it.
final class Mailbox<Content: Sendable>: Sendable {
  private let state: Locked<(content: Content, isDelivering: Bool)>

  init(_ content: Content) { state = Locked((content, false)) }

  /// Changes what waits.
  func post<Result: Sendable>(_ change: @Sendable (inout Content) -> Result) -> Result {
    state.withLock { change(&$0.content) }
  }

  /// Hands over one letter; returns `false` if none waits, or another thread is doing so: that one then delivers it.
  func deliver<Letter: Sendable>(
    _ take: @Sendable (inout Content) -> Letter?, to receive: (Letter) -> Void
  ) -> Bool {
    let next = state.withLock { state -> Letter? in
      guard !state.isDelivering, let letter = take(&state.content) else { return nil }
      state.isDelivering = true
      return letter
    }
    guard let next else { return false }
    receive(next)
    state.withLock { $0.isDelivering = false }
    return true
  }
}
