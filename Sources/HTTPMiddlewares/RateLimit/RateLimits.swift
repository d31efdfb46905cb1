import HTTPClientCore

/// A server's limits as far as its responses to one owner have told them: pure, without locks.
///
/// A server may limit each of its resources by itself. Which of them a request uses, only a response to its like tells,
/// with the same method, path and operation; until then, nothing holds it back but what concerns all requests.
struct RateLimits: Sendable {
  /// How many resources, and how many kinds of requests, are known at most; when there are more, all are learned again.
  static let mostResources = 64
  static let mostKinds = 1024

  /// What concerns all requests: the limit of a server that names no resource, and times at which it is out of order.
  private var common = RateLimitState()
  private var resources: [String: RateLimitState] = [:]
  /// The resource that each kind of request uses, by the kind's hash.
  private var names: [Int: String] = [:]

  /// What is left of the limit that a request falls under.
  func view(of request: HTTPRequest, at now: Duration) -> RateLimit {
    guard let name = name(for: request), let state = resources[name] else { return common.view(at: now) }
    var limit = state.view(at: now)
    limit.resource = name
    return limit
  }

  /// How long a request has to wait.
  func wait(of request: HTTPRequest, at now: Duration) -> Duration {
    let wait = common.wait(at: now)
    guard let name = name(for: request), let state = resources[name] else { return wait }
    return max(wait, state.wait(at: now))
  }

  /// Counts a request that is sent: until its response tells, one fewer is left.
  mutating func recordSent(_ request: HTTPRequest) {
    guard let name = name(for: request) else { return common.recordSent() }
    resources[name]?.recordSent()
  }

  /// Records a response that is no refusal, except that the server may be out of order for a while.
  mutating func record(_ reported: RateLimit?, retryAfter: Duration?, to request: HTTPRequest, at now: Duration) {
    guard let name = learn(reported?.resource, of: request) else {
      return common.record(reported, retryAfter: retryAfter, at: now)
    }
    resources[name, default: RateLimitState()].record(reported, retryAfter: nil, at: now)
    common.record(nil, retryAfter: retryAfter, at: now)
  }

  /// Records that a request was refused, with the time that the server asks for, if it does; returns how long it has to
  /// wait. If there is something left of its resource, the server means all requests, as with GitHub's secondary limits.
  mutating func refuse(
    _ reported: RateLimit?, retryAfter: Duration?, to request: HTTPRequest, at now: Duration
  ) -> Duration {
    guard let name = learn(reported?.resource, of: request) else {
      return common.refuse(reported, retryAfter: retryAfter, at: now)
    }
    if (reported?.remaining ?? 0) == 0 {
      let wait = resources[name, default: RateLimitState()].refuse(reported, retryAfter: retryAfter, at: now)
      return max(wait, common.wait(at: now))
    }
    resources[name, default: RateLimitState()].record(reported, retryAfter: nil, at: now)
    return common.refuse(nil, retryAfter: retryAfter, at: now)
  }

  /// The resource that a response names; else that of earlier ones, if it is known.
  private mutating func learn(_ name: String?, of request: HTTPRequest) -> String? {
    guard let name else { return self.name(for: request) }
    if resources[name] == nil, resources.count >= Self.mostResources { (resources, names) = ([:], [:]) }
    if names.count >= Self.mostKinds { names = [:] }
    names[request.kind] = name
    return name
  }

  private func name(for request: HTTPRequest) -> String? {
    names.isEmpty ? nil : names[request.kind]
  }
}

extension HTTPRequest {
  /// The hash of what requests have in common that use one resource of a server: a path has no bound.
  fileprivate var kind: Int {
    var hasher = Hasher()
    hasher.combine(method)
    for byte in target.path.utf8.prefix(while: { $0 != UInt8(ascii: "?") }) { hasher.combine(byte) }
    hasher.combine(operationName)
    return hasher.finalize()
  }
}
