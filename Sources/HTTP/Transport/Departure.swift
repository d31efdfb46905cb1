import Synchronization

/// Whether any byte of a request may have left this machine: what has not can be sent later, whatever it does.
///
/// A transport that can tell takes note of the request, and asks before the first byte; of any other nothing is certain.
struct Departure: ~Copyable, Sendable {
  private enum State: UInt8, AtomicRepresentable {
    case unknown, waiting, departed, cancelled
  }

  private let state = Atomic(State.unknown)

  /// Takes note that somebody has the request who asks before the first byte.
  func noteWaiting() {
    _ = state.compareExchange(expected: .unknown, desired: .waiting, ordering: .acquiringAndReleasing)
  }

  /// Whether the request may go, which it then counts as having done.
  func depart() -> Bool {
    let (_, old) = state.compareExchange(expected: .waiting, desired: .departed, ordering: .acquiringAndReleasing)
    return old != .cancelled
  }

  /// Keeps the request from going; false where it may have gone.
  func cancel() -> Bool {
    let (_, old) = state.compareExchange(expected: .waiting, desired: .cancelled, ordering: .acquiringAndReleasing)
    return old == .waiting || old == .cancelled
  }

  /// One that a request carries.
  final class Shared: Sendable {
    let value = Departure()
  }
}
