public import HTTPClientCore
public import Streams
public import SystemBase

/// Answers `GET` requests from stored responses as long as the server's headers allow it: a client's cache by RFC 9111,
/// with `stale-while-revalidate` and `stale-if-error` (RFC 5861).
///
///     CacheMiddleware(MemoryCacheStorage(limit: 64 << 20), owners: .credentials(of: tokens))
///
/// A stored response that is no longer fresh is confirmed by `If-None-Match` and `If-Modified-Since`, and served again
/// after a 304. The head of each response tells where it came from, `HTTPResponseHead.source`; observers get
/// `servedFromCache`. Directives of the request's own `Cache-Control` are obeyed: `no-store`, `no-cache`, `max-age`,
/// `max-stale`, `min-fresh`, `stale-if-error`, and `only-if-cached`: what is not served from the cache then gets status 504,
/// such as a request with a condition, a range or another method that changes nothing.
///
/// A response is stored, and served, only under the credentials that went out for it, see ``RequestOwners``; `Host` counts
/// as one. The cache knows those that a request has when it comes, its account's token, and the fields of a
/// ``DefaultHeadersMiddleware`` inside. If any other middleware inside adds some, nothing is stored; and because the cache
/// cannot know before, nothing is served behind a middleware whose `addedCredentials` are not known, unless the server
/// has confirmed it. Put middlewares of your own that add fields outside.
///
/// Not stored are what the headers forbid; responses that were redirected or sent elsewhere, are event streams or
/// multipart, are longer than `bodyLimit`, or that `mayStore` declines; and refusals of credentials (401 and 407), which
/// RFC 9111 would allow, because the account's next token would be refused with them. Requests with a body, a range or
/// conditions of their own pass through, as do a session's whose response or variables are declared secret.
///
/// A response is stored before its stream completes. A request with an unsafe method that succeeds, or may have been
/// carried out, removes what its owner has stored for its URL, and for those of the same origin in `Location` and
/// `Content-Location` (section 4.4); a response that was on its way meanwhile is not stored. GraphQL's queries and
/// subscriptions by `POST` change nothing, and remove nothing.
///
/// ``signOut(_:)`` removes what an account has stored.
///
/// Place it outside retries, limits and tokens, so that what is stored waits for none of them. Calls back on the
/// subscriber's thread for what is stored, else on the exchange's. With a storage other than ``MemoryCacheStorage``,
/// subscribes and calls back on threads that may block, and not on that of a task that awaits the response.
public struct CacheMiddleware: HTTPMiddleware, SendingByNext {
  private let storage: any CacheStorage
  private let storageWaits: Bool
  private let mode: CacheMode
  private var owners: RequestOwners
  private let bodyLimit: Int
  private let mayStore: @Sendable (HTTPResponse) -> Bool
  private let clock: CacheClock
  private let refreshing = Locked<Set<CacheKey>>([])

  /// Takes the storage, and how to use it.
  ///
  /// - Parameters:
  ///   - storage: Keeps the responses.
  ///   - mode: Whose requests it serves.
  ///   - owners: Whose a request is; by default, that of the credentials in its header fields.
  ///   - bodyLimit: The longest body to store, in bytes.
  ///   - mayStore: Whether a complete response may be stored, or end a stored one; not asked about a body beyond
  ///     `bodyLimit`, which ends one. For GraphQL, which reports errors with status 200, GraphQLClient has
  ///     `CacheMiddleware.hasNoGraphQLErrors`.
  ///   - now: The wall clock. It counts only for what another process has stored, and for a server's first response.
  ///   - elapsed: A clock that is never set, by which responses age.
  public init(
    _ storage: any CacheStorage = MemoryCacheStorage(), mode: CacheMode = .private,
    owners: RequestOwners = .credentials(), bodyLimit: Int = 1 << 20,
    mayStore: @escaping @Sendable (HTTPResponse) -> Bool = { _ in true },
    now: @escaping @Sendable () -> Date = { Date() }, elapsed: (@Sendable () -> Duration)? = nil
  ) {
    self.storage = storage
    storageWaits = !(storage is any ImmediateCacheStorage)
    self.mode = mode
    self.owners = owners
    self.bodyLimit = bodyLimit
    self.mayStore = mayStore
    clock = CacheClock(now: now, monotonic: elapsed ?? CacheClock.elapsed)
  }

