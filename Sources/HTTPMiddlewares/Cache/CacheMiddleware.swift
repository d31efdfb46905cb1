public import HTTP
public import Platform
public import Streams

/// Answers `GET` requests from stored responses as long as the server's headers allow it: a client's cache by RFC 9111,
/// with `stale-while-revalidate` and `stale-if-error` (RFC 5861).
///
///     CacheMiddleware(MemoryCacheStorage(limit: 64 << 20), owners: .credentials(of: tokens))
///
/// A stored response that is no longer fresh is confirmed by `If-None-Match` and `If-Modified-Since`, and served again
/// after a 304. The head of each response tells where it came from, `HTTPResponseHead.source`; observers get
/// `servedFromCache`. Directives of the request's own `Cache-Control` are obeyed: `no-store`, `no-cache`, `max-age`,
/// `max-stale`, `min-fresh`, `stale-if-error`, and `only-if-cached`, which gives status 504 where nothing is stored.
///
/// A response is found only by requests of the same owner, see ``RequestOwners``. If an ``AuthMiddleware`` inside this one
/// sends a request under another token than the owner's, its response is not stored.
///
/// Not stored are what the headers forbid; responses that were redirected, are event streams or multipart, are longer
/// than `bodyLimit`, or that `mayStore` declines. Requests with a body, a range or conditions of their own pass through, as do a session's whose response or variables
/// are declared secret.
/// A response is stored before its stream completes. A request with an unsafe method that succeeds removes what its
/// owner has stored for its URL, and for those of the same origin in `Location` and `Content-Location` (section 4.4).
///
/// ``signOut(_:)`` removes what an account has stored.
///
/// Place it outside retries, limits and tokens, so that what is stored waits for none of them. Calls back on the
/// subscriber's thread for what is stored, else on the exchange's.
public struct CacheMiddleware: HTTPMiddleware {
  private let storage: any CacheStorage
  private let mode: CacheMode
  private var owners: RequestOwners
  private let bodyLimit: Int
  private let mayStore: @Sendable (HTTPResponse) -> Bool
  private let now: @Sendable () -> Date
  private let refreshing = Locked<Set<CacheKey>>([])
  private let signOuts = CacheSignOuts()

  /// Takes the storage, and how to use it.
  ///
  /// - Parameters:
  ///   - storage: Keeps the responses.
  ///   - mode: Whose requests it serves.
  ///   - owners: Whose a request is; by default, that of the credentials in its header fields.
  ///   - bodyLimit: The longest body to store, in bytes.
  ///   - mayStore: Whether a complete response may be stored; it is asked only about those that the headers allow. For
  ///     GraphQL, which reports errors with status 200, Networking has `CacheMiddleware.hasNoGraphQLErrors`.
  ///   - now: The wall clock.
  public init(
    _ storage: any CacheStorage = MemoryCacheStorage(), mode: CacheMode = .private,
    owners: RequestOwners = .credentials(), bodyLimit: Int = 1 << 20,
    mayStore: @escaping @Sendable (HTTPResponse) -> Bool = { _ in true },
    now: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.storage = storage
    self.mode = mode
    self.owners = owners
    self.bodyLimit = bodyLimit
    self.mayStore = mayStore
    self.now = now
  }

