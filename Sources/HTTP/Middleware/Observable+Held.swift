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
  /// The response as the parts that a transport emits.
  package var parts: [HTTPResponsePart] { body.isEmpty ? [.head(head)] : [.head(head), .body(body)] }
}
