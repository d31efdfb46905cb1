public import HTTPClientCore
import SystemBase

/// What a response is found under: its address, and whose it is.
///
/// A description shows neither the values of the URL's query nor the owner, who may be named by a token.
public struct CacheKey: Hashable, Sendable {
  /// The URL of the request.
  public let url: String

  /// The request's own field `Host`, if it has one: with it, one address serves several hosts (RFC 9110, section 7.1).
  public let host: String

  /// The account or the credentials that the request was sent with; empty if there were none. Two owners never share a
  /// response, whether or not the server says `Vary`. It may contain a secret: files should hold
  /// ``ownerDigest`` instead.
  public let owner: String

  /// What the owner signs out as: the account, if the owner is one together with other credentials. It may contain a
  /// secret, too.
  public let account: String

  /// Makes a key. The owner is an account by itself, unless one is given.
  public init(url: String, host: String = "", owner: String, account: String? = nil) {
    self.url = url
    self.host = host
    self.owner = owner
    self.account = account ?? owner
  }

  /// Byte by byte: owners that look alike may be two.
  public static func == (left: CacheKey, right: CacheKey) -> Bool {
    left.url.hasBytes(of: right.url) && left.owner.hasBytes(of: right.owner)
      && left.account.hasBytes(of: right.account) && left.host.hasBytes(of: right.host)
  }

  /// Hashes part of what `==` compares.
  public func hash(into hasher: inout Hasher) {
    url.hashBytes(into: &hasher)
    owner.hashBytes(into: &hasher)
  }

  /// 64 hexadecimal digits that stand for the owner: SHA-256, so that a file shows no token.
  public var ownerDigest: String { Self.digest(of: owner) }

  /// 64 hexadecimal digits that stand for the account.
  public var accountDigest: String { account == owner ? ownerDigest : Self.digest(of: account) }

  /// 64 hexadecimal digits that stand for the URL, whose query may hold what is nobody's business, and the host.
  public var urlDigest: String { Self.digest(of: host.isEmpty ? url : "\(url)\n\(host)") }

  /// How much memory it takes, about.
  var cost: Int { url.utf8.count + host.utf8.count + owner.utf8.count }

  /// The digest of an owner, an account or a URL.
  public static func digest(of text: String) -> String { SHA256.hexadecimal(of: text.utf8) }
}

extension CacheKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The URL, without the values of its query.
  public var description: String { URL(string: url)?.shownSafely ?? "<unreadable URL>" }
  /// What a debugger shows: the description.
  public var debugDescription: String { description }
  /// What `dump` shows: the description.
  public var customMirror: Mirror { Mirror(self, children: [(label: "key", value: description)]) }
}

/// A response as a cache keeps it, with what it needs to judge its age (RFC 9111, sections 3 and 4).
public struct CachedResponse: Hashable, Sendable {
  /// The response, without the fields that are about one connection.
  public internal(set) var response: HTTPResponse

  /// When the request was sent, in seconds since 1970 by this machine's wall clock.
  public let requestTime: Double

  /// When the response arrived, in seconds since 1970 by this machine's wall clock.
  public let responseTime: Double

  /// Its age when it arrived, in seconds (section 4.2.3).
  public let initialAge: Double

  /// What the request's fields were that the response's `Vary` names, in that order, normalized; `nil` for a field that
  /// was missing. Of a value that may be secret, this is a digest.
  public let varyingValues: [String?]

  let control: CacheControl
  let varyingNames: [String]
  /// For how many seconds it is fresh, unless a shared cache has another lifetime for it.
  private let lifetime: Double
  /// Its `Date`, in seconds since 1970.
  let date: Double?
  /// When it arrived by the clock of this process that is never set; `nil` if another process has stored it.
  var arrival: Double?

  /// Makes a stored response again from what a storage has kept of it. Without an `initialAge`, the times tell.
  public init(
    response: HTTPResponse, requestTime: Double, responseTime: Double, initialAge: Double? = nil,
    varyingValues: [String?]
  ) {
    self.response = response
    self.requestTime = requestTime
    self.responseTime = responseTime
    self.varyingValues = varyingValues
    control = CacheControl(response.head.headers)
    varyingNames = response.head.headers.varyingNames
    lifetime = response.head.freshnessLifetime(control, responseTime: responseTime)
    date = response.head.seconds(in: "Date")
    self.initialAge =
      initialAge ?? response.head.initialAge(delay: responseTime - requestTime, responseTime: responseTime)
  }