  /// Serves a stored response, or passes the request on and stores the response.
  public func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    guard request.method == .get else {
      guard request.method.isSafe || request.onlyReads else { return change(request, next) }
      return CacheControl(request.headers).onlyIfCached ? .just(.head(.gatewayTimeout)) : next(request)
    }
    return .deferred {
      let directives = CacheControl(request.headers)
      if request.headers.hasCondition || request.bodyCount != 0 || request.context.isSecret {
        return directives.onlyIfCached ? .just(.head(.gatewayTimeout)) : next(request)
      }
      // With `only-if-cached` nothing is sent, and so nothing stored.
      if directives.noStore, !directives.onlyIfCached { return next(request) }
      let credentials = request.credentials(for: owners)
      // Before anything is read: what is stored from now on belongs to this time.
      let time = storage.removals.now
      return besideTasks(
        .deferred { respond(to: request, lookUp(request, directives, under: credentials, at: time), next) })
    }
  }

  /// Lets no task's thread wait for the storage: where nothing is subscribed to in a task, no response comes on it either.
  private func besideTasks(_ response: Observable<HTTPResponsePart>) -> Observable<HTTPResponsePart> {
    storageWaits ? response.subscribe(on: ElasticScheduler()) : response
  }

  private func lookUp(
    _ request: HTTPRequest, _ directives: CacheControl, under credentials: CacheCredentials, at time: UInt64
  ) -> CacheLookup {
    let key = request.cacheKey(under: credentials)
    let stored = storage.removals.isRemoving(key) ? [] : storage.responses(for: key)
    let selected = stored.match(for: credentials.headers, owned: owners.fieldNames)
    return CacheLookup(
      directives: directives, credentials: credentials, key: key, stored: stored, selected: selected, time: time)
  }

  private func respond(
    to request: HTTPRequest, _ lookup: CacheLookup,
    _ next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    guard let index = lookup.selected, lookup.credentials.isCertain else {
      return lookup.directives.onlyIfCached ? .just(.head(.gatewayTimeout)) : ask(for: request, lookup, next)
    }
    let stored = lookup.stored[index]
    switch stored.decision(for: lookup.directives, mode, age: clock.age(of: stored, from: request.origin)) {
    case .serve(let age, let isStale): return .from(request.parts(of: stored, age: age, isStale: isStale))
    case .serveAndRefresh(let age):
      refresh(request, lookup, next)
      return .from(request.parts(of: stored, age: age, isStale: true))
    case .refuse: return .just(.head(.gatewayTimeout))
    case .ask: return ask(for: request, lookup, next)
    }
  }

  /// Asks the server for a response, or whether a stored one is still current, and stores the outcome.
  private func ask(
    for request: HTTPRequest, _ lookup: CacheLookup, mayConfirm: Bool = true,
    _ next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    let conditions = mayConfirm ? lookup.stored.conditions(selected: lookup.selected) : []
    let progress = Locked(CacheProgress())
    let start = clock.uptime
    return next(request.asking(with: conditions, under: lookup.credentials, progress))
      .transform((response: CachedResponse?.none, isStored: false, supersedes: false)) { state, part, emit in
        switch part {
        case .head(let head):
          let progressNow = progress.withLock { $0 }
          let arrival = arrival(of: head, from: request.origin, sentAt: start)
          if head.status == 304, !conditions.isEmpty {
            let confirmed = try confirm(lookup, for: request, by: head, arrival, progressNow)
            progress.withLock { $0.isAnswered = true }
            confirmed.forEach(emit)
          } else if head.isServersOutage, let parts = replacement(lookup, for: request, progressNow) {
            progress.withLock { $0.isAnswered = true }
            parts.forEach(emit)
          } else {
            progress.withLock { $0.hasBegun = true }
            if !head.isEndless, isOwn(head, of: lookup, progressNow) {
              state.supersedes = head.tellsOfResource && lookup.selected != nil
              state.isStored = mayBeStored(head, for: lookup, progressNow)
              if state.isStored || state.supersedes {
                state.response = cached(HTTPResponse(head: head), for: lookup, arrival)
              }
            }
            emit(part)
          }
        case .body(let piece):
          guard !progress.withLock({ $0.isAnswered }) else { return }
          state.response = state.response.take().flatMap { $0.adding(piece, upTo: bodyLimit) }
          emit(part)
        // Not stored, as a cache may do (RFC 9111, section 3.1).
        case .trailers:
          if !progress.withLock({ $0.isAnswered }) { emit(part) }
        }
      } finishing: { state, _ in
        // A complete response supersedes the stored one, whether it is stored itself or not (section 4.3.3).
        let old = state.supersedes ? lookup.selected.map { lookup.stored[$0] } : nil
        if let response = state.response, !mayStore(response.response) { return }
        if let response = state.response, state.isStored {
          store(response, insteadOf: old, for: lookup)
        } else if let old {
          replace([old], by: nil, for: lookup)
        }
      }
      .catch { error in
        if error is Unconfirmed { return ask(for: request, lookup, mayConfirm: false, next) }
        let state = progress.withLock { $0 }
        // What was served from the cache is whole, whatever becomes of the exchange.
        if state.isAnswered { return .empty() }
        guard !state.hasBegun, RequestError(wrapping: error).isOutage,
          let parts = replacement(lookup, for: request, state)
        else {
          throw error
        }
        return .from(parts)
      }
  }

  /// Asks the server in the background, once at a time for each key.
  private func refresh(
    _ request: HTTPRequest, _ lookup: CacheLookup,
    _ next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) {
    guard refreshing.withLock({ $0.insert(lookup.key).inserted }) else { return }
    let key = lookup.key
    _ = ask(for: request.withoutObservers, lookup, next).subscribe(
      onError: { _ in }, onDisposed: { _ = refreshing.withLock { $0.remove(key) } })
  }

  /// The response that a 304 confirms; throws `Unconfirmed` if it is not certain which.
  private func confirm(
    _ lookup: CacheLookup, for request: HTTPRequest, by head: HTTPResponseHead, _ arrival: CacheArrival,
    _ progress: CacheProgress
  ) throws -> [HTTPResponsePart] {
    guard progress.isOwn, let index = lookup.stored.confirmed(by: head, selected: lookup.selected) else {
      throw Unconfirmed()
    }
    let old = lookup.stored[index]
    let updated = HTTPResponse(
      head: HTTPResponseHead(
        status: old.response.head.status, headers: old.response.head.headers.updated(by: head.headers)),
      body: old.response.body)
    let response = cached(updated, for: lookup, arrival)
    if isOwn(updated.head, of: lookup, progress), mayBeStored(updated.head, for: lookup, progress) {
      store(response, insteadOf: old, for: lookup)
    } else {
      // It serves this request, and no other.
      replace([old], by: nil, for: lookup)
    }
    var served = response
    // Cookies are for the request that they come to, and are not stored.
    for field in head.headers where field.hasName("Set-Cookie") { served.response.head.headers.append(field) }
    return request.parts(of: served, source: .validatedCache, age: response.initialAge)
  }

  /// The stored response that may be served in the place of an error.
  private func replacement(
    _ lookup: CacheLookup, for request: HTTPRequest, _ progress: CacheProgress
  ) -> [HTTPResponsePart]? {
    guard let index = lookup.selected, !storage.removals.concern(lookup.key, since: lookup.time),
      progress.isSent ? progress.isOwn : lookup.credentials.isCertain
    else { return nil }
    let stored = lookup.stored[index]
    let age = clock.age(of: stored, from: request.origin)
    guard stored.mayReplaceError(for: lookup.directives, mode, age: age) else { return nil }
    return request.parts(of: stored, age: age, isStale: stored.lifetime(in: mode) <= age)
  }

  /// Whether the response with this head is to the request that was looked up, by what was sent.
  private func isOwn(_ head: HTTPResponseHead, of lookup: CacheLookup, _ progress: CacheProgress) -> Bool {
    guard progress.isOwn, let sent = progress.sent else { return false }
    return !lookup.credentials.differ(from: sent, in: head.headers.varyingNames, owners.fieldNames, progress.tokens)
  }

  private func mayBeStored(_ head: HTTPResponseHead, for lookup: CacheLookup, _ progress: CacheProgress) -> Bool {
    let isAuthenticated = !progress.tokens.isEmpty || progress.sent?.contains("Authorization") ?? false
    return head.mayBeStored(CacheControl(head.headers), isAuthenticated: isAuthenticated, mode)
  }

  /// Stores a response; if it is of no use, the old one goes, which it supersedes all the same.
  private func store(_ response: CachedResponse, insteadOf old: CachedResponse?, for lookup: CacheLookup) {
    var response = response
    response.response.head.headers = response.response.head.headers.storable
    let isOfUse = response.isOfUse(in: mode)
    if isOfUse || old != nil { replace([response, old ?? response], by: isOfUse ? response : nil, for: lookup) }
  }

  /// Replaces what is stored for requests like these by a response, or removes it; responses to requests with other
  /// fields stay.
  private func replace(_ old: [CachedResponse], by new: CachedResponse?, for lookup: CacheLookup) {
    let removals = storage.removals
    removals.replacing(lookup.key) {
      if removals.concern(lookup.key, since: lookup.time) { return }
      let others = storage.responses(for: lookup.key).filter { stored in
        !old.contains { $0.varyingNames == stored.varyingNames && $0.varyingValues == stored.varyingValues }
      }
      storage.store(others.suffix(CachedResponse.variantLimit - 1) + (new.map { [$0] } ?? []), for: lookup.key)
      // It may have been removed in between.
      if removals.concern(lookup.key, since: lookup.time) { storage.store([], for: lookup.key) }
    }
  }

  private func cached(_ response: HTTPResponse, for lookup: CacheLookup, _ arrival: CacheArrival) -> CachedResponse {
    let names = response.head.headers.varyingNames
    let values = names.map { lookup.credentials.headers.varyingValue(of: $0, owned: owners.fieldNames) }
    var cached = CachedResponse(
      response: response, requestTime: arrival.date - arrival.delay, responseTime: arrival.date,
      initialAge: response.head.initialAge(delay: arrival.delay, responseTime: arrival.serverDate),
      varyingValues: values)
    cached.arrival = arrival.uptime
    return cached
  }

  /// When a head came; it tells the server's time from now on.
  private func arrival(
    of head: HTTPResponseHead, from server: HTTPOrigin, sentAt start: Double
  ) -> CacheArrival {
    let (date, uptime) = (clock.date, clock.uptime)
    defer { clock.note(head, of: server) }
    // A clock that is ahead makes nothing older: what the server's earlier responses tell counts, too.
    let serverDate = min(date, clock.date(of: server) ?? date)
    return CacheArrival(date: date, serverDate: serverDate, uptime: uptime, delay: uptime - start)
  }

  /// Sends a request with an unsafe method, and removes what it may have changed (section 4.4).
  private func change(
    _ request: HTTPRequest, _ next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    .deferred {
      let credentials = request.credentials(for: owners)
      let isOver = Locked(false)
      // Whether this is the first that is known of the outcome.
      let ends: @Sendable () -> Bool = { !isOver.withLock { exchange(&$0, with: true) } }
      let remove: @Sendable (_ head: HTTPResponseHead?, _ isCancelled: Bool) -> Void = { head, isCancelled in
        // A task that sends, or cancels, must not wait for the storage, nor a deadline on a thread of Swift's pool.
        let isLater = storageWaits && (isCancelled || withUnsafeCurrentTask { $0 != nil })
        storage.removals.remove(request.keysChanged(by: head, under: credentials), from: storage, isLater: isLater)
      }
      let response = next(request).do(
        onNext: { part in
          if case .head(let head) = part, ends(), (200..<400).contains(head.status) { remove(head, false) }
        },
        onError: { error in
          if ends(), RequestError(wrapping: error).reached == .maybe { remove(nil, false) }
        },
        onCompleted: { _ = ends() },
        // Cancelled before there was a response: it may have been carried out.
        onDispose: { if ends() { remove(nil, true) } })
      return besideTasks(response)
    }
  }
}

