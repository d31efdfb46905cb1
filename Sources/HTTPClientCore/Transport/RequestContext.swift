import Streams
import Synchronization

/// What a request carries for the middlewares and the transport that it passes through, beside the message itself.
@usableFromInline
package struct RequestContext: Sendable {
  /// Reports the request to its observer; `nil` if it has none.
  package var observation: RequestObservation?

  /// Secrets other than the request's own header values, as fields, because the values of fields are never printed.
  package var secrets: [HTTPField] = []

  /// Knows the secrets of all that goes out for the request; `nil` if nobody asks.
  package var sent: SentSecrets?

  /// Whether neither the request nor its response may be kept anywhere.
  package var isSecret = false

  /// Whether the response is secret as a whole, as one with a token is.
  package var isResponseSecret = false

  /// What everything that is sent for the request has in common; `nil` until it enters a client's middlewares.
  package var entry: RequestEntry?

  /// What the middlewares inside of the first cache that the request passes add to it, the outermost first; `nil` if no
  /// cache is known to be among them.
  package var addedInsideCache: [AddedCredentials]?

  /// Tells a middleware that ends the request at a deadline whether any byte of it may have left this machine; `nil` if
  /// none asks.
  package var sendGate: SendGate.Shared?

  /// Like `HTTPRequest.onConnected`, but called synchronously, on the transport's own thread, so that it always comes
  /// before the response, with the version of HTTP, such as `1.1`, and with how the connection was opened, if it is new.
  package var onConnected:
    (@Sendable (_ isReused: Bool, _ version: String, _ opening: ConnectionOpeningTimes?) -> Void)?

  /// Called with each account token, and the account it belongs to, under which a middleware sends the request, and with
  /// the name of the field that carries it.
  package var onAuthenticated: (@Sendable (_ account: String?, _ token: String, _ fieldName: String) -> Void)?

  /// Called for each exchange, as it begins, with the request as the transport gets it, after all middlewares. It must
  /// not block.
  package var onSent: (@Sendable (HTTPRequest) -> Void)?

  /// Sends the request in its own way; `nil` if it is simply sent.
  package var carrier: (any RequestCarrier)?

  /// Called when a middleware follows a redirect for the request: from then on, responses belong to another request.
  package var onRedirect: (@Sendable () -> Void)?
}

extension HTTPRequest {
  /// Records the token under which a middleware sends the request, which has it by now.
  package func record(token: String, of account: String?, fieldName: String) {
    context.sent?.add(self)
    context.onAuthenticated?(account, token, fieldName)
  }
}

extension HTTPRequest {
  /// Records that a transport, or a middleware that may have one, is about to send the request, for a middleware that asks;
  /// one that tracks it records that itself. Throws if the time of the request is over: then it must not be sent any more.
  package func recordHandover(isTracked: Bool = false) throws(RequestError) {
    guard let gate = context.sendGate, !gate.recordHandover(isTracked: isTracked) else { return }
    throw RequestError(
      .timedOut, "The request's time was over before it was sent: try again, or allow more time.",
      operationName: operationName, reached: .never)
  }
}

/// Whether any byte of a request may have left this machine. A request that has not left can safely be sent later, even
/// one that is not idempotent.
///
/// A transport that is ``SendTracking`` opens it before the first byte. Any other one may send the request as soon as it has
/// it, or hand it to others, and so may a middleware that is not ``SendingByNext``: the gate is opened before they have it.
package struct SendGate: ~Copyable, Sendable {
  // Not private: with testable imports in release, other modules refer to it, and would not link.
  enum State: UInt8, AtomicRepresentable { case unsent, sent, cancelled }

  private let state = Atomic(State.unsent)

  package init() {}

  /// Records that a transport gets the request. Returns false if it must not be sent any more.
  package func recordHandover(isTracked: Bool) -> Bool {
    isTracked ? state.load(ordering: .acquiring) != .cancelled : open()
  }

  /// Whether the request may be sent; if so, it counts as sent from now on.
  package func open() -> Bool { settle(.sent) == .sent }

  /// Prevents the request from being sent; returns false if it may have been sent already.
  package func cancel() -> Bool { settle(.cancelled) == .cancelled }

  /// Changes the state for good, unless that was done before; returns the one that it is in then.
  private func settle(_ new: State) -> State {
    let (isChanged, old) = state.compareExchange(expected: .unsent, desired: new, ordering: .acquiringAndReleasing)
    return isChanged ? new : old
  }

  /// A gate that a request carries, for one middleware that asks. What opens it opens those of others further out, too.
  package final class Shared: Sendable {
    private let gate = SendGate()
    private let outer: Shared?
    private let isClaimed = Atomic(false)

    package init(inside outer: Shared? = nil) { self.outer = outer }

    /// Records that a transport gets the request. Returns false if it must not be sent any more.
    package func recordHandover(isTracked: Bool = false) -> Bool {
      gate.recordHandover(isTracked: isTracked) && outer?.recordHandover(isTracked: isTracked) ?? true
    }

    /// Prevents the request from being sent; returns false if it may have been sent already.
    package func cancel() -> Bool { gate.cancel() }

    /// Claims the gate: returns true for the first caller.
    package func claim() -> Bool { !isClaimed.exchange(true, ordering: .acquiringAndReleasing) }
  }
}
