/// What a middleware adds to the requests that pass through it, as far as it may tell whose they are.
///
/// A cache outside of it has to know: it serves a stored response only where the request would go out under the
/// credentials that the response was stored under.
public struct AddedCredentials: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    case unknown, none
    case fields(HTTPHeaders)
    /// A token of the request's account, unless the request has its field already.
    case token(AccountSource)
    /// Nothing; it has to know what those inside of it add.
    case cache
  }

  package let kind: Kind

  /// It may add any field, or send requests elsewhere: a signature, for example. A cache outside of it asks the server
  /// each time.
  public static let unknown = AddedCredentials(kind: .unknown)

  /// It passes requests on as they are, but for fields that do not tell whose they are, such as `traceparent`.
  public static let none = AddedCredentials(kind: .none)

  /// It adds these fields to each request, except those that the request has already.
  public static func fields(_ headers: HTTPHeaders) -> AddedCredentials {
    AddedCredentials(kind: .fields(headers))
  }

  /// It adds the token of the request's account, unless the request has the field already.
  package static func token(of accounts: AccountSource) -> AddedCredentials {
    AddedCredentials(kind: .token(accounts))
  }

  /// It is a cache, and adds nothing.
  package static let cache = AddedCredentials(kind: .cache)
}

extension HTTPMiddleware {
  /// Unless a middleware says otherwise, nothing is known.
  public var addedCredentials: AddedCredentials { .unknown }
}

/// What a stack of middlewares adds to requests.
package struct StackCredentials: Sendable {
  /// Of those that send tokens.
  private(set) var accounts: [AccountSource] = []

  /// What those inside of the first cache add, the outermost first; `nil` if there is no cache.
  private(set) var insideCache: [AddedCredentials]?

  package init(_ middlewares: [any HTTPMiddleware]) {
    for index in middlewares.indices {
      let added = middlewares[index].addedCredentials
      if case .token(let account) = added.kind { accounts.append(account) }
      switch added.kind {
      case .none: continue
      case .cache: insideCache = insideCache ?? []
      case .unknown, .fields, .token: insideCache?.append(added)
      }
    }
  }
}

/// What a middleware that sends tokens knows of accounts.
package final class AccountSource: Sendable {
  /// What tells providers of tokens apart.
  package let provider: ObjectIdentifier

  /// The name of the header field that carries the provider's tokens.
  package let fieldName: String

  private let currentToken: @Sendable () -> RequestEntry.Token?

  package init(
    provider: ObjectIdentifier, fieldName: String, currentToken: @escaping @Sendable () -> RequestEntry.Token?
  ) {
    self.provider = provider
    self.fieldName = fieldName
    self.currentToken = currentToken
  }

  /// The account whose token is current, for a request that enters now.
  package var account: RequestEntry.Account {
    RequestEntry.Account(provider: provider, fieldName: fieldName, token: currentToken())
  }
}

extension AccountSource: Hashable {
  package static func == (left: AccountSource, right: AccountSource) -> Bool { left === right }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
