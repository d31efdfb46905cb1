public import HTTPClientCore
public import StrictJSON

/// The response to a GraphQL operation (GraphQL specification, section 7.1) that has data, and perhaps errors beside it.
/// One without data is a failure, the `RequestError` of the errors.
public struct GraphQLResponse<ResponseData: Sendable>: Sendable {
  /// The requested data; where there are errors, a part of it may be missing.
  public let data: ResponseData

  /// The errors, at most 100; their paths lead into `data`. None, unless the session's error policy is `all`.
  public let errors: [GraphQLError]

  /// What the server adds beyond the specification; `nil` if its text takes more than 256 KiB.
  public let extensions: JSONValue?

  /// The name of the operation, for errors.
  let operationName: String?

  /// Makes a response, for fixtures and other transports.
  public init(data: ResponseData, errors: [GraphQLError] = [], extensions: JSONValue? = nil) {
    self.init(data: data, errors: errors, extensions: extensions, operationName: nil)
  }

  /// Makes the response to an operation.
  init(data: ResponseData, errors: [GraphQLError], extensions: JSONValue?, operationName: String?) {
    self.data = data
    self.errors = errors
    self.extensions = extensions
    self.operationName = operationName
  }

  /// What a policy makes of a response's members. An `APIClient` has done so for its responses; other transports of
  /// sessions call this.
  ///
  /// Throws `graphQL` if there are only errors, or errors that the policy does not accept beside data, and `undecodable`
  /// if there are neither data nor errors.
  public init(
    data: ResponseData?, errors: [GraphQLError], extensions: JSONValue? = nil, policy: GraphQLErrorPolicy
  ) throws(RequestError) {
    try policy.check(errors, hasData: data != nil)
    guard let data else { throw RequestError(graphQL: errors) }
    (self.data, self.extensions, operationName) = (data, extensions, nil)
    self.errors = policy == .all ? errors : []
  }

  /// The response with its data transformed; errors and extensions are kept.
  public func map<Other>(_ transform: (ResponseData) throws -> Other) rethrows -> GraphQLResponse<Other> {
    GraphQLResponse<Other>(
      data: try transform(data), errors: errors, extensions: extensions, operationName: operationName)
  }

  /// The errors as those of a request, under the operation's name: why data is missing. `nil` if there are none.
  public var error: RequestError? {
    errors.isEmpty ? nil : RequestError(graphQL: errors, besideData: true).named(operationName)
  }
}

extension GraphQLResponse: Equatable where ResponseData: Equatable {
  /// Whether data, errors and extensions are equal.
  public static func == (left: GraphQLResponse, right: GraphQLResponse) -> Bool {
    left.data == right.data && left.errors == right.errors && left.extensions == right.extensions
  }
}
