/// What is known about an exchange when its connection breaks.
struct ConnectionLoss {
  let error: RequestError
  /// The parts that arrived before the break, and were not delivered.
  let parts: [HTTPResponsePart]
  /// Whether any of the request may have reached the server.
  let hasSent: Bool
  /// Whether any of the response has arrived.
  let hasReceived: Bool
}
