public import HTTP
public import Platform
import Streams

/// What is left of a server's limit on requests, as its responses have told.
///
/// These header fields are read, of responses with any status: `RateLimit` and `RateLimit-Policy`
/// (draft-ietf-httpapi-ratelimit-headers, its newest form and `limit=…, remaining=…, reset=…`), and `-Limit`,
/// `-Remaining`, `-Reset` and `-Reset-After` behind `RateLimit`, `X-RateLimit` and `X-Rate-Limit`. A reset may be a number
/// of seconds, or a time in seconds or milliseconds since 1970, as GitHub's is.
public struct RateLimit: Hashable, Sendable {
  /// How many requests the server allows in its window.
  public var limit: Int?

  /// How many of them are left.
  public var remaining: Int?

  /// How long it takes until all of them are there again.
  public var resetsAfter: Duration?

  /// Makes a limit.
  public init(limit: Int? = nil, remaining: Int? = nil, resetsAfter: Duration? = nil) {
    self.limit = limit
    self.remaining = remaining
    self.resetsAfter = resetsAfter
  }
}

extension RateLimit {
  /// What a response says; `nil` if it says nothing. `now` is the wall clock, for resets that are times.
  public init?(_ headers: HTTPHeaders, now: Date) {
    self.init()
    if let value = headers["RateLimit"] { readStructured(value) }
    if limit == nil, let policy = headers["RateLimit-Policy"] { limit = Self.parameters(policy)["q"].flatMap(Int.init) }
    for prefix in ["RateLimit", "X-RateLimit", "X-Rate-Limit"] {
      limit = limit ?? headers.number("\(prefix)-Limit").flatMap(Int.init(exactly:))
      remaining = remaining ?? headers.number("\(prefix)-Remaining").map { Int(max($0, 0)) }
      resetsAfter = resetsAfter ?? headers.number("\(prefix)-Reset-After").map { .seconds(max($0, 0)) }
      resetsAfter = resetsAfter ?? headers.number("\(prefix)-Reset").map { Self.duration(until: $0, now: now) }
    }
    if self == RateLimit() { return nil }
  }

  private mutating func readStructured(_ value: String) {
    let parameters = Self.parameters(value)
    limit = parameters["limit"].flatMap { Int($0) }
    remaining = (parameters["remaining"] ?? parameters["r"]).flatMap { Int($0) }
    resetsAfter = (parameters["reset"] ?? parameters["t"]).flatMap { Int($0) }.map { .seconds(max($0, 0)) }
  }

  /// The parameters of the first policy in a list such as `"default";r=50;t=30`, or of one such as `limit=10, reset=5`.
  private static func parameters(_ value: String) -> [String: String] {
    var parameters: [String: String] = [:]
    for part in value.split(whereSeparator: { $0 == ";" || $0 == "," }) {
      let pair = part.split(separator: "=", maxSplits: 1).map { String($0.trimmed) }
      if pair.count == 2, parameters[pair[0].lowercased()] == nil { parameters[pair[0].lowercased()] = pair[1] }
    }
    return parameters
  }

  /// From a number that is one of seconds, unless it is so great that it must be a time.
  private static func duration(until number: Double, now: Date) -> Duration {
    let seconds =
      switch number {
      case 5e11...: number / 1000 - now.timeIntervalSince1970
      case 5e8...: number - now.timeIntervalSince1970
      default: number
      }
    return .seconds(min(max(seconds, 0), 1e9))
  }
}

extension HTTPHeaders {
  /// The number in the first field of a name; several limits may be in one field, `10, 10;w=1`, of which the first counts.
  fileprivate func number(_ name: String) -> Double? {
    values(of: name).first.flatMap { value in
      Double(value.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }).flatMap { $0.isFinite ? $0 : nil }
    }
  }
}

/// A server's limit as a middleware follows it, in a scheduler's time: pure, without locks.
struct RateLimitState: Sendable {
  /// How long nobody waits for a server that asks for more.
  private static let longest = Duration.seconds(86_400)
  /// For a server that does not say how long.
  private static let backoff = Backoff(initial: .seconds(1), maximum: .seconds(60), jitter: 0)

  private var limit: Int?
  private var remaining: Int?
  private var resetAt: Duration?
  private var blockedUntil = Duration.zero
  private var refusals = 0

  /// What is left.
  func view(at now: Duration) -> RateLimit {
    let isOver = resetAt.map { $0 <= now } ?? false
    return RateLimit(
      limit: limit, remaining: isOver ? limit : remaining, resetsAfter: resetAt.map { max($0 - now, .zero) })
  }

  /// How long the next request has to wait.
  func wait(at now: Duration) -> Duration {
    var until = blockedUntil
    if remaining == 0, let resetAt { until = max(until, resetAt) }
    return max(until - now, .zero)
  }

  /// Counts a request that is sent: until its response tells, one fewer is left.
  mutating func recordSent() {
    if let remaining, remaining > 0 { self.remaining = remaining - 1 }
  }

  /// Records a response that is no refusal, except that the server may be out of order for a while.
  mutating func record(_ told: RateLimit?, retryAfter: Duration?, at now: Duration) {
    refusals = 0
    update(told, at: now)
    if let retryAfter { block(for: retryAfter, at: now) }
  }

  /// Records that a request was refused, with the time that the server asks for, if it does. Returns how long that
  /// request has to wait; without a time from the server, others do not.
  mutating func refuse(_ told: RateLimit?, retryAfter: Duration?, at now: Duration) -> Duration {
    refusals = min(refusals + 1, 30)
    update(told, at: now)
    let untilReset = told.flatMap { $0.remaining ?? 0 == 0 ? $0.resetsAfter : nil }
    guard let asked = retryAfter ?? untilReset else {
      return max(Self.backoff.delay(after: refusals), wait(at: now))
    }
    block(for: asked, at: now)
    return wait(at: now)
  }

  private mutating func update(_ told: RateLimit?, at now: Duration) {
    guard let told else { return }
    limit = told.limit ?? limit
    remaining = told.remaining
    resetAt = told.resetsAfter.map { now + min($0, Self.longest) }
  }

  private mutating func block(for time: Duration, at now: Duration) {
    blockedUntil = max(blockedUntil, now + min(max(time, .zero), Self.longest))
  }
}