  /// Serves a stored response, or passes the request on and stores the response.
  public func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    guard request.method == .get else {
      return request.method.isSafe ? next(request) : next(request).do(onNext: { remove(what: request, changes: $0) })
    }
    guard !request.headers.hasCondition, request.bodyCount == 0, !request.context.isSecret else { return next(request) }
    return .deferred {
      let directives = CacheControl(request.headers)
      return directives.noStore ? next(request) : respond(to: lookup(request, directives), next)
    }
  }

  private func lookup(_ request: HTTPRequest, _ directives: CacheControl) -> CacheLookup {
    let owner = owners.owner(request)
    let key = CacheKey(url: request.target.text, owner: owner.name, account: owner.account)
    // Before anything is read: what is stored from now on belongs to this time.
    let time = signOuts.now
    let stored = storage.responses(for: key)
    let selected = stored.match(for: request.headers, owned: owners.fieldNames)
    return CacheLookup(
      request: request, directives: directives, owner: owner, key: key, stored: stored, selected: selected,
      time: time)
  }

  private func respond(
    to lookup: CacheLookup, _ next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    guard let index = lookup.selected else {
      return lookup.directives.onlyIfCached ? .just(.head(.gatewayTimeout)) : ask(lookup, next)
    }
    let stored = lookup.stored[index]
    switch stored.decision(for: lookup.directives, mode, at: seconds) {
    case .serve(let age, let isStale): return .from(lookup.parts(of: stored, age: age, isStale: isStale))
    case .serveAndRefresh(let age):
      refresh(lookup, next)
      return .from(lookup.parts(of: stored, age: age, isStale: true))
    case .refuse: return .just(.head(.gatewayTimeout))
    case .ask: return ask(lookup, next)
    }
  }

  /// Asks the server for a response, or whether a stored one is still current, and stores the outcome.
  private func ask(
    _ lookup: CacheLookup, mayConfirm: Bool = true,
    _ next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    let conditions = mayConfirm ? lookup.stored.conditions(selected: lookup.selected) : []
    let progress = Locked(CacheProgress())
    let requestTime = seconds
    return next(lookup.request(with: conditions, progress))
      .transform(HTTPResponse?.none) { response, part, emit in
        switch part {
        case .head(let head):
          if head.status == 304, !conditions.isEmpty {
            let confirmed = try confirm(lookup, by: head, requestTime, progress)
            progress.withLock { $0.isAnswered = true }
            confirmed.forEach(emit)
          } else if head.isServersOutage, let parts = replacement(lookup) {
            progress.withLock { $0.isAnswered = true }
            parts.forEach(emit)
          } else {
            let state = progress.withLock { state in
              state.hasBegun = true
              return state
            }
            let isAuthenticated = state.isAuthenticated || lookup.request.headers.contains("Authorization")
            if !state.isForeign, !head.isEndless,
              head.mayBeStored(CacheControl(head.headers), isAuthenticated: isAuthenticated, mode)
            {
              response = HTTPResponse(head: head)
            }
            emit(part)
          }
        case .body(let piece):
          guard !progress.withLock({ $0.isAnswered }) else { return }
          response = response.take().flatMap { $0.adding(piece, upTo: bodyLimit) }
          emit(part)
        }
      } finishing: { response, _ in
        if let response, mayStore(response) { store(response, for: lookup, requestTime) }
      }
      .catch { error in
        if error is Unconfirmed { return ask(lookup, mayConfirm: false, next) }
        let state = progress.withLock { $0 }
        // What was served from the cache is whole, whatever becomes of the exchange.
        if state.isAnswered { return .empty() }
        guard !state.hasBegun, RequestError(wrapping: error).isOutage, let parts = replacement(lookup) else {
          throw error
        }
        return .from(parts)
      }
  }

  /// Asks the server in the background, once at a time for each key.
  private func refresh(
    _ lookup: CacheLookup, _ next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) {
    guard refreshing.withLock({ $0.insert(lookup.key).inserted }) else { return }
    var lookup = lookup
    lookup.request = lookup.request.withoutObservers
    let key = lookup.key
    _ = ask(lookup, next).subscribe(onError: { _ in }, onDisposed: { _ = refreshing.withLock { $0.remove(key) } })
  }

  /// The response that a 304 confirms; throws `Unconfirmed` if it is not certain which.
  private func confirm(
    _ lookup: CacheLookup, by head: HTTPResponseHead, _ requestTime: Double, _ progress: Locked<CacheProgress>
  ) throws -> [HTTPResponsePart] {
    guard !progress.withLock({ $0.isForeign }),
      let index = lookup.stored.confirmed(by: head, selected: lookup.selected)
    else { throw Unconfirmed() }
    let old = lookup.stored[index].response
    let updated = HTTPResponse(
      head: HTTPResponseHead(status: old.head.status, headers: old.head.headers.updated(by: head.headers)),
      body: old.body)
    let response = cached(updated, for: lookup, requestTime)
    store(response, for: lookup)
    return lookup.parts(of: response, source: .validatedCache, age: response.age(at: seconds))
  }

  /// The stored response that may be served in the place of an error.
  private func replacement(_ lookup: CacheLookup) -> [HTTPResponsePart]? {
    guard let index = lookup.selected else { return nil }
    let (stored, time) = (lookup.stored[index], seconds)
    guard stored.mayReplaceError(for: lookup.directives, mode, at: time) else { return nil }
    return lookup.parts(of: stored, age: stored.age(at: time), isStale: true)
  }

  private func store(_ response: HTTPResponse, for lookup: CacheLookup, _ requestTime: Double) {
    var kept = response
    kept.head.headers = kept.head.headers.storable
    let stored = cached(kept, for: lookup, requestTime)
    if stored.isOfUse(in: mode) { store(stored, for: lookup) }
  }

  /// Replaces what is stored for a request by a response; those to requests with other fields stay.
  private func store(_ response: CachedResponse, for lookup: CacheLookup) {
    let others = storage.responses(for: lookup.key).filter {
      $0.varyingNames != response.varyingNames || $0.varyingValues != response.varyingValues
    }
    guard !signOuts.contain(lookup.key.account, since: lookup.time) else { return }
    storage.store(others.suffix(CachedResponse.variantLimit - 1) + [response], for: lookup.key)
    // It may have signed out in between.
    if signOuts.contain(lookup.key.account, since: lookup.time) { storage.store([], for: lookup.key) }
  }

  private func cached(_ response: HTTPResponse, for lookup: CacheLookup, _ requestTime: Double) -> CachedResponse {
    let names = response.head.headers.varyingNames
    let values = names.map { lookup.request.headers.varyingValue(of: $0, owned: owners.fieldNames) }
    return CachedResponse(
      response: response, requestTime: requestTime, responseTime: seconds, varyingValues: values)
  }

  /// Section 4.4.
  private func remove(what request: HTTPRequest, changes part: HTTPResponsePart) {
    guard case .head(let head) = part, (200..<400).contains(head.status) else { return }
    let owner = owners.owner(request)
    var targets = [request.target]
    for name in ["Location", "Content-Location"] {
      if let text = head.headers[name], let url = URL(string: text, relativeTo: request.url)?.absoluteURL,
        let other = try? request.to(url), other.origin == request.origin
      {
        targets.append(other.target)
      }
    }
    for target in targets {
      let key = CacheKey(url: target.text, owner: owner.name, account: owner.account)
      if !storage.responses(for: key).isEmpty { storage.store([], for: key) }
    }
  }

  private var seconds: Double { now().timeIntervalSince1970 }
}

