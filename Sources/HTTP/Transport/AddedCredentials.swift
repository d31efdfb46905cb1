/// What a middleware adds to the requests that pass through it, as far as it may tell whose they are.
///
/// A cache outside of it has to know: it serves a stored response only where the request would go out under the
/// credentials that the response was stored under.
public struct AddedCredentials: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    case unknown, none
    case fields(HTTPHeaders)
    /// A token of the request's account, unless the request has this field already.
    case token(fieldName: String)
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

  /// It adds the token of the request's account in a field, unless the request has the field already.
  package static func token(in fieldName: String) -> AddedCredentials {
    AddedCredentials(kind: .token(fieldName: fieldName))
  }
}

extension HTTPMiddleware {
  /// Unless a middleware says otherwise, nothing is known.
  public var addedCredentials: AddedCredentials { .unknown }
}
