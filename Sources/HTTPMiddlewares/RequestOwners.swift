public import HTTP

/// Whose a request is, so that a cache keeps accounts apart, whether or not the server says `Vary`, and limits are
/// counted for each.
public struct RequestOwners: Sendable {
  /// The owner of one request.
  struct Owner: Sendable {
    var name: String
    /// The part that the token stands for, if a provider tells which is to be sent.
    var token: String?
    /// Whether the credentials under which the request is sent have to be these.
    var isChecked = false

    /// What it signs out as.
    var account: String { token ?? name }

    /// Whether a request that was sent under a token belongs to this owner.
    func isOwner(ofTokenOf account: String?, _ value: String) -> Bool {
      !isChecked || token == RequestOwners.name(ofTokenOf: account, value)
    }
  }

  /// The names, in lower case, of the request's fields that the owner stands for.
  let fieldNames: [String]
  let owner: @Sendable (HTTPRequest) -> Owner
  private let isNamed: Bool

  /// The owner is the account of the provider's current token, or the token itself if it names no account, and the
  /// values of the request's own fields of these names. Give it the provider of the ``AuthMiddleware`` that is inside
  /// the middleware, and the name of every field that stands for an account or a tenant.
  public static func credentials(
    of tokens: (any TokenProvider)? = nil, fieldNames: [String] = ["Authorization", "Cookie", "X-API-Key"]
  ) -> RequestOwners {
    RequestOwners(fieldNames: fieldNames.map { $0.lowercased() }, isNamed: false) { request in
      var owner = Owner(name: "", isChecked: true)
      if let token = tokens?.currentToken {
        let name = name(ofTokenOf: token.account, token.value)
        owner.token = name
        owner.name = name
      }
      for name in fieldNames {
        // The length keeps a value from looking like two.
        if let value = request.headers[name] { owner.name += "\n\(name) \(value.utf8.count) \(value)" }
      }
      return owner
    }
  }

  /// A closure names the owner, for accounts that are known by something else. It must not block.
  public static func named(_ name: @escaping @Sendable (HTTPRequest) -> String) -> RequestOwners {
    RequestOwners(fieldNames: [], isNamed: true) { Owner(name: name($0)) }
  }

  /// All requests have one owner: for servers whose responses are the same for everybody.
  public static let everybody = RequestOwners.named { _ in "" }

  /// The same fields with another provider's tokens.
  func with(tokens: any TokenProvider) -> RequestOwners {
    isNamed ? self : .credentials(of: tokens, fieldNames: fieldNames)
  }

  private init(fieldNames: [String], isNamed: Bool, owner: @escaping @Sendable (HTTPRequest) -> Owner) {
    self.fieldNames = fieldNames
    self.isNamed = isNamed
    self.owner = owner
  }

  static func name(ofTokenOf account: String?, _ value: String) -> String {
    // The length keeps one with other credentials behind it from looking like a longer one.
    account.map { "account \($0.utf8.count) \($0)" } ?? "token \(value.utf8.count) \(value)"
  }
}

/// A middleware that tells owners apart, and can be shared by clients with tokens of their own.
package protocol OwnedMiddleware: HTTPMiddleware {
  /// The same middleware, with all that it shares, for requests that another one authenticates.
  func authenticated(by authentication: AuthMiddleware) -> Self
}
