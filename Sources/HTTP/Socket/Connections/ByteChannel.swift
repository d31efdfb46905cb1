/// The bytes of a connection, in the clear or through TLS. Nothing here blocks.
///
/// A connection calls it under its lock: one call at a time.
protocol ByteChannel: AnyObject {
  /// Begins to read what is there; `isOver` where the peer may have sent its last.
  func beginReading(isOver: Bool)

  /// Reads on into a buffer that is not empty, until there is nothing left.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome

  /// Takes bytes to send, in two pieces of which either may be empty: as many as there is room for.
  func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> WriteOutcome

  /// Sends on what `write` has taken and the socket has not.
  func flush() -> StepOutcome

  /// What has happened since the last reading, without reading.
  func condition() -> Socket.Condition

  /// Tells the peer that nothing more comes, where there is a way to say so before the socket is closed.
  func close()
}
