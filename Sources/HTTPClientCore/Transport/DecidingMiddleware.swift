package import Streams

/// A middleware that decides: about a request on its way out, and about the response or the error on the way back.
///
/// Those that stand next to each other decide within one stream, as ``MiddlewareRun`` asks them: what passes costs a few
/// calls, and a response is held back once for all of them.
package protocol DecidingMiddleware: HTTPMiddleware {
  associatedtype Decider: RequestDecider

  /// Decides for this middleware and its copies.
  var decider: Decider { get }

  /// Whether it asks the request's gate if anything was sent.
  var asksGate: Bool { get }
}

extension DecidingMiddleware {
  package var asksGate: Bool { false }

  /// Passes a request through this middleware alone, to what may send it.
  package func deciding(
    on request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    .handled {
      MiddlewareRun([decider], request) { request in
        do { try request.recordHandover() } catch { return .error(error) }
        return next(request)
      }
    }
  }
}

/// Lets requests pass, in the place of a middleware: an object, since a value would be copied for each of them.
package protocol RequestDecider: AnyObject, Sendable {
  /// A request begins to pass, at a place in a run; `nil` if it passes as it is, with its response. If it throws, the
  /// request is not sent.
  func passage(of request: HTTPRequest, at place: MiddlewareRun.Place) throws -> (any RequestPassage)?
}

/// One request on its way through a middleware. The calls come one at a time, but for ``leave()``.
package protocol RequestPassage: AnyObject, Sendable {
  /// What is sent on: called once, first.
  func depart() throws -> Departure

  /// Takes the head of a response. Returns how many bytes of the body to hold back for `decide(on:isWhole:)`; `nil` to
  /// pass it on as it comes.
  func receive(_ head: HTTPResponseHead) -> Int?

  /// Decides about a response that was held back: the whole one, or, if its body has exceeded the limit, the part that
  /// has arrived.
  func decide(on response: HTTPResponse, isWhole: Bool) throws -> Decision

  /// Decides about an error. If it throws, the request fails with that error instead.
  func decide(on error: any Error) throws -> Decision

  /// The response has been passed on to its end.
  func complete()

  /// Called once, last of all, when the request has passed or was disposed, or when one of the middlewares outside sends
  /// it again; another call may be in flight.
  func leave()
}

extension RequestPassage {
  package func receive(_ head: HTTPResponseHead) -> Int? { nil }
  package func decide(on response: HTTPResponse, isWhole: Bool) throws -> Decision { .pass }
  package func decide(on error: any Error) throws -> Decision { .pass }
  package func complete() {}
  package func leave() {}
}

/// When a request is sent on.
package enum Departure: Sendable {
  /// At once, as it is.
  case unchanged
  /// At once, with changes.
  case now(HTTPRequest)
  /// With the first element.
  case later(Observable<HTTPRequest>)
}

/// What becomes of a response or an error.
package enum Decision: Sendable {
  case pass
  /// It is replaced by what comes of the first element; if that is `nil`, the response passes after all.
  case replace(Observable<HTTPRequest?>)
}
