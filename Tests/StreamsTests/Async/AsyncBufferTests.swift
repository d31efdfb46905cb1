import Testing

@testable import Streams

@Suite struct AsyncBufferTests {
  /// Calls in when it goes away.
  private final class CallingError: Error {
    let call: @Sendable () -> Void
    init(_ call: @escaping @Sendable () -> Void) { self.call = call }
    deinit { call() }
  }

  @Test(.timeLimit(.minutes(1))) func `23: an error that was not taken is released under no lock`() {
    let buffer = AsyncBuffer<Int>(.unbounded)
    buffer.append(1)
    buffer.finish(CallingError { _ = buffer.take() })
    buffer.cancel()
    guard case .end(nil)? = buffer.take() else { return #expect(Bool(false), "it goes on") }
  }
}
