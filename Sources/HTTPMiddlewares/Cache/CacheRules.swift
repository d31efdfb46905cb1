import HTTPClientCore
import SystemBase

/// Whose requests a cache serves (RFC 9111, section 1).
public enum CacheMode: Hashable, Sendable {
  /// One user's, or one service's that acts for itself.
  case `private`

  /// Many users'. Responses that are `private` are not kept, nor are those to a request with `Authorization` unless the
  /// server allows it; `s-maxage` and `proxy-revalidate` count.
  case shared
}

/// What to do with a request, by what is stored for it.
enum CacheDecision: Hashable {
  /// Serve the stored response.
  case serve(age: Double, isStale: Bool)
  /// Serve it, and ask the server for another one meanwhile (RFC 5861, section 3).
  case serveAndRefresh(age: Double)
  /// Ask the server whether it is still current, or for another one.
  case ask
  /// Fail: the request asks for a stored response only, and there is none.
  case refuse
}

// Decisions of a client's cache by RFC 9111: pure, without clocks.

extension CachedResponse {
  /// Whether it may be served, to a request with these directives (sections 4 and 5.2.1).
  func decision(for request: CacheControl, _ mode: CacheMode, age: Double) -> CacheDecision {
    let lifetime = lifetime(in: mode)
    let isFresh = lifetime > age
    let otherwise: CacheDecision = request.onlyIfCached ? .refuse : .ask
    // Sections 5.2.1.4 and 5.2.2.4
    guard !request.noCache, !control.noCache else { return otherwise }
    if let maxAge = request.maxAge, age > Double(maxAge) { return otherwise }
    if let minFresh = request.minFresh, lifetime - age < Double(minFresh) { return otherwise }
    if isFresh { return .serve(age: age, isStale: false) }
    guard mayBeStale(mode) else { return otherwise }
    if let maxStale = request.maxStale, age - lifetime <= Double(maxStale), age.isFinite {
      return .serve(age: age, isStale: true)
    }
    if let extra = control.staleWhileRevalidate, age - lifetime < Double(extra) {
      return request.onlyIfCached ? .serve(age: age, isStale: true) : .serveAndRefresh(age: age)
    }
    return otherwise
  }

  /// Whether it may be served in the place of an error (RFC 5861, section 4), to a request with these directives.
  func mayReplaceError(for request: CacheControl, _ mode: CacheMode, age: Double) -> Bool {
    let lifetime = lifetime(in: mode)
    guard !request.noCache, !control.noCache, age.isFinite else { return false }
    if let maxAge = request.maxAge, request.maxStale == nil, age > Double(maxAge) { return false }
    if lifetime > age { return true }
    guard mayBeStale(mode) else { return false }
    let extra = max(control.staleIfError ?? 0, request.staleIfError ?? 0)
    return age - lifetime < Double(extra)
  }

  /// Sections 5.2.2.2, 5.2.2.8 and 5.2.2.10.
  private func mayBeStale(_ mode: CacheMode) -> Bool {
    !control.mustRevalidate && (mode == .private || !control.proxyRevalidate && control.sharedMaxAge == nil)
  }
}

extension HTTPResponseHead {
  /// Statuses whose meaning is known; 206 and 304 are about parts of responses that this cache does not combine.
  private static let understood: Set = [
    200, 201, 202, 203, 204, 205, 300, 301, 302, 303, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410,
    411, 412, 413, 414, 415, 416, 417, 421, 422, 425, 426, 428, 429, 431, 451, 500, 501, 502, 503, 504, 505, 511,
  ]

