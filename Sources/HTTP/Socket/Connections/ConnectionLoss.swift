/// What is known when a connection breaks.
struct ConnectionLoss {
  let error: RequestError
  /// What came before the break, and was not delivered.
  let parts: [HTTPResponsePart]
  /// Whether any of the request may have reached the server.
  let hasSent: Bool
  /// Whether any of the answer has come.
  let hasReceived: Bool
}
