/// The outcome of a step that may have to wait for the socket: a handshake, a tunnel, or a flush.
enum StepOutcome {
  case done
  case blocked
  case failed(RequestError)
}