extension HTTPRequest {
  /// What a cache finds its responses under.
  fileprivate func cacheKey(under credentials: CacheCredentials) -> CacheKey {
    let (owner, account) = credentials.owner.names
    return CacheKey(url: target.text, host: credentials.headers["Host"] ?? "", owner: owner, account: account)
  }

  /// What it changes if its method is unsafe: its own URL, and those of the same origin that the response names.
  fileprivate func keysChanged(by head: HTTPResponseHead?, under credentials: CacheCredentials) -> [CacheKey] {
    var requests = [self]
    for name in ["Location", "Content-Location"] {
      guard let text = head?.headers[name], let url = URL(string: text, relativeTo: url)?.absoluteURL,
        let other = try? to(url)
      else { continue }
      if other.origin == origin {
        requests.append(other)
      } else if other.target.authority == credentials.headers["Host"],
        let same = URL(string: other.requestTarget, relativeTo: self.url)?.absoluteURL, let other = try? to(same)
      {
        requests.append(other)
      }
    }
    return requests.map { $0.cacheKey(under: credentials) }
  }

  /// The parts of a stored response, which is reported to the request's observer.
  fileprivate func parts(of response: CachedResponse, age: Double, isStale: Bool) -> [HTTPResponsePart] {
    parts(of: response, source: .cache(age: .seconds(age), isStale: isStale), age: age)
  }

