import LoopbackServers

/// Waits, without sleeping, until a condition holds of which nothing tells.
///
/// It ends also where a test's time limit cancels it: a loop of its own would never end, nor would the test.
/// - Throws: `TimedOut` when the limit has passed, `CancellationError` when the task is cancelled.
package func eventually(
  within limit: Duration = .seconds(60), file: StaticString = #fileID, line: UInt = #line,
  isolation: isolated (any Actor)? = #isolation, _ condition: () async throws -> Bool
) async throws {
  let end = ContinuousClock.now + limit
  while try await !condition() {
    try Task.checkCancellation()
    if .now >= end {
      throw TimedOut(what: "a condition", limit: limit, state: "false", location: "\(file):\(line)")
    }
    await Task.yield()
  }
}
