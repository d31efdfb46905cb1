/// What a server may ask of a client before it is cut off.
struct MessageLimits: Sendable {
  /// Bytes of one head, and of the trailers behind a chunked body.
  var head = 64 << 10

  /// Fields of one head, and of the trailers.
  var fields = 256

  /// Interim answers (1xx) before the final one.
  var interimResponses = 16

  /// Bytes of the line before a chunk.
  var chunkLine = 4 << 10
}