  /// How much memory it takes, about.
  var cost: Int {
    response.body.count + response.head.headers.reduce(512) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 }
  }
}

extension CachedResponse {
  /// For how many seconds from its origin it is fresh (section 4.2.1).
  func lifetime(in mode: CacheMode) -> Double {
    mode == .shared ? control.sharedMaxAge.map(Double.init) ?? lifetime : lifetime
  }

  /// Whether the request's fields are those that the response was chosen by (section 4.1).
  func matches(_ request: HTTPHeaders, owned: [String]) -> Bool {
    for (index, name) in varyingNames.enumerated() {
      guard index < varyingValues.count, name != "*" else { return false }
      if request.varyingValue(of: name, owned: owned) != varyingValues[index] { return false }
    }
    return true
  }

  /// The response as a later request gets it, with its `Age` (section 5.1).
  func served(as source: HTTPResponseSource, age: Double) -> HTTPResponse {
    var response = response
    response.head.headers.remove("Age")
    let seconds = age.isFinite ? Int(min(max(age, 0), 2_147_483_648)) : 1 << 31
    response.head.headers.append(HTTPField(trimmedName: "Age", value: String(seconds)))
    response.head.source = source
    return response
  }

  /// The fields by which a server can tell whether it is still current.
  var etag: String? { response.head.headers["ETag"] }
  var lastModified: String? { response.head.headers["Last-Modified"] }

  /// Whether it can ever be served, with or without asking the server.
  func isOfUse(in mode: CacheMode) -> Bool {
    lifetime(in: mode) > 0 || etag != nil || lastModified != nil || control.staleWhileRevalidate ?? 0 > 0
      || control.staleIfError ?? 0 > 0
  }

  /// How many responses of one key are kept.
  static let variantLimit = 8
}

extension HTTPHeaders {
  /// The names in `Vary`, in lower case; `*` for what is no name, and may stand for any.
  var varyingNames: [String] {
    var names: [String] = []
    for value in values(of: "Vary") {
      value.forEachListElement { names.append(String($0).isToken ? $0.lowercased() : "*") }
    }
    return names
  }

  /// The value of a request's field for comparison: with the blanks around commas removed, which mean nothing (section
  /// 4.1). Of a value that may be secret, a digest, because storages may write it into files. `nil` for a field that
  /// the owner of the response stands for, too.
  func varyingValue(of name: String, owned: [String]) -> String? {
    guard !owned.contains(name), let value = self[name] else { return nil }
    var elements: [Substring] = []
    value.forEachListElement { elements.append($0) }
    let normalized = elements.joined(separator: ",")
    let isPublic = HTTPField(trimmedName: name, value: "").isPublic
    return isPublic ? normalized : SHA256.hexadecimal(of: normalized.utf8)
  }

  /// These fields without those that are about one connection (section 3.1), and those that set cookies, which a stored
  /// response would set again.
  var storable: HTTPHeaders {
    var named: Set<String> = []
    for value in values(of: "Connection") { value.forEachListElement { named.insert($0.lowercased()) } }
    return HTTPHeaders(
      filter { field in
        let name = field.name.lowercased()
        return !Self.unstorableNames.contains(name) && !named.contains(name)
      })
  }

  private static let unstorableNames: Set = [
    "connection", "proxy-connection", "keep-alive", "te", "transfer-encoding", "upgrade", "trailer", "set-cookie",
    "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
  ]

  /// Fields of a stored response after the server has confirmed it (section 3.2): those of the confirmation take the
  /// place of the stored ones, except for those that describe the stored body.
  func updated(by confirmation: HTTPHeaders) -> HTTPHeaders {
    let kept: Set = ["content-length", "content-encoding", "content-type", "content-range"]
    let new = confirmation.storable.filter { !kept.contains($0.name.lowercased()) }
    let names = Set(new.map { $0.name.lowercased() } + ["age"])
    return HTTPHeaders(filter { !names.contains($0.name.lowercased()) } + new)
  }
}

extension CachedResponse: CustomStringConvertible {
  /// The response's head, with values redacted that may be secret, and the size of its body.
  public var description: String { response.description }
}
