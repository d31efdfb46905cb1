import Synchronization

/// Whether any byte of a request may have left this machine. A request that has not left can safely be sent later, even
/// one that is not idempotent.
///
/// A transport that tracks this calls ``noteWaiting()`` when it gets the request and ``depart()`` before the first
/// byte; with any other transport, nothing is known.
struct Departure: ~Copyable, Sendable {
  // Not private: with testable imports in release, other modules refer to it, and would not link.
  enum State: UInt8, AtomicRepresentable {
    case unknown, waiting, departed, cancelled
  }

  private let state = Atomic(State.unknown)

  /// Records that a transport has the request, and will call ``depart()`` before the first byte.
  func noteWaiting() {
    _ = state.compareExchange(expected: .unknown, desired: .waiting, ordering: .acquiringAndReleasing)
  }

  /// Whether the request may be sent; if so, it counts as sent from now on.
  func depart() -> Bool {
    let (_, old) = state.compareExchange(expected: .waiting, desired: .departed, ordering: .acquiringAndReleasing)
    return old != .cancelled
  }

  /// Prevents the request from being sent; returns false if it may have been sent already.
  func cancel() -> Bool {
    let (_, old) = state.compareExchange(expected: .waiting, desired: .cancelled, ordering: .acquiringAndReleasing)
    return old == .waiting || old == .cancelled
  }

  /// A departure that a request carries.
  final class Shared: Sendable {
    let value = Departure()
  }
}
