public import HTTP
public import JSON

/// The answer to a GraphQL operation (GraphQL specification, section 7.1): data, errors, or both.
public struct GraphQLResponse<ResponseData: Sendable>: Sendable {
  /// What was asked for; `nil` where nothing could be given.
  public let data: ResponseData?

  /// What went wrong, at most 100 errors; their paths lead into `data`.
  public let errors: [GraphQLError]

  /// What the server tells beyond the specification.
  public let extensions: JSONValue?

  /// Makes an answer; for fixtures and other transports.
  public init(data: ResponseData?, errors: [GraphQLError] = [], extensions: JSONValue? = nil) {
    self.data = data
    self.errors = errors
    self.extensions = extensions
  }

  /// The answer as an error policy has it; throws `graphQL` where the errors fail it, and `undecodable` where there
  /// are neither data nor errors.
  public consuming func applying(_ policy: GraphQLErrorPolicy) throws(RequestError) -> GraphQLResponse {
    if data == nil { throw noData }
    guard !errors.isEmpty else { return self }
    switch policy {
    case .none: throw RequestError(graphQL: errors)
    case .ignore: return GraphQLResponse(data: data, extensions: extensions)
    case .all: return self
    }
  }

  /// The data; throws `graphQL` where there are only errors, and `undecodable` where there is nothing.
  public func requireData() throws(RequestError) -> ResponseData {
    guard let data else { throw noData }
    return data
  }

  private var noData: RequestError {
    guard errors.isEmpty else { return RequestError(graphQL: errors) }
    let failure = DecodingFailure(path: "data", reason: "a value is missing, and there are no errors either")
    return RequestError(.undecodable, failure.description, cause: failure)
  }
}

extension GraphQLResponse: Equatable where ResponseData: Equatable {}
