public import HTTPClientCore
import StrictJSON
public import SystemBase

/// The errors of a GraphQL response, as the cause of a `RequestError`.
public struct GraphQLErrors: Error, Hashable, CustomStringConvertible {
  /// The errors, at most 100.
  public let errors: [GraphQLError]

  /// Takes errors.
  public init(_ errors: [GraphQLError]) {
    self.errors = errors
  }

  /// The first error, and how many more there are.
  public var description: String {
    let more = errors.count > 1 ? " (and \(errors.count - 1) more)" : ""
    return (errors.first?.description ?? "The server sent no errors.") + more
  }
}

extension GraphQLErrors: ReachingCause {
  /// By `UNAUTHENTICATED` the server declines a request unprocessed, unless an error is from inside a mutation's result,
  /// which came after it was carried out.
  public var reached: RequestError.Reach? {
    guard errors.contains(where: \.isUnauthenticated) else { return nil }
    return errors.contains { $0.path.count > 1 } ? .maybe : .rejected
  }
}

extension GraphQLErrors: RedactableCause {
  package func redacted(by redactor: Redactor) -> GraphQLErrors {
    GraphQLErrors(
      errors.map {
        GraphQLError(
          message: redactor.redact($0.message), locations: $0.locations,
          path: $0.path.map { $0.redacted(by: redactor) }, extensions: $0.extensions.redacted(by: redactor))
      })
  }
}

extension GraphQLError.PathElement {
  fileprivate func redacted(by redactor: Redactor) -> Self {
    if case .key(let key) = self { .key(redactor.redact(key)) } else { self }
  }
}

extension [String: JSONValue] {
  fileprivate func redacted(by redactor: Redactor) -> Self {
    Dictionary(map { (redactor.redact($0.key), $0.value.redacted(by: redactor)) }) { $1 }
  }
}

extension JSONValue {
  /// The value without secrets in any of its texts and names.
  func redacted(by redactor: Redactor) -> JSONValue {
    switch self {
    case .string(let text): .string(redactor.redact(text))
    case .array(let elements): .array(elements.map { $0.redacted(by: redactor) })
    case .object(let members): .object(members.redacted(by: redactor))
    default: self
    }
  }
}

extension RequestError.Kind {
  /// The server responded with GraphQL errors; see `graphQLErrors`.
  public static let graphQL = RequestError.Kind("GraphQL")
}

extension RequestError {
  /// The server's GraphQL errors, also those by which it refused to refresh a token; empty if the error has another
  /// cause.
  public var graphQLErrors: [GraphQLError] {
    if let refresh = cause as? TokenRefreshFailure { return refresh.error.graphQLErrors }
    return (cause as? GraphQLErrors)?.errors ?? []
  }

  /// Whether the user has to sign in (again): the server responded with status 401 or `UNAUTHENTICATED`, or closed a
  /// WebSocket with 4401; or it refused to refresh the token, with a status of 4xx other than 408 and 429, with GraphQL
  /// errors, or by its envelope.
  public var isUnauthenticated: Bool {
    // A proxy's status says nothing of the server's token.
    if kind == .cannotConnect { return false }
    if let refresh = cause as? TokenRefreshFailure { return status == 401 || refresh.error.isRefusal }
    return status == 401 || graphQLErrors.contains(where: \.isUnauthenticated) || hasCloseCode(4401)
  }

  /// Whether the user, though signed in, may not do this: the server responded with status 403 or the GraphQL code
  /// `FORBIDDEN`, or closed a WebSocket with 4403.
  public var isForbidden: Bool {
    kind != .cannotConnect && kind != .rateLimited
      && (status == 403 || graphQLErrors.contains { $0.code == "FORBIDDEN" } || hasCloseCode(4403))
  }

  /// Whether the server closed the connection of a subscription with this code.
  private func hasCloseCode(_ code: UInt16) -> Bool { (cause as? LiveClosure)?.code == code }

  private var isRefusal: Bool {
    switch kind {
    case .httpStatus: 400..<500 ~= status ?? 0 && status != 408 && status != 429
    case .graphQL, .rejected: true
    default: false
    }
  }

  /// The failure of a request by GraphQL errors, of the kind `graphQL`; for fixtures and other transports.
  public init(graphQL errors: [GraphQLError]) {
    let cause = GraphQLErrors(errors)
    self.init(.graphQL, cause.description, cause: cause)
  }

  /// The failure by errors of a response that may have had data, too: then something was carried out, whatever they say.
  init(graphQL errors: [GraphQLError], besideData: Bool) {
    self.init(graphQL: errors)
    if besideData { reached = .maybe }
  }
}

extension GraphQLErrors: LocalizedError {
  /// What `localizedDescription` gives: `description`.
  public var errorDescription: String? { description }
}

/// How a session treats errors beside data. A response without data always fails.
public enum GraphQLErrorPolicy: Sendable {
  /// Any error fails the request.
  case none
  /// The data is returned, and the errors are dropped.
  case ignore
  /// Both data and errors are returned.
  case all

  /// Throws what the policy does not accept of a response: the one place that decides what errors mean.
  func check(_ errors: [GraphQLError], hasData: Bool) throws(RequestError) {
    guard errors.isEmpty || self != .none && hasData else { throw RequestError(graphQL: errors, besideData: hasData) }
    guard hasData else {
      let failure = DecodingFailure(path: "data", reason: "a value is missing, and there are no errors either")
      throw RequestError(.undecodable, failure.description, cause: failure)
    }
  }
}
