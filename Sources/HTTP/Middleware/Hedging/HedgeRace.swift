/// Decides which of two attempts at one request provides the response: pure, without locks.
struct HedgeRace: Sendable {
  enum Claim: Hashable, Sendable {
    /// It has just won; the other attempt is to be cancelled.
    case won
    /// It had already won.
    case goesOn
    case lost
  }

  private var running: Set<Int> = [0]
  private var winner: Int?

  /// Whether a second attempt would be of use.
  var isOpen: Bool { winner == nil && running == [0] }

  /// Begins the second attempt if it is of use; returns whether it did.
  mutating func hedge() -> Bool {
    guard isOpen else { return false }
    running.insert(1)
    return true
  }

  /// Records that an attempt has received part of a response.
  mutating func claim(_ attempt: Int) -> Claim {
    switch winner {
    case nil:
      winner = attempt
      return .won
    case attempt: return .goesOn
    default: return .lost
    }
  }

  /// Records that an attempt has failed; returns whether the request has failed with it.
  mutating func fail(_ attempt: Int) -> Bool {
    running.remove(attempt)
    return winner == attempt || (winner == nil && running.isEmpty)
  }
}
