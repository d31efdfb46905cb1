extension RequestError {
  /// The response is not HTTP, or is ambiguous.
  static func notHTTP(_ what: String) -> RequestError {
    RequestError(.badResponse, "The response is not valid HTTP/1.1: \(what).")
  }

  /// The connection ended before the response was complete.
  static func cut(_ place: String) -> RequestError {
    RequestError(.connectionLost, "The server closed the connection \(place).")
  }
}
