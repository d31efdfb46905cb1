/// How long to wait after failures in a row: a delay that grows by a factor up to a maximum, and of which a part may be
/// random.
///
///     let backoff = Backoff(initial: .seconds(1), maximum: .seconds(60))
///     backoff.delay(after: 3)      // anything from 0 to 4 seconds
///
/// Everything that waits before another attempt computes its delay here: ``RetryPolicy/exponential(attempts:_:)``, a
/// token's refresh, an outbox. Each names its own values.
public struct Backoff: Sendable {
  /// The delay after the first failure.
  public var initial: Duration

  /// The factor by which each delay grows. If the result is not a valid delay, as with NaN, `maximum` is used.
  public var factor: Double

  /// The longest delay.
  public var maximum: Duration

  /// The random part of each delay, from 0 (none) to 1 (full: anything from no delay to all of it). It keeps clients
  /// that failed together from coming back together.
  public var jitter: Double

  private let random: @Sendable () -> Double

  /// Makes a back-off; `random` returns a number from 0 to below 1, and tests can pass their own.
  public init(
    initial: Duration, factor: Double = 2, maximum: Duration, jitter: Double = 1,
    random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
  ) {
    self.initial = initial
    self.factor = factor
    self.maximum = maximum
    self.jitter = jitter
    self.random = random
  }

  /// How long to wait after this many failures in a row; fewer than 1 count as 1.
  public func delay(after failures: Int) -> Duration {
    guard initial > .zero else { return .zero }
    let growth = Self.power(factor, max(failures, 1) - 1)
    let grown = initial / .seconds(1) * growth
    // The comparison is false for NaN, too. A duration out of bounds would trap.
    let delay = grown >= 0 && grown < maximum / .seconds(1) ? initial * growth : maximum
    let kept = 1 - Self.part(jitter) * Self.part(random())
    return kept == 1 ? delay : delay * kept
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
}