  /// RFC 9110, section 15.1.
  private static let heuristicallyCacheable: Set = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]

  /// Whether it says what there is now at the address, rather than why this request was not answered.
  var tellsOfResource: Bool { isSuccess || Self.heuristicallyCacheable.contains(status) }

  /// Whether the response to a `GET` may be stored (section 3). The request may have got its token after the cache had
  /// seen it.
  func mayBeStored(_ control: CacheControl, isAuthenticated: Bool, _ mode: CacheMode) -> Bool {
    let isUnderstood = Self.understood.contains(status)
    // A refusal of credentials says nothing of the next request, to which a refresh may bring others.
    guard status >= 200, ![206, 304, 401, 407].contains(status) else { return false }
    // Section 5.2.2.3: `no-store` beside `must-understand` is for caches that do not know the status.
    if control.mustUnderstand { guard isUnderstood else { return false } } else if control.noStore { return false }
    guard !headers.varyingNames.contains("*") else { return false }  // Section 4.1
    if mode == .shared {
      guard !control.isPrivate else { return false }
      // Section 3.5
      if isAuthenticated {
        guard control.isPublic || control.mustRevalidate || control.sharedMaxAge != nil else { return false }
      }
    }
    return control.isPublic || control.isPrivate || control.maxAge != nil || headers.contains("Expires")
      || mode == .shared && control.sharedMaxAge != nil || Self.heuristicallyCacheable.contains(status)
  }

  /// For how many seconds from its origin the response is fresh, apart from `s-maxage` (section 4.2.1).
  func freshnessLifetime(_ control: CacheControl, responseTime: Double) -> Double {
    if let age = control.maxAge { return Double(age) }
    let date = seconds(in: "Date") ?? responseTime
    if headers.contains("Expires") {
      // Section 5.3: what is no date, such as 0, is in the past; so is what comes twice and differs.
      let values = Set(headers.values(of: "Expires"))
      guard values.count == 1, let expires = seconds(in: "Expires") else { return 0 }
      return max(0, expires - date)
    }
    // Section 4.2.2: a tenth of the time since the last change, at most a day.
    guard Self.heuristicallyCacheable.contains(status) || control.isPublic, let changed = seconds(in: "Last-Modified")
    else { return 0 }
    return min(max(0, (date - changed) / 10), 86_400)
  }

  /// The age at its arrival (section 4.2.3), which was so many seconds after the request, and at this time by the server's
  /// clock, as far as that is known.
  func initialAge(delay: Double, responseTime: Double) -> Double {
    let apparent: Double = seconds(in: "Date").map { max(0, responseTime - $0) } ?? 0
    // Section 5.1: of several values the first counts; what is no number counts as none.
    var stated: Substring?
    headers.values(of: "Age").first?.forEachListElement { stated = stated ?? $0 }
    let corrected = Double(CacheControl.seconds(stated.map(String.init)) ?? 0) + max(0, delay)
    return max(apparent, corrected)
  }

  /// The seconds since 1970 of a field with a date.
  func seconds(in name: String) -> Double? {
    headers.values(of: name).first.flatMap { Date(httpDate: $0) }?.timeIntervalSince1970
  }
}

extension [CachedResponse] {
  /// The position of the response to serve to a request: of several that match, the most recent (section 4.1).
  func match(for request: HTTPHeaders, owned: [String]) -> Int? {
    var best: Int?
    for index in indices where self[index].matches(request, owned: owned) {
      if best.map({ self[$0].responseTime < self[index].responseTime }) ?? true { best = index }
    }
    return best
  }

  /// The fields that ask the server whether one of these is current (section 4.3.1); empty if none can be asked about.
  func conditions(selected: Int?) -> [HTTPField] {
    var tags: [String] = []
    for response in self {
      if let tag = response.etag, tag.isEntityTag, !tags.contains(tag) { tags.append(tag) }
    }
    var fields: [HTTPField] = []
    if !tags.isEmpty {
      fields.append(HTTPField(trimmedName: "If-None-Match", value: tags.joined(separator: ", ")))
    }
    if let selected, let changed = self[selected].lastModified, Date(httpDate: changed) != nil,
      self[selected].etag != nil || tags.isEmpty
    {
      fields.append(HTTPField(trimmedName: "If-Modified-Since", value: changed))
    }
    return fields
  }

  /// The position of the response that a 304 confirms (section 4.3.4); `nil` if none is certain to be meant.
  func confirmed(by head: HTTPResponseHead, selected: Int?) -> Int? {
    if let tag = head.headers["ETag"] {
      let matches = indices.filter { self[$0].etag?.weakTag == tag.weakTag }
      if let selected, matches.contains(selected) { return selected }
      return matches.max { self[$0].responseTime < self[$1].responseTime }
    }
    if let changed = head.headers["Last-Modified"] {
      return indices.filter { self[$0].lastModified == changed }.first { $0 == selected }
        ?? (count == 1 ? selected : nil)
    }
    // A 304 without a validator can be about a single response only.
    return count == 1 ? selected : nil
  }
}

extension String {
  /// Whether it is an entity tag (RFC 9110, section 8.8.3), which may stand in a list.
  fileprivate var isEntityTag: Bool {
    let tag = weakTag.utf8
    return tag.count >= 2 && tag.first == UInt8(ascii: "\"") && tag.last == UInt8(ascii: "\"")
      && tag.dropFirst().dropLast().allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != 0x7F }
  }

  /// The tag without its weakness, for the weak comparison (RFC 9110, section 8.8.3.2).
  fileprivate var weakTag: Substring { hasPrefix("W/") ? dropFirst(2) : self[...] }
}
