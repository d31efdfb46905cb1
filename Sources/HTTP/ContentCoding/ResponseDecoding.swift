import Foundation

/// Decodes the content coding of a response on its way to the observer, piece by piece: no more of a decompression bomb
/// is decoded than the observer takes.
///
/// Not thread-safe.
final class ResponseDecoding {
  private var inflater: Inflater?
  private let isHead: Bool

  /// Makes a decoder for one response; `isHead` tells that it is to a HEAD request, and so has no body whatever its
  /// head says.
  init(isHead: Bool) {
    self.isHead = isHead
  }

  /// Decodes a part, and calls `emit` with one piece after the other for as long as it returns `true`; throws if the
  /// bytes are not in the coding that the response declares.
  func decode(_ part: HTTPResponsePart, _ emit: (HTTPResponsePart) -> Bool) throws(RequestError) {
    switch part {
    case .head(let head):
      if head.mayHaveBody(toHead: isHead), let coding = try ContentCoding(of: head.headers) {
        inflater = try Inflater(coding)
      }
      _ = emit(part)
    case .body(let piece):
      guard let inflater else {
        _ = emit(part)
        return
      }
      inflater.add(piece)
      while let decoded = try inflater.next(), emit(.body(decoded)) {}
    }
  }

  /// Call this at the end; throws if the compressed body is cut off.
  func finish() throws(RequestError) {
    try inflater?.finish()
  }
}
