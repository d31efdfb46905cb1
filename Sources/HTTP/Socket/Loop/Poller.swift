/// Waits for descriptors to become ready, and reports each change once ("edge-triggered"): the handler reads and writes
/// until the system would block, and then calls `rearm`.
///
/// All methods except `wake` are called on one thread.
protocol Poller: AnyObject {
  /// Begins to watch a descriptor; its events carry the token.
  func add(_ descriptor: Int32, token: UInt64) throws(SystemError)

  /// Stops watching a descriptor, which is still open.
  func remove(_ descriptor: Int32)

  /// Records that reading or writing would block.
  func rearm(_ descriptor: Int32, _ direction: PollDirection)

  /// Waits for events until a time, or without a limit; it may return earlier, and without events.
  func wait(until instant: Instant?, into events: inout [PollEvent])

  /// Ends the current wait or, if there is none, the next one. Thread-safe.
  func wake()
}
