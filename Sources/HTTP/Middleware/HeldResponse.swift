import Foundation

/// What is held of one answer.
struct HeldResponse: Sendable {
  private var response: HTTPResponse?

  /// The parts to pass on now, and the answer to judge before that; `nil` while the answer is held.
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
