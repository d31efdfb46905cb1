import Foundation
import Streams

extension Observable where Element == HTTPResponsePart {
  /// Holds answers back until they are whole, so that another one may still come in their place.
  ///
  /// An answer whose head is not held goes on as it comes. Of one that is, `judge` sees the whole, or what there is where
  /// the body is longer than `limit` bytes, and may throw; else the parts go on, and what follows them as it comes.
  func held(
    upTo limit: Int, where isHeld: @escaping @Sendable (HTTPResponseHead) -> Bool,
    judge: @escaping @Sendable (_ response: HTTPResponse, _ isWhole: Bool) throws -> Void
  ) -> Observable<HTTPResponsePart> {
    Observable.create { observer in
      let answer = Locked(HeldAnswer())
      return self.subscribe(
        onNext: { part in
          var startsHolding = false
          if case .head(let head) = part { startsHolding = isHeld(head) }
          do {
            guard let parts = answer.withLock({ $0.add(part, startsHolding: startsHolding, limit: limit) }) else {
              return
            }
            if let response = parts.judged { try judge(response, false) }
            for part in parts.parts { observer.onNext(part) }
          } catch {
            observer.onError(error)
          }
        },
        onError: observer.onError,
        onCompleted: {
          do {
            if let response = answer.withLock({ $0.take() }) {
              try judge(response, true)
              for part in response.parts { observer.onNext(part) }
            }
            observer.onCompleted()
          } catch {
            observer.onError(error)
          }
        })
    }
  }
}

/// What is held of one answer.
private struct HeldAnswer: Sendable {
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

extension HTTPResponse {
  /// The answer as a transport gives it.
  var parts: [HTTPResponsePart] { body.isEmpty ? [.head(head)] : [.head(head), .body(body)] }
}

/// An answer that was not passed on, and is the one to give where nothing better comes.
struct RefusedAnswer: Error {
  let response: HTTPResponse
  var isWhole = true

  /// The answer, or an error in the place of one of which a part is missing.
  var stream: Observable<HTTPResponsePart> {
    guard isWhole else {
      let status = response.head.status
      return .error(
        RequestError(
          .httpStatus, "The server answered with status \(status), and the answer was too long to be kept.",
          status: status))
    }
    return .from(response.parts)
  }
}
