import Foundation
public import HTTP
public import JSON
public import Streams

/// A GraphQL operation as a value: a constant document, typed variables, and the type of `data`.
///
///     struct GetUser: GraphQLSession {
///       struct Variables: Encodable, Sendable { let id: String }
///       struct ResponseData: Decodable, Sendable { let user: User }
///       static let query: GraphQLDocument = "query getUser($id: ID!) { user(id: $id) { name } }"
///       let variables: Variables
///     }
///     GetUser(variables: .init(id: "7")).data(on: client)      // Observable<GetUser.ResponseData>
///     GetUser(variables: .init(id: "7")).post(on: client)      // Observable<GraphQLResponse<GetUser.ResponseData>>
///
/// It is sent as GraphQL over HTTP says (draft of 2025, section 5): with `POST`, or with `GET` where it is a query.
public protocol GraphQLSession: APISession
where ResponseType == GraphQLResponse<ResponseData>, Parameters == GraphQLRequest<Variables> {
  /// What `data` is read as.
  associatedtype ResponseData: Decodable & Sendable

  /// What travels as `variables`; ``GraphQLNullable`` tells absent and null apart.
  associatedtype Variables: Encodable & Sendable = NoParameters

  /// The document, whether its operation is a query or a mutation; it is sent as `query`.
  static var query: GraphQLDocument { get }

  /// The variables; none unless given.
  var variables: Variables { get }

  /// What is sent as `extensions`; nothing unless given.
  var extensions: JSONValue? { get }

  /// What errors beside data mean; `none` unless given.
  var errorPolicy: GraphQLErrorPolicy { get }
}

extension GraphQLSession {
  /// The name of the document's first operation. A session that runs another operation of the document overrides this.
  public var operationName: String { Self.query.operations.first?.name ?? String(describing: Self.self) }
  /// No extensions.
  public var extensions: JSONValue? { nil }
  /// Errors fail.
  public var errorPolicy: GraphQLErrorPolicy { .none }
  /// The answer's envelope, by the error policy.
  public var responseParser: ResponseParser<ResponseType> { .graphQL(errorPolicy) }
  /// What is sent: document, operation, variables and extensions.
  public var parameters: GraphQLRequest<Variables> {
    GraphQLRequest(
      operationName: operation?.name, variables: variables, extensions: extensions, document: Self.query)
  }
  /// Queries are.
  public func isReplayable(with method: HTTPMethod) -> Bool { operation?.kind == .query }

  /// Sends the operation with `POST`: a cold stream of the answer's `data`, as ``data(of:)`` gives them.
  public func data(on client: APIClient) -> Observable<ResponseData> {
    post(on: client).map { try data(of: $0) }
  }

  /// The `data` of an answer by the session's error policy; throws `graphQL`, or `undecodable` where there is none.
  public func data(of response: ResponseType) throws(RequestError) -> ResponseData {
    do {
      return try response.applying(errorPolicy).requireData()
    } catch {
      throw error.named(operationName)
    }
  }

  private var operation: GraphQLOperation? {
    Self.query.operation(named: operationName) ?? Self.query.operation(named: nil)
  }
}

extension GraphQLSession where Variables == NoParameters {
  /// Nothing.
  public var variables: NoParameters { NoParameters() }
}

extension GraphQLSession {
  /// The request: JSON in the body of a `POST`, or the members in the query of a `GET`.
  ///
  /// Throws `invalidRequest` for a mutation by `GET`, which caches and links would repeat, for other methods, and for a
  /// subscription, whose answers never end.
  public func makeRequest(_ method: HTTPMethod, for client: APIClient) throws -> HTTPRequest {
    guard let operation else {
      throw RequestError(.invalidRequest, "The document has no operation named '\(operationName)'.")
    }
    guard operation.kind != .subscription else {
      throw RequestError(
        .invalidRequest, "The subscription '\(operationName)' cannot be sent, as it has no one answer: use a query.")
    }
    guard method == .post || (method == .get && operation.kind == .query) else {
      throw RequestError(.invalidRequest, "A \(operation.kind.rawValue) cannot be sent with \(method): use POST.")
    }
    var headers = try headers
    let accept = responseParser.accept
    if accept != GraphQLHeaders.accept, !headers.contains("Accept") { try headers.set("Accept", to: accept) }
    var target = try client.target(forPath: path)
    var body: Data?
    if method == .post {
      body = try client.encoder.encode(parameters)
      headers.remove("Content-Type")
      headers = headers.merging(missingFrom: GraphQLHeaders.ofPost)
    } else {
      target = try target.adding(query: parameters.pairs(by: client.encoder))
      headers = headers.merging(missingFrom: GraphQLHeaders.ofGet)
    }
    return HTTPRequest(
      method: method, target: target, headers: headers, body: body, timeouts: client.timeouts,
      operationName: operationName, isReplayable: isReplayable(with: method))
  }
}