extension CacheMiddleware {
  /// Removes what is stored for an account that signs out: the token's, under all its tokens, or what was stored under
  /// this token, if it names no account. Responses that are on their way to the account are delivered, and not stored.
  /// They are gone from the storage when this returns, or else it throws; another call tries again.
  ///
  /// For owners that ``RequestOwners/credentials(of:fieldNames:)`` tells apart by a provider's tokens. Call it once the
  /// provider no longer gives the token.
  public func signOut(_ token: AccessToken) throws {
    try signOut(owner: RequestOwners.TokenOwner(token.account, token.value).name)
  }

  /// The same for an owner that a closure has named, see ``RequestOwners/named(_:)``.
  public func signOut(owner: String) throws {
    signOuts.add(owner)
    try storage.removeAll(of: owner)
  }
}

extension [any HTTPMiddleware] {
  /// Removes what the caches among these middlewares have stored for an account that signs out, as
  /// ``CacheMiddleware/signOut(_:)`` does:
  ///
  ///     tokens.setToken(nil)
  ///     try client.middlewares.signOut(token)
  ///
  /// Throws the error of the first cache that could not remove everything, once all have tried.
  public func signOut(_ token: AccessToken) throws {
    let removals = compactMap { $0 as? CacheMiddleware }.map { cache in Result { try cache.signOut(token) } }
    for removal in removals { try removal.get() }
  }
}

/// Which accounts have signed out lately, so that a response that was on its way meanwhile is not stored.
private final class CacheSignOuts: Sendable {
  private struct State {
    var count: UInt64 = 0
    /// The number of each account's latest sign-out, by the account's hash: its name may be a token.
    var latest: [Int: UInt64] = [:]
    /// Earlier ones are not known any more.
    var forgotten: UInt64 = 0
  }

