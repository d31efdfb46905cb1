public import HTTPClientCore
import SystemBase

/// Whose a request is, so that a cache keeps accounts apart, whether or not the server says `Vary`, and limits are
/// counted for each.
public struct RequestOwners: Sendable {
  /// The owner of one request.
  struct Owner: Hashable, Sendable {
    /// Whom the token stands for, if a provider tells which is to be sent.
    var token: TokenOwner?
    /// The values of the request's own fields, or a name.
    var fields = ""
    /// Whether the credentials under which the request is sent have to be these.
    var isChecked = false

    static func == (one: Owner, other: Owner) -> Bool {
      one.token == other.token && one.isChecked == other.isChecked && one.fields.hasBytes(of: other.fields)
    }

    func hash(into hasher: inout Hasher) {
      hasher.combine(token)
      fields.hashBytes(into: &hasher)
    }

    /// All of it in one text, and what it signs out as.
    var names: (owner: String, account: String) {
      guard let name = token?.name else { return (fields, fields) }
      return (name + fields, name)
    }

    /// Adds a field of the request. The length keeps a value from looking like two.
    fileprivate mutating func add(_ name: String, _ value: String) {
      fields += "\n\(name) \(value.utf8.count) \(value)"
    }

    /// Adds a field, unless it is one of these, which count already.
    mutating func add(_ name: String, of headers: HTTPHeaders, besides fieldNames: [String]) {
      if let value = headers[name], !fieldNames.contains(name.lowercased()) { add(name, value) }
    }
  }

  /// Whom a token stands for: its account, or the token itself if it names none.
  enum TokenOwner: Hashable, Sendable {
    case account(String)
    case token(String)

    init(_ account: String?, _ value: String) {
      self = account.map { .account($0) } ?? .token(value)
    }

    /// Byte by byte, as they are hashed.
    static func == (one: TokenOwner, other: TokenOwner) -> Bool {
      switch (one, other) {
      case (.account(let one), .account(let other)), (.token(let one), .token(let other)): one.hasBytes(of: other)
      default: false
      }
    }

    /// Takes all bytes, since who chooses a name could choose many that are alike in part of it, and at once, since a
    /// token may have a kilobyte.
    func hash(into hasher: inout Hasher) {
      switch self {
      case .account(let text), .token(let text): text.hashBytes(into: &hasher)
      }
    }

    var name: String {
      // The length keeps one with other credentials behind it from looking like a longer one.
      switch self {
      case .account(let account): "account \(account.utf8.count) " + account
      case .token(let value): "token \(value.utf8.count) " + value
      }
    }
  }

  /// The names, in lower case, of the request's fields that the owner stands for.
  let fieldNames: [String]
  let owner: @Sendable (HTTPRequest) -> Owner
  /// Whether a closure names the owner, whatever the credentials.
  let isNamed: Bool

  /// The owner is the account of the provider's current token, or the token itself if it names no account, and the
  /// values of the request's own fields of these names. Give it the provider of the ``AuthMiddleware`` that is inside
  /// the middleware, and the name of every field that stands for an account or a tenant.
  public static func credentials(
    of tokens: (any TokenProvider)? = nil, fieldNames: [String] = ["Authorization", "Cookie", "X-API-Key"]
  ) -> RequestOwners {
    let identity = tokens?.identity
    let currentToken = tokens.map { tokens in { @Sendable in tokens.currentToken } }
    return RequestOwners(fieldNames: fieldNames.map { $0.lowercased() }, isNamed: false) { request in
      var owner = Owner(token: TokenOwner(of: request, by: identity, currentToken), isChecked: true)
      guard request.headers.contains(anyOf: fieldNames) else { return owner }
      for name in fieldNames {
        if let value = request.headers[name] { owner.add(name, value) }
      }
      return owner
    }
  }

  /// A closure names the owner, for accounts that are known by something else. It must not block.
  public static func named(_ name: @escaping @Sendable (HTTPRequest) -> String) -> RequestOwners {
    RequestOwners(fieldNames: [], isNamed: true) { Owner(fields: name($0)) }
  }

  /// All requests have one owner: for servers whose responses are the same for everybody.
  public static let everybody = RequestOwners.named { _ in "" }

  /// The owners by the same fields, with another provider's tokens.
  func with(tokens: any TokenProvider) -> RequestOwners {
    isNamed ? self : .credentials(of: tokens, fieldNames: fieldNames)
  }

  private init(fieldNames: [String], isNamed: Bool, owner: @escaping @Sendable (HTTPRequest) -> Owner) {
    self.fieldNames = fieldNames
    self.isNamed = isNamed
    self.owner = owner
  }
}

// Owners are keys of what middlewares keep, and may be tokens.
extension RequestOwners.Owner: CustomStringConvertible, CustomReflectable {
  var description: String { Redactor.placeholder }
  var customMirror: Mirror { Mirror(self, children: []) }
}

extension RequestOwners.TokenOwner: CustomStringConvertible, CustomReflectable {
  var description: String { Redactor.placeholder }
  var customMirror: Mirror { Mirror(self, children: []) }
}

extension RequestOwners.TokenOwner {
  /// Whom the request is for, since it has entered the middlewares; before that, whom the provider's current token stands
  /// for. `currentToken` is `nil` if there is no provider.
  fileprivate init?(
    of request: HTTPRequest, by identity: ObjectIdentifier?, _ currentToken: (@Sendable () -> AccessToken?)?
  ) {
    guard let currentToken else { return nil }
    if let account = request.context.entry?.account(of: identity) {
      guard let token = account.token else { return nil }
      self.init(token.account, token.value)
    } else {
      guard let token = currentToken() else { return nil }
      self.init(token.account, token.value)
    }
  }
}

/// A middleware that tells owners apart, and can be shared by clients with tokens of their own.
package protocol OwnedMiddleware: HTTPMiddleware {
  /// The middleware for requests that another one authenticates; it shares with this one all that it may.
  func authenticated(by authentication: AuthMiddleware) -> Self
}
