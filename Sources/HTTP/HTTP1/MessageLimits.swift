/// Limits on what a server sends; beyond them, the response is refused.
struct MessageLimits: Sendable {
  /// Bytes in a head, and in the trailers after a chunked body.
  var head = 64 << 10

  /// Fields in a head, and in the trailers.
  var fields = 256

  /// Interim responses (1xx) before the final one.
  var interimResponses = 100

  /// Bytes in the line before a chunk.
  var chunkLine = 4 << 10

  /// Bytes that frame chunks, beyond 16 for each byte of the body: otherwise a server could send them without end.
  var chunkOverhead = 64 << 10
}
