enum HandshakeOutcome {
  case done
  case blocked
  case failed(RequestError)
}
