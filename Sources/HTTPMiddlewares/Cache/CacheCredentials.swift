import HTTPClientCore
import SystemBase

/// Under which credentials a request goes out, as a cache knows it before: its own fields, what the middlewares inside the
/// cache add, and the account for which it has entered.
struct CacheCredentials: Sendable {
  /// The request's fields, with those that the middlewares inside add.
  private(set) var headers: HTTPHeaders
  private(set) var owner: RequestOwners.Owner
  /// Whether it goes out under these, and no others; otherwise what is stored must not be served without asking.
  fileprivate(set) var isCertain = true
  /// Whether a middleware inside sends the account's token.
  private var hasToken = false

  fileprivate init(_ headers: HTTPHeaders, _ owner: RequestOwners.Owner) {
    self.headers = headers
    self.owner = owner
  }

  /// Adds what the middlewares inside the cache add.
  fileprivate mutating func add(_ inside: [AddedCredentials], to request: HTTPRequest, _ owners: RequestOwners) {
    for (index, added) in inside.enumerated() {
      switch added.kind {
      case .none, .cache: continue
      case .unknown: isCertain = false
      case .token: hasToken = true
      case .fields(let fields):
        // Whether a token comes before it, nobody knows yet.
        for name in inside[..<index].tokenFields where fields.contains(name) && !headers.contains(name) {
          isCertain = false
        }
        headers = headers.adding(defaults: fields)
      }
    }
    if headers.count > request.headers.count {
      var seen = request
      seen.headers = headers
      owner = owners.owner(seen)
      // Another stack may add other values of these to the same request.
      for field in headers.dropFirst(request.headers.count) where field.mayTellOwner {
        owner.add(field.name, of: headers, besides: owners.fieldNames)
      }
    }
    guard hasToken else { return }
    for name in inside[...].tokenFields where headers.contains(name) {
      owner.token = nil  // It is not sent beside the request's own.
      owner.add(name, of: headers, besides: owners.fieldNames)
    }
    for account in request.context.entry?.accounts.all ?? [] where !headers.contains(account.fieldName) {
      if account.token.map({ .init($0.account, $0.value) }) != owner.token { isCertain = false }
    }
  }

  /// Whether a request has gone out under other credentials, with `token` in a field of this name, or is another request.
  func areOthers(
    than method: HTTPMethod, _ target: HTTPTarget, sent: HTTPRequest, _ tokens: [SentToken]
  ) -> Bool {
    guard sent.method == method, sent.target === target || sent.target.text == target.text else { return true }
    guard owner.isChecked else { return false }
    guard tokens.allSatisfy({ $0.owner == owner.token }) else { return true }
    // What an account would have sent with its token, and has sent without it, is not the account's.
    if owner.token != nil, tokens.isEmpty, hasToken || owner.fields.isEmpty { return true }
    func differs(_ field: HTTPField) -> Bool {
      field.mayTellOwner && !tokens.contains { field.hasName($0.fieldName) }
        && sent.headers[field.name] != headers[field.name]
    }
    return sent.headers.contains(where: differs) || headers.contains(where: differs)
  }

  /// Whether a field that the server chooses the response by went out with another value than the cache knows of.
  func differ(from sent: HTTPHeaders, in names: [String], _ owned: [String], _ tokens: [SentToken]) -> Bool {
    names.contains { name in
      !owned.contains(name) && !tokens.contains { $0.fieldName.lowercased() == name } && sent[name] != headers[name]
    }
  }
}

extension HTTPRequest {
  /// Under which credentials it goes out, as far as a cache that it comes to may tell.
  func credentials(for owners: RequestOwners) -> CacheCredentials {
    var credentials = CacheCredentials(headers, owners.owner(self))
    if owners.isNamed { return credentials }
    if let inside = context.addedInsideCache {
      if !inside.isEmpty { credentials.add(inside, to: self, owners) }
    } else {
      credentials.isCertain = false
    }
    return credentials
  }
}

extension ArraySlice<AddedCredentials> {
  /// The names of the fields in which these send tokens.
  fileprivate var tokenFields: some Sequence<String> {
    lazy.compactMap { if case .token(let accounts) = $0.kind { accounts.fieldName } else { nil } }
  }
}

/// A token that a middleware has sent a request with.
struct SentToken: Sendable {
  let owner: RequestOwners.TokenOwner
  let fieldName: String
}

extension HTTPField {
  /// Names, in lower case, of fields that do not tell whose a request is, beside those that may be shown.
  private static let tellingNothing: Set = [
    "apollo-require-preflight", "b3", "baggage", "correlation-id", "dnt", "graphql-require-preflight",
    "idempotency-key", "if-match", "if-modified-since", "if-none-match", "if-range",
    "if-unmodified-since", "max-forwards", "origin", "pragma", "prefer", "priority", "range", "referer", "request-id",
    "sentry-trace", "te", "trace-id", "tracestate", "uber-trace-id", "x-amzn-trace-id", "x-apollo-operation-name",
    "x-b3-flags", "x-b3-parentspanid", "x-b3-sampled", "x-b3-spanid", "x-b3-traceid", "x-cloud-trace-context",
    "x-correlation-id", "x-datadog-parent-id", "x-datadog-sampling-priority", "x-datadog-trace-id",
    "x-graphql-yoga-csrf",
    "x-request-id", "x-trace-id",
  ]

  /// Whether the field may stand for an account or a tenant. `Host` does: servers may be told apart by it.
  fileprivate var mayTellOwner: Bool {
    hasName("Host") || !isPublic && !Self.tellingNothing.contains(name.lowercased())
  }
}
