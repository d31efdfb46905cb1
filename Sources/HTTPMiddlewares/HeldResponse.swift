package import HTTPClientCore
package import Streams
import SystemBase

extension Observable where Element == HTTPResponsePart {
  /// Holds responses back until they are complete, so that another one can still replace them.
  ///
  /// If `isHeld` is false for its head, a response passes through as it arrives. Otherwise `refusal` gets the whole
  /// response, or, once the body is longer than `limit` bytes, the part that has arrived. If it gives an error, the stream
  /// fails with that; otherwise the parts are passed on, and the rest follows as it arrives.
  package func held(
    upTo limit: Int = 64 << 10, where isHeld: @escaping @Sendable (HTTPResponseHead) -> Bool,
    refusal: @escaping @Sendable (_ response: HTTPResponse, _ isWhole: Bool) -> (any Error)?
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
        if let error = refusal(response, false) { throw error }
        response.forEachPart(emit)
      case .trailers(let fields):
        if held == nil { emit(part) } else { held?.trailers = fields }
      }
    } finishing: { held, emit in
      guard let response = held.take() else { return }
      if let error = refusal(response, true) { throw error }
      response.forEachPart(emit)
    }
  }
}

/// A response that was held back and not passed on.
package struct RefusedResponse: Error {
  package let response: HTTPResponse

  package init(_ response: HTTPResponse) { self.response = response }
}
