extension RequestError {
  /// What the server sent is not HTTP, or could be read in two ways.
  static func notHTTP(_ what: String) -> RequestError {
    RequestError(.badResponse, "The answer is not valid HTTP/1.1: \(what).")
  }

  /// The connection ended in the middle of the answer.
  static func cut(_ place: String) -> RequestError {
    RequestError(.connectionLost, "The server closed the connection \(place).")
  }
}