  fileprivate func parts(of response: CachedResponse, source: HTTPResponseSource, age: Double) -> [HTTPResponsePart] {
    let served = response.served(as: source, age: age)
    context.observation?.reportCached(served.head)
    return served.parts
  }

  /// The request to send to the server; what becomes of it on its way is recorded.
  fileprivate func asking(
    with conditions: [HTTPField], under credentials: CacheCredentials, _ progress: Locked<CacheProgress>
  ) -> HTTPRequest {
    var request = self
    for field in conditions { request.headers.append(field) }
    let (method, target) = (method, target)
    var context = context
    context.onAuthenticated = { [onAuthenticated = context.onAuthenticated] account, token, fieldName in
      progress.withLock { $0.tokens.append(SentToken(owner: .init(account, token), fieldName: fieldName)) }
      onAuthenticated?(account, token, fieldName)
    }
    context.onSent = { [onSent = context.onSent] sent in
      progress.withLock { progress in
        progress.sent = sent.headers
        if credentials.areOthers(than: method, target, sent: sent, progress.tokens) { progress.isForeign = true }
      }
      onSent?(sent)
    }
    context.onRedirect = { [onRedirect = context.onRedirect] in
      progress.withLock { $0.isForeign = true }
      onRedirect?()
    }
    request.context = context
    return request
  }
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

