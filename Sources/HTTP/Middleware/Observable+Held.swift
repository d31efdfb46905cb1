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
      let answer = Locked(HeldResponse())
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

extension HTTPResponse {
  /// The answer as a transport gives it.
  package var parts: [HTTPResponsePart] { body.isEmpty ? [.head(head)] : [.head(head), .body(body)] }
}
