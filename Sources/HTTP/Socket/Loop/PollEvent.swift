/// What happened to a descriptor.
struct PollEvent {
  var token: UInt64
  var isReadable: Bool
  var isWritable: Bool
  /// Whether the peer has sent its last, where the poller knows that.
  var isOver: Bool
}
