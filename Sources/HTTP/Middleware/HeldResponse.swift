import Foundation

/// The parts of one response that are being held back.
struct HeldResponse: Sendable {
  private var response: HTTPResponse?

  /// Adds a part. Returns the parts to pass on now and, if any, the response to judge before that; `nil` while the
  /// response is held back.
  mutating func add(
    _ part: HTTPResponsePart, startsHolding: Bool, limit: Int
  ) -> (parts: [HTTPResponsePart], judged: HTTPResponse?)? {
    switch part {
    case .head(let head):
      guard startsHolding else { return ([part], nil) }
      response = HTTPResponse(head: head)
      return nil
    case .body(let piece):
      guard response != nil else { return ([part], nil) }
      response?.body.append(piece)
      guard let held = response, held.body.count > limit else { return nil }
      response = nil
      return (held.parts, held)
    }
  }

  mutating func take() -> HTTPResponse? {
    response.take()
  }
}
