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

/// Whether any byte of a request may have left this machine. A request that has not left can safely be sent later, even
/// one that is not idempotent.
///
///     unknown ──► handed over ◄──► waiting ──► sent       a transport that tracks requests
///                     │               └──────► cancelled
///                     └──► untracked                      one that does not, and then a repetition
///
/// A transport that tracks this calls ``recordWaiting()`` when it gets the request and ``open()`` before the first
/// byte; with any other transport, nothing is known.
package struct SendGate: ~Copyable, Sendable {
  // Not private: with testable imports in release, other modules refer to it, and would not link.
  enum State: UInt8, AtomicRepresentable {
    case unknown, handedOver, waiting, untracked, sent, cancelled
  }

  private let state = Atomic(State.unknown)

  package init() {}

  /// Records that a transport has the request, and will call ``open()`` before the first byte.
  package func recordWaiting() {
    _ = change { $0 == .unknown || $0 == .handedOver ? .waiting : nil }
  }

  /// Records that a transport gets the request, which may not be the one that has recorded that it has it: nothing is known
  /// until this one does so, too. Returns false if the request must not be sent any more.
  package func recordHandover() -> Bool {
    change { $0 == .unknown || $0 == .waiting ? .handedOver : nil } != .cancelled
  }

  /// Records that the request is sent once more: whatever the next transport says, one that said nothing may have sent it.
  package func recordRepetition() {
    _ = change { $0 == .handedOver ? .untracked : nil }
  }

  /// Whether the request may be sent; if so, it counts as sent from now on.
  package func open() -> Bool {
    change { $0 == .cancelled ? nil : .sent } != .cancelled
  }

  /// Prevents the request from being sent; returns false if it may have been sent already.
  package func cancel() -> Bool {
    change { $0 == .waiting ? .cancelled : nil } == .cancelled
  }

  /// Changes the state to the one that a closure gives for it, if it gives one; returns the state that it is in then.
  private func change(_ next: (State) -> State?) -> State {
    var old = state.load(ordering: .acquiring)
    while let new = next(old), new != old {
      let result = state.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing)
      if result.exchanged { return new }
      old = result.original
    }
    return old
  }

  /// A gate that a request carries, for one middleware that asks.
  package final class Shared: Sendable {
    package let gate = SendGate()
    private let isClaimed = Atomic(false)

    package init() {}

    /// Claims the gate: returns true for the first caller.
    package func claim() -> Bool { !isClaimed.exchange(true, ordering: .acquiringAndReleasing) }
  }
}
