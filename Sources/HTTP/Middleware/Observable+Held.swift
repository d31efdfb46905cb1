import Foundation
import Streams

extension Observable where Element == HTTPResponsePart {
  /// Holds responses back until they are complete, so that another one can still replace them.
  ///
  /// If `isHeld` is false for its head, a response passes through as it arrives. Otherwise `judge` gets the whole
  /// response, or, once the body is longer than `limit` bytes, the part that has arrived. If `judge` throws, the stream
  /// fails with that error; otherwise the parts are passed on, and the rest follows as it arrives.
  func held(
    upTo limit: Int, where isHeld: @escaping @Sendable (HTTPResponseHead) -> Bool,
    judge: @escaping @Sendable (_ response: HTTPResponse, _ isWhole: Bool) throws -> Void
  ) -> Observable<HTTPResponsePart> {
    transform(HTTPResponse?.none) { held, part, emit in
      switch part {
      case .head(let head):
        if isHeld(head) { held = HTTPResponse(head: head) } else { emit(part) }
      case .body(let piece):
        guard var response = held.take() else { return emit(part) }
        // Most responses are a single piece, which is not copied.
        if response.body.isEmpty { response.body = piece } else { response.body.append(piece) }
        guard response.body.count > limit else { return held = response }
        try judge(response, false)
        response.forEachPart(emit)
      }
    } finishing: { held, emit in
      guard let response = held.take() else { return }
      try judge(response, true)
      response.forEachPart(emit)
    }
  }
}

extension HTTPResponse {
  /// Calls a closure with the parts that a transport emits.
  fileprivate func forEachPart(_ action: (HTTPResponsePart) -> Void) {
    action(.head(head))
    if !body.isEmpty { action(.body(body)) }
  }

  /// The response as the parts that a transport emits.
  package var parts: [HTTPResponsePart] { body.isEmpty ? [.head(head)] : [.head(head), .body(body)] }
}
