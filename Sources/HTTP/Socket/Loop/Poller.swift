/// Waits for descriptors to become ready, and tells of each change once ("edge-triggered"): whoever is told reads and
/// writes until the system would block, and says so with `rearm`.
///
/// All methods but `wake` belong to one thread.
protocol Poller: AnyObject {
  /// Begins to watch a descriptor; its events carry the token.
  func add(_ descriptor: Int32, token: UInt64) throws(SystemError)

  /// Stops watching a descriptor, which is still open.
  func remove(_ descriptor: Int32)

  /// Takes note that reading or writing would block.
  func rearm(_ descriptor: Int32, _ direction: PollDirection)

  /// Waits for events until a time, or without end; it may return earlier, and without events.
  func wait(until instant: Instant?, into events: inout [PollEvent])

  /// Ends the wait, or the next one where there is none. From any thread.
  func wake()
}
