/// The outcome of a read from a channel.
enum ReadOutcome {
  case bytes(Int)
  case blocked
  /// The peer sends nothing more. With TLS, this is authentic only if the peer has said so (close_notify).
  case end(isAuthentic: Bool)
  case failed(RequestError)
}
