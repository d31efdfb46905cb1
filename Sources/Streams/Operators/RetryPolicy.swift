/// Whether to subscribe again after an error, and after what delay.
public struct RetryPolicy: Sendable {
  /// The delay before the next attempt, after attempt number `attempt` (the first is 1) failed with `error`; nil for no
  /// further attempt.
  public let delay: @Sendable (_ attempt: Int, _ error: any Error) -> Duration?

  /// A policy from your own function.
  public init(delay: @escaping @Sendable (_ attempt: Int, _ error: any Error) -> Duration?) { self.delay = delay }

  /// `attempts` attempts in all, without a delay.
  public static func immediate(attempts: Int) -> RetryPolicy {
    RetryPolicy { attempt, _ in attempt < attempts ? .zero : nil }
  }

  /// `attempts` attempts in all, with a delay that starts at `initial` and grows by `factor` up to `maximum`.
  /// - Parameters:
  ///   - attempts: The number of attempts, including the first.
  ///   - initial: The delay after the first attempt.
  ///   - factor: The factor by which each delay grows. If the result is not a valid delay, as with NaN, `maximum` is
  ///     used.
  ///   - maximum: The longest delay.
  ///   - jitter: The random part of each delay, from 0 (none) to 1 (full: anything from no delay to all of it). It
  ///     keeps clients that failed together from coming back together.
  ///   - random: Returns a number from 0 to below 1. Tests can pass their own.
  public static func exponential(
    attempts: Int, initial: Duration = .milliseconds(100), factor: Double = 2, maximum: Duration = .seconds(30),
    jitter: Double = 1, random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
  ) -> RetryPolicy {
    RetryPolicy { attempt, _ in
      guard attempt < attempts else { return nil }
      guard initial > .zero else { return .zero }
      let growth = power(factor, max(attempt, 1) - 1)
      let grown = initial / .seconds(1) * growth
      // The comparison is false for NaN, too. A duration out of bounds would trap.
      let delay = grown >= 0 && grown < maximum / .seconds(1) ? initial * growth : maximum
      return delay * (1 - part(jitter) * part(random()))
    }
  }

  private static func power(_ base: Double, _ exponent: Int) -> Double {
    var (result, square, rest) = (1.0, base, exponent)
    while rest > 0 {
      if !rest.isMultiple(of: 2) { result *= square }
      square *= square
      rest /= 2
    }
    return result
  }

  /// The number clamped to 0...1; 0 for NaN.
  private static func part(_ number: Double) -> Double { number > 0 ? min(number, 1) : 0 }

  /// This policy, limited to errors for which `predicate` is true; other errors are not retried.
  public func retrying(if predicate: @escaping @Sendable (any Error) -> Bool) -> RetryPolicy {
    RetryPolicy { attempt, error in predicate(error) ? delay(attempt, error) : nil }
  }
}
