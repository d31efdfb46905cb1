/// What a channel gives to a reader.
enum ReadOutcome {
  case bytes(Int)
  case blocked
  /// The peer sends nothing more. Over TLS it is not authentic where the peer did not say so.
  case end(isAuthentic: Bool)
  case failed(RequestError)
}
