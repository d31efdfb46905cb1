/// The state of a circuit breaker: what it does with requests.
public enum CircuitState: Hashable, Sendable {
  /// Lets requests through, and counts failures.
  case closed
  /// Refuses requests, because too many have failed.
  case open
  /// Lets one request through, whose outcome decides.
  case halfOpen
}