  /// Removes all responses of an owner that a closure has named, see ``RequestOwners/named(_:)``.
  public func signOut(owner: String) throws {
    let removals = storage.removals
    defer { removals.add(account: owner) }
    // Twice: a request that was looked up meanwhile may have found what was not removed yet, and its 304 have stored it again.
    for _ in 0..<2 {
      removals.add(account: owner)
      removals.waitForReplacements(of: owner)
      try storage.removeAll(of: owner)
    }
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

extension CacheMiddleware: OwnedMiddleware {
  package func authenticated(by authentication: AuthMiddleware) -> CacheMiddleware {
    var cache = self
    cache.owners = owners.with(tokens: authentication.tokens)
    return cache
  }
}

/// What a cache has found for a request.
private struct CacheLookup: Sendable {
  let directives: CacheControl
  let credentials: CacheCredentials
  let key: CacheKey
  let stored: [CachedResponse]
  let selected: Int?
  /// When the request was looked up, among the removals.
  let time: UInt64
}

/// When a response arrived.
private struct CacheArrival {
  /// By the wall clock, in seconds since 1970.
  let date: Double
  /// By the server's clock, or the wall clock, whichever is earlier.
  let serverDate: Double
  /// By the clock that is never set, in seconds.
  let uptime: Double
  /// So many seconds after the request.
  let delay: Double
}

/// What has become of a request that was sent.
private struct CacheProgress: Sendable {
  /// Whether part of the server's response has been passed on.
  var hasBegun = false
  /// Whether a stored response has been served instead.
  var isAnswered = false
  /// The tokens that it was sent with.
  var tokens: [SentToken] = []
  /// The fields with which it reached the transport last; `nil` if it has not, as far as is known.
  var sent: HTTPHeaders?
  /// Whether the response is to another request: redirected, or sent under other credentials.
  var isForeign = false

  var isSent: Bool { sent != nil }

  /// Whether it went out under the credentials that it was looked up by.
  var isOwn: Bool { isSent && !isForeign }
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

extension CachedResponse {
  /// The response with another piece of its body; `nil` if it is longer than the limit then.
  fileprivate consuming func adding(_ piece: Data, upTo limit: Int) -> CachedResponse? {
    guard piece.count <= limit - response.body.count else { return nil }
    if response.body.isEmpty { response.body = piece } else { response.body.append(piece) }
    return self
  }
}
