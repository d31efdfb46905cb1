/// Which of two attempts at one request is the answer; pure, and apart from locks.
struct HedgeRace: Sendable {
  enum Claim: Hashable, Sendable {
    /// It has just won: the other one is to be cancelled.
    case won
    /// It has won before.
    case goesOn
    case lost
  }

  private var running: Set<Int> = [0]
  private var winner: Int?

  /// Whether a second attempt is of use.
  var isOpen: Bool { winner == nil && running == [0] }

  /// Begins the second attempt, if it is of use.
  mutating func hedge() -> Bool {
    guard isOpen else { return false }
    running.insert(1)
    return true
  }

  /// An attempt has something of an answer.
  mutating func claim(_ attempt: Int) -> Claim {
    switch winner {
    case nil:
      winner = attempt
      return .won
    case attempt: return .goesOn
    default: return .lost
    }
  }

  /// An attempt failed; whether the request has with it.
  mutating func fail(_ attempt: Int) -> Bool {
    running.remove(attempt)
    return winner == attempt || (winner == nil && running.isEmpty)
  }
}
