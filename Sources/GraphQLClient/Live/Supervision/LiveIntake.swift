import Dispatch
import Streams
import SystemBase

/// How much of one connection waits to be dealt with. The thread that reads waits while that is more than the limit, so
/// that a server which sends faster than that is read from more slowly.
final class LiveIntake: Sendable {
  /// In bytes, where observers have queues of their own.
  static let usual = 256 << 10

  private struct State {
    var size = 0
    var isClosed = false
    var reader: DispatchSemaphore?
  }

  private let limit: Int
  private let state = Locked(State())

  /// With a limit of 0, the thread waits for each event.
  init(limit: Int) {
    self.limit = limit
  }

  func add(_ size: Int) { state.withLock { $0.size += size } }

  func remove(_ size: Int) {
    release { $0.size -= size }
  }

  /// The connection is of no more use: nobody waits.
  func close() {
    release { $0.isClosed = true }
  }

  /// Waits until there is room. One thread at a time may wait.
  func wait() {
    let reader = state.withLock { state -> DispatchSemaphore? in
      guard state.size > limit, !state.isClosed else { return nil }
      state.reader = DispatchSemaphore(value: 0)
      return state.reader
    }
    reader?.wait()
  }

  private func release(_ change: (inout State) -> Void) {
    let reader = state.withLockUnchecked { state -> DispatchSemaphore? in
      change(&state)
      return state.size <= limit || state.isClosed ? state.reader.take() : nil
    }
    reader?.signal()
  }
}

extension LiveChannelEvent {
  /// How much it counts against what may wait, in bytes.
  var size: Int {
    switch self {
    case .message(.next(_, let result)): Self.overhead + result.count
    case .message(.ping(let payload?)): Self.overhead + payload.count
    // Of an error, 4 KiB are kept.
    case .message(.failed(_, let failure)): Self.overhead + failure.error.graphQLErrors.count << 12
    default: Self.overhead
    }
  }

  private static var overhead: Int { 64 }
}
