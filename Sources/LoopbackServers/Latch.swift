/// A gate that opens once and stays open.
package final class Latch: Sendable {
  private let monitor = Monitor(false)

  package init() {}

  package var isOpen: Bool { monitor.value }

  package func open() {
    monitor.update { $0 = true }
  }

  /// Returns when the latch is open.
  ///
  /// - Throws: `TimedOut` when the limit has passed, `CancellationError` when the task is cancelled.
  package func wait(
    for what: String = "a latch to open",
    within limit: Duration = .seconds(60),
    file: StaticString = #fileID,
    line: UInt = #line
  ) async throws {
    try await monitor.wait(for: what, within: limit, file: file, line: line) { $0 }
  }

  /// Calls `action` once when the latch is open: now, or from the thread that opens it.
  package func whenOpen(_ action: @escaping @Sendable () -> Void) {
    monitor.when({ $0 }, then: { _ in action() })
  }
}