  private static let limit = 1_000

  private let state = Locked(State())

  /// The number of the latest sign-out.
  var now: UInt64 { state.withLock { $0.count } }

  func add(_ account: String) {
    state.withLock { state in
      if state.latest.count == Self.limit { (state.latest, state.forgotten) = ([:], state.count) }
      state.count += 1
      state.latest[account.hashValue] = state.count
    }
  }

  /// Whether an account has signed out since a time, or may have.
  func contain(_ account: String, since time: UInt64) -> Bool {
    state.withLock { $0.count != time && (time < $0.forgotten || $0.latest[account.hashValue, default: 0] > time) }
  }
}

extension CacheMiddleware: OwnedMiddleware {
  package func authenticated(by authentication: AuthMiddleware) -> CacheMiddleware {
    var cache = self
    cache.owners = owners.with(tokens: authentication.tokens)
    return cache
  }
}

/// A request, and what a cache has found for it.
private struct CacheLookup: Sendable {
  var request: HTTPRequest
  let directives: CacheControl
  let owner: RequestOwners.Owner
  let key: CacheKey
  let stored: [CachedResponse]
  let selected: Int?
  /// When the request was looked up, among the sign-outs.
  let time: UInt64

  /// The parts of a stored response, which is reported to the request's observer.
  func parts(of response: CachedResponse, age: Double, isStale: Bool) -> [HTTPResponsePart] {
    parts(of: response, source: .cache(age: .seconds(age), isStale: isStale), age: age)
  }

  func parts(of response: CachedResponse, source: HTTPResponseSource, age: Double) -> [HTTPResponsePart] {
    let served = response.served(as: source, age: age)
    request.context.observation?.reportCached(served.head)
    return served.parts
  }

  /// The request to send to the server; what becomes of it on its way is recorded.
  func request(with conditions: [HTTPField], _ progress: Locked<CacheProgress>) -> HTTPRequest {
    var request = request
    for field in conditions { request.headers.append(field) }
    request.context.onAuthenticated = { [owner] account, token, _ in
      let isForeign = !owner.isOwner(ofTokenOf: account, token)
      progress.withLock { progress in
        progress.isAuthenticated = true
        if isForeign { progress.isForeign = true }
      }
    }
    request.context.onRedirect = { [onRedirect = request.context.onRedirect] in
      progress.withLock { $0.isForeign = true }
      onRedirect?()
    }
    return request
  }
}

/// What has become of a request that was sent.
private struct CacheProgress: Sendable {
  /// Whether part of the server's response has been passed on.
  var hasBegun = false
  /// Whether a stored response has been served instead.
  var isAnswered = false
  /// Whether it was sent with a token.
  var isAuthenticated = false
  /// Whether the response is to another request: redirected, or sent under another token.
  var isForeign = false
}

/// A 304 that confirms nothing that is stored.
private struct Unconfirmed: Error {}

extension HTTPHeaders {
  /// Whether the request asks for a range, or under conditions: its response means something only to itself.
  fileprivate var hasCondition: Bool {
    for field in self {
      switch field.name.utf8.count {
      case 5: if field.hasName("Range") { return true }
      case 8: if field.hasName("If-Match") || field.hasName("If-Range") { return true }
      case 13: if field.hasName("If-None-Match") { return true }
      case 17: if field.hasName("If-Modified-Since") { return true }
      case 19: if field.hasName("If-Unmodified-Since") { return true }
      default: continue
      }
    }
    return false
  }
}

extension HTTPResponseHead {
  fileprivate static let gatewayTimeout = HTTPResponseHead(status: 504)

  /// RFC 5861, section 4.
  fileprivate var isServersOutage: Bool { [500, 502, 503, 504].contains(status) }
}

extension HTTPResponse {
  /// The response with another piece of its body; `nil` if it is longer than the limit then.
  fileprivate consuming func adding(_ piece: Data, upTo limit: Int) -> HTTPResponse? {
    guard piece.count <= limit - body.count else { return nil }
    if body.isEmpty { body = piece } else { body.append(piece) }
    return self
  }
}
