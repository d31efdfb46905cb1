/// What a channel takes from a writer.
enum WriteOutcome {
  case taken(Int)
  case blocked
  case failed(RequestError)
}
