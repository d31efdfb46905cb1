/// The byte stream of a connection, plain or through TLS. Nothing here blocks.
///
/// A connection calls it under its lock, one call at a time.
protocol ByteChannel: AnyObject {
  /// Begins to read what has arrived; `isOver` says that the peer may have stopped sending.
  func beginReading(isOver: Bool)

  /// Reads into a buffer, which must not be empty; to be called until it returns `blocked`.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome

  /// Takes bytes to send, in two pieces either of which may be empty: as many as there is room for.
  func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> WriteOutcome

  /// Sends what `write` has taken but the socket has not.
  func flush() -> StepOutcome

  /// What has happened on the connection since the last read.
  func condition() -> Socket.Condition

  /// Tells the peer that nothing more will be sent, if the protocol has a message for that; to be called before the
  /// socket is closed.
  func close()
}
