/// What a circuit breaker does with requests.
public enum CircuitState: Hashable, Sendable {
  /// Lets them through, and counts.
  case closed
  /// Refuses them: too many have failed.
  case open
  /// Lets one through, by which it decides.
  case halfOpen
}
