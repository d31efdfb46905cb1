/// When a circuit breaker opens, and for how long.
public struct CircuitBreakerPolicy: Hashable, Sendable {
  /// The share of failed calls, from 0 to 1, at which the circuit opens; a half by default.
  public var failureRate: Double

  /// How many calls there must be in the window before the circuit can open; 20 by default.
  public var minimumCalls: Int

  /// How far back calls count, in steps of a tenth of it; 10 seconds by default.
  public var window: Duration

  /// How long the circuit refuses all calls before it tries one; 5 seconds by default.
  public var openDuration: Duration

  /// Makes a policy; what is not given keeps its default.
  public init(
    failureRate: Double = 0.5, minimumCalls: Int = 20, window: Duration = .seconds(10),
    openDuration: Duration = .seconds(5)
  ) {
    self.failureRate = failureRate
    self.minimumCalls = minimumCalls
    self.window = window
    self.openDuration = openDuration
  }
}
