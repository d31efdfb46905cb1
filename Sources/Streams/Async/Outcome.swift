/// The result of awaiting a stream's value; empty if the task was cancelled. As a teardown, it ends the wait.
///
/// `@unchecked Sendable`, and without exclusivity checks: `element` and `error` are written by the one thread that
/// claims the lifetime, before the mailbox closes with it, and read by the task after that.
@usableFromInline
final class Outcome<Element: Sendable>: Node, @unchecked Sendable {
  @usableFromInline let lifetime = Lifetime()
  @usableFromInline let mailbox = TaskMailbox()
  @exclusivity(unchecked) @usableFromInline var element: Element?
  @exclusivity(unchecked) @usableFromInline var error: (any Error)?

  @inlinable override init() {}

  @inlinable func finish(_ element: Element?, _ error: (any Error)?) {
    guard lifetime.claim() else { return }
    self.element = element
    self.error = error
    lifetime.close()
  }

  @usableFromInline override func run() { mailbox.close() }
}
