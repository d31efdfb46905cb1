/// An event of a descriptor.
struct PollEvent {
  var token: UInt64
  var isReadable: Bool
  var isWritable: Bool
  /// Whether the peer has stopped sending, or the connection is broken, as far as the poller knows.
  var isOver: Bool
}
