import Streams

/// A value behind a lock. What goes in and what comes out can be sent to other threads.
package struct Locked<Value: Sendable>: Sendable {
  private let guarded: Guarded<Value>

  package init(_ value: Value) {
    guarded = Guarded(value)
  }

  /// Runs a closure with the value to itself; it must not call anything that could come back here.
  package func withLock<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    try guarded.withLock(body)
  }
}
