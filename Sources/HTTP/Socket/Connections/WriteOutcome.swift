/// The outcome of a write to a channel.
enum WriteOutcome {
  case taken(Int)
  case blocked
  case failed(RequestError)
}
