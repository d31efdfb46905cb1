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
      guard var held = response.take() else { return ([part], nil) }
      // Most responses are a single piece, which is not copied.
      if held.body.isEmpty { held.body = piece } else { held.body.append(piece) }
      if held.body.count > limit { return (held.parts, held) }
      response = held
      return nil
    }
  }

  mutating func take() -> HTTPResponse? {
    response.take()
  }
}
