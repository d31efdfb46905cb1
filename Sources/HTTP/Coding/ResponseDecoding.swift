import Foundation

/// Takes the content coding off an answer's parts on their way to the observer, piece by piece: of a bomb no more is
/// decoded than the observer takes.
///
/// Not for two threads at once.
final class ResponseDecoding {
  private var inflater: Inflater?
  private let isWithoutBody: Bool

  /// Makes one for the answer to a request; the answer to HEAD has no body, whatever its head says.
  init(isHead: Bool) {
    isWithoutBody = isHead
  }

  /// Gives what a part comes to, one piece after the other, for as long as `emit` says `true`; throws where it is not of
  /// the coding that it claims.
  func decode(_ part: HTTPResponsePart, _ emit: (HTTPResponsePart) -> Bool) throws(RequestError) {
    switch part {
    case .head(let head):
      let hasBody = !isWithoutBody && head.status != 204 && head.status != 304
      if hasBody, let coding = try ContentCoding(of: head.headers) { inflater = try Inflater(coding) }
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

  /// To be called at the end; throws where the coding is cut.
  func finish() throws(RequestError) {
    try inflater?.finish()
  }
}
