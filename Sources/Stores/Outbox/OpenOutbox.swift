import Streams
import SystemBase

/// The place of an outbox among those that are open in this process, of which each folder has one at most. It is free as
/// soon as the outbox is closed, or nobody retains it.
final class OpenOutbox: Sendable {
  private struct Place {
    let number: UInt64
    weak var owner: (any AnyObject & Sendable)?
    var isBeingOpened = true
  }

  private struct State {
    var places: [ExactText: Place] = [:]
    var lastNumber: UInt64 = 0
  }

  private static let state = Locked(State())

  private let path: ExactText
  private let number: UInt64

  init(at path: String) throws(OutboxError) {
    let path = ExactText(URL(fileURLWithPath: path).resolvingSymlinksInPath().path)
    let (number, owner) = Self.state.withLock { state -> (UInt64?, (any AnyObject & Sendable)?) in
      let place = state.places[path]
      let owner = place?.owner
      if let place, place.isBeingOpened || owner != nil { return (nil, owner) }
      state.lastNumber += 1
      state.places[path] = Place(number: state.lastNumber)
      return (state.lastNumber, nil)
    }
    // Released here, outside the lock: this may be the last reference.
    withExtendedLifetime(owner) {}
    guard let number else { throw .alreadyOpen }
    (self.path, self.number) = (path, number)
  }

  deinit { close() }

  /// The outbox is open from now on.
  func own(_ owner: any AnyObject & Sendable) {
    Self.state.withLock { state in
      guard state.places[path]?.number == number else { return }
      state.places[path]?.owner = owner
      state.places[path]?.isBeingOpened = false
    }
  }

  func close() {
    Self.state.withLock { state in
      if state.places[path]?.number == number { state.places[path] = nil }
    }
  }
}
