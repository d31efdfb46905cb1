public import HTTP
public import JSON

/// The response to a GraphQL operation (GraphQL specification, section 7.1): data, errors, or both.
public struct GraphQLResponse<ResponseData: Sendable>: Sendable {
  /// The requested data; `nil` if there is none.
  public let data: ResponseData?

  /// The errors, at most 100; their paths lead into `data`.
  public let errors: [GraphQLError]

  /// What the server adds beyond the specification; `nil` if its text takes more than 256 KiB.
  public let extensions: JSONValue?

  /// The name of the operation, for errors.
  private let operationName: String?

  /// Makes a response, for fixtures and other transports.
  public init(data: ResponseData?, errors: [GraphQLError] = [], extensions: JSONValue? = nil) {
    self.init(data: data, errors: errors, extensions: extensions, operationName: nil)
  }

  /// Makes the response to an operation.
  init(data: ResponseData?, errors: [GraphQLError], extensions: JSONValue?, operationName: String?) {
    self.data = data
    self.errors = errors
    self.extensions = extensions
    self.operationName = operationName
  }

  /// The same response with its data transformed; errors and extensions are kept.
  public func map<Other>(_ transform: (ResponseData) throws -> Other) rethrows -> GraphQLResponse<Other> {
    GraphQLResponse<Other>(
      data: try data.map(transform), errors: errors, extensions: extensions, operationName: operationName)
  }

  /// The response as `policy` treats it; throws `graphQL` if there are errors that the policy does not accept, and
  /// `undecodable` if there are neither data nor errors.
  public consuming func applying(_ policy: GraphQLErrorPolicy) throws(RequestError) -> GraphQLResponse {
    if data == nil { throw noData }
    guard !errors.isEmpty else { return self }
    switch policy {
    case .none: throw RequestError(graphQL: errors).named(operationName)
    case .ignore: return GraphQLResponse(data: data, extensions: extensions)
    case .all: return self
    }
  }

  /// The data, whatever errors come with them; throws `graphQL` if there are only errors, and `undecodable` if there is
  /// nothing. ``GraphQLSession/data(of:)`` applies the session's error policy as well.
  public func requireData() throws(RequestError) -> ResponseData {
    guard let data else { throw noData }
    return data
  }

  private var noData: RequestError {
    guard errors.isEmpty else { return RequestError(graphQL: errors).named(operationName) }
    let failure = DecodingFailure(path: "data", reason: "a value is missing, and there are no errors either")
    return RequestError(.undecodable, failure.description, cause: failure)
  }
}

extension GraphQLResponse: Equatable where ResponseData: Equatable {
  /// Whether data, errors and extensions are equal.
  public static func == (left: GraphQLResponse, right: GraphQLResponse) -> Bool {
    left.data == right.data && left.errors == right.errors && left.extensions == right.extensions
  }
}
