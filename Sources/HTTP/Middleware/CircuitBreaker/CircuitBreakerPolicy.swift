/// When a circuit breaker opens, and for how long.
public struct CircuitBreakerPolicy: Hashable, Sendable {
  /// The part of the calls, from 0 to 1, from which on it opens; a half unless set.
  public var failureRate: Double

  /// The least number of calls in the window to judge by; 20 unless set.
  public var minimumCalls: Int

  /// How far back calls count, to a tenth of it; 10 seconds unless set.
  public var window: Duration

  /// How long it refuses all calls before it tries one; 5 seconds unless set.
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
