public import HTTPClientCore
public import SystemBase

/// What is left of a server's limit on requests, as its responses report it.
///
/// These header fields are read, of responses with any status: `RateLimit` and `RateLimit-Policy`
/// (draft-ietf-httpapi-ratelimit-headers, its newest form and `limit=…, remaining=…, reset=…`), and `-Limit`,
/// `-Remaining`, `-Reset` and `-Reset-After` behind `RateLimit`, `X-RateLimit` and `X-Rate-Limit`. A reset may be a number
/// of seconds, or a time: in seconds or milliseconds since 1970, as GitHub's is, or a date as in `Date`. Of several
/// policies in one field, that with the least left counts. What cannot be read is ignored; a number that is less than
/// zero counts as zero. A reset that is a time is compared with the response's own `Date`, so that it does not matter
/// what this machine's clock says.
public struct RateLimit: Hashable, Sendable {
  /// How many requests the server allows in its window.
  public var limit: Int?

  /// How many of them are left.
  public var remaining: Int?

  /// How long it takes until all of them are there again.
  public var resetsAfter: Duration?

  /// What the limit is for, if the server names it: `X-RateLimit-Resource` (GitHub), or the policy and its partition
  /// key, `"search";pk=:…:`, of `RateLimit`. Requests for others are not held back by it.
  public var resource: String?

  /// Makes a limit.
  public init(limit: Int? = nil, remaining: Int? = nil, resetsAfter: Duration? = nil, resource: String? = nil) {
    self.limit = limit
    self.remaining = remaining
    self.resetsAfter = resetsAfter
    self.resource = resource
  }
}

extension RateLimit {
  /// The prefixes of the names of the fields, the most important first.
  private static let families = ["RateLimit", "X-RateLimit", "X-Rate-Limit"]

  /// What a response says; `nil` if it says nothing. `now` is the wall clock, for resets that are times, in a response
  /// without a `Date`.
  public init?(_ headers: HTTPHeaders, now: @autoclosure () -> Date) {
    // Every response is searched for them.
    guard headers.contains(namePrefix: "RateLimit") || headers.contains(namePrefix: "X-Rate") else { return nil }
    self.init()
    for family in Self.families where headers.contains(namePrefix: family) {
      if family == "RateLimit" { readPolicies(headers["RateLimit"] ?? "", headers["RateLimit-Policy"] ?? "") }
      limit = limit ?? headers.first("\(family)-Limit")?.number.map { Int($0) }
      remaining = remaining ?? headers.first("\(family)-Remaining")?.number.map { Int($0) }
      resetsAfter = resetsAfter ?? headers.first("\(family)-Reset-After")?.number.map { .seconds($0) }
      resetsAfter =
        resetsAfter
        ?? headers.first("\(family)-Reset").flatMap { Self.time(until: $0, now: { headers.serverDate ?? now() }) }
      resource = resource ?? headers.first("\(family)-Resource")
    }
    if self == RateLimit() { return nil }
  }

  /// The time until a reset, which is a number of seconds unless it is so great that it must be a time.
  private static func time(until reset: String, now: () -> Date) -> Duration? {
    let date: Date
    switch reset.number {
    case .some(let number) where number < 5e8: return .seconds(number)
    case .some(let number): date = Date(timeIntervalSince1970: number < 5e11 ? number : number / 1000)
    case nil:
      guard let httpDate = Date(httpDate: reset) else { return nil }
      date = httpDate
    }
    return .seconds(max(date.timeIntervalSince(now()), 0))
  }

  /// Reads lists such as `"burst";r=0;t=2, "day";r=50;t=3600` and `"burst";q=10;w=1, "day";q=500;w=86400`.
  private mutating func readPolicies(_ limits: String, _ policies: String) {
    let policies = Policy.list(policies)
    guard let least = Policy.list(limits).min(by: { $0.isStricter(than: $1) }) else {
      limit = policies.lazy.compactMap(\.limit.limit).first
      return
    }
    self = least.limit
    limit = limit ?? policies.first { $0.name == least.name }?.limit.limit
  }

  /// A policy by its name, which is empty in the form `limit=10, remaining=5, reset=5`.
  private struct Policy {
    let name: Substring
    var limit = RateLimit()

    init(name: Substring) { self.name = name }

    static func list(_ value: String) -> [Policy] {
      var policies: [Policy] = []
      value.forEachListElement { element in
        var parts = element.split(separator: ";").map(\.trimmed)[...]
        let name = parts.first.flatMap { $0.contains("=") ? nil : parts.popFirst() } ?? ""
        if !name.isEmpty || policies.last?.name != "" { policies.append(Policy(name: name)) }
        for part in parts { policies[policies.count - 1].read(part) }
      }
      return policies
    }

    private mutating func read(_ parameter: Substring) {
      let pair = parameter.split(separator: "=", maxSplits: 1)
      guard pair.count == 2 else { return }
      let key = pair[0].trimmed.lowercased()
      if key == "pk" { limit.resource = "\(name) \(pair[1].trimmed)" }
      guard let number = String(pair[1]).number else { return }
      switch key {
      case "limit", "q": limit.limit = Int(number)
      case "remaining", "r": limit.remaining = Int(number)
      case "reset", "t": limit.resetsAfter = .seconds(number)
      default: break
      }
    }

    /// Whether less is left of it, or it lasts longer.
    func isStricter(than other: Policy) -> Bool {
      let (own, others) = (limit.remaining ?? .max, other.limit.remaining ?? .max)
      return own == others ? limit.resetsAfter ?? .zero > other.limit.resetsAfter ?? .zero : own < others
    }
  }
}

extension HTTPHeaders {
  fileprivate func first(_ name: String) -> String? {
    firstIndex(of: name, from: 0).map { self[$0].value }
  }
}

extension String {
  /// The number that this is, up to a comma or a semicolon: several limits may be in one field, `10, 10;w=1`, of which the
  /// first counts. From 0 to 10^15, so that it can be counted and is a time.
  fileprivate var number: Double? {
    let text = prefix { $0 != "," && $0 != ";" }.trimmed
    let digits = text.first == "-" ? text.dropFirst() : text
    guard digits.utf8.allSatisfy({ $0.isDigit || $0 == UInt8(ascii: ".") }) else { return nil }
    return Double(text).map { min(max($0, 0), 1e15) }
  }
}
