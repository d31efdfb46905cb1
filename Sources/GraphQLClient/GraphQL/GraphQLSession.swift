@_exported public import GraphQLValues
public import HTTPClientCore
public import Streams
public import StrictJSON
import SystemBase

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
/// It is sent by GraphQL over HTTP (draft of 2025, section 5): with `POST`, or, if it is a query, also with `GET`.
public protocol GraphQLSession: APISession
where ResponseType == GraphQLResponse<ResponseData>, Parameters == GraphQLRequest<Variables> {
  /// The type that `data` is decoded as.
  associatedtype ResponseData: Decodable & Sendable

  /// The type of `variables`; use ``GraphQLNullable`` to distinguish absent from null.
  associatedtype Variables: Encodable & Sendable = NoParameters

  /// The document; it is sent as `query` even if its operation is a mutation.
  static var query: GraphQLDocument { get }

  /// The variables; none by default.
  var variables: Variables { get }

  /// Sent as `extensions`; nothing by default.
  var extensions: JSONValue? { get }

  /// How to treat errors beside data; `none` by default.
  var errorPolicy: GraphQLErrorPolicy { get }

  /// How this operation travels; `nil`, the default, as `APIClient.wire` says.
  var wire: GraphQLWire? { get }
}

extension GraphQLSession {
  /// The name of the document's first operation. A session that runs another operation of the document overrides this.
  public var operationName: String { Self.query.operations.first?.name ?? String(describing: Self.self) }
  /// No extensions.
  public var extensions: JSONValue? { nil }
  /// Any error fails the request.
  public var errorPolicy: GraphQLErrorPolicy { .none }
  /// As the client says.
  public var wire: GraphQLWire? { nil }
  /// A GraphQL response, by the error policy; of an operation with `@defer` or `@stream`, the complete one.
  public var responseParser: ResponseParser<ResponseType> {
    .graphQL(errorPolicy, of: operationName, in: Self.query)
  }
  /// The body: document, operation name, variables and extensions.
  public var parameters: GraphQLRequest<Variables> {
    GraphQLRequest(
      operationName: operation?.name, variables: variables, extensions: extensions, document: Self.query)
  }
  /// `true` for queries only.
  public func isReplayable(with method: HTTPMethod) -> Bool { operation?.kind == .query }

  /// Sends the operation: a cold stream of the response's `data`, without the errors that came with it, if the policy
  /// lets any pass. With `GET`, which caches on the way can answer, only a query can be sent; with `POST`, a query travels
  /// as `APIClient.wire` says.
  public func data(on client: APIClient, method: HTTPMethod = .post) -> Observable<ResponseData> {
    client.send(self, method: method).map(\.data)
  }

  /// The `data` of a response that did not come from a client, by the session's error policy: throws `graphQL` for
  /// errors that it does not accept.
  public func data(of response: ResponseType) throws(RequestError) -> ResponseData {
    do {
      return try ResponseType(data: response.data, errors: response.errors, policy: errorPolicy).data
    } catch {
      throw error.named(operationName)
    }
  }

  private var operation: GraphQLOperation? {
    try? Self.query.operation(named: operationName)
  }
}

/// GraphQL over HTTP has no other methods than `GET` and `POST`.
extension GraphQLSession {
  /// Not for GraphQL.
  @available(*, unavailable, message: "GraphQL is sent with post(on:), or with get(on:) if it is a query")
  public func put(on client: APIClient) -> Observable<ResponseType> { client.send(self, method: .put) }
  /// Not for GraphQL.
  @available(*, unavailable, message: "GraphQL is sent with post(on:), or with get(on:) if it is a query")
  public func patch(on client: APIClient) -> Observable<ResponseType> { client.send(self, method: .patch) }
  /// Not for GraphQL.
  @available(*, unavailable, message: "GraphQL is sent with post(on:), or with get(on:) if it is a query")
  public func delete(on client: APIClient) -> Observable<ResponseType> { client.send(self, method: .delete) }
}

extension GraphQLSession where Variables == NoParameters {
  /// No variables.
  public var variables: NoParameters { NoParameters() }
}

extension GraphQLSession {
  /// The standard request.
  public func makeRequest(_ method: HTTPMethod, for client: APIClient) throws -> HTTPRequest {
    try standardRequest(method, for: client)
  }

  /// The request: JSON in the body of a `POST`, or the members in the query of a `GET`; which of the two a query gets,
  /// and in which form its document, `APIClient.wire` says, or the session's own ``wire``.
  ///
  /// Throws `invalidRequest` for a document that is not GraphQL, with line and column; for a mutation by `GET`, which
  /// caches and link prefetching could repeat; for other methods; for a subscription, which has more than one
  /// response; and for a document without an id where only ids are sent.
  public func standardRequest(_ method: HTTPMethod, for client: APIClient) throws -> HTTPRequest {
    let operation = try Self.query.operation(named: operationName)
    guard operation.kind != .subscription else {
      throw RequestError(
        .invalidRequest,
        "'\(operationName)' is a subscription, which has many responses: make it a GraphQLSubscription, and call "
          + "subscribe(on:) or data(on:).")
    }
    if let problem = Self.query.incrementalPlan(named: operationName)?.problem {
      throw RequestError(.invalidRequest, problem)
    }
    guard method == .post || (method == .get && operation.kind == .query) else {
      throw RequestError(.invalidRequest, "A \(operation.kind.rawValue) cannot be sent with \(method): use POST.")
    }
    let wire = wire ?? client.wire
    var parameters = parameters
    parameters.sentDocument = try wire.documents.sent(Self.query, by: client)
    var headers = try headers
    let accept = responseParser.accept
    if accept != GraphQLHeaders.accept, !headers.contains("Accept") { try headers.set("Accept", to: accept) }
    var target = try client.target(forPath: path)
    var body: Data?
    var files: GraphQLMultipart?
    // Servers and proxies log URLs, and the errors of a batch quote what belongs to others.
    let isSecret = isResponseSecret || !secrets.isEmpty
    let prefersGET =
      wire.sendsQueriesByGET && wire.batching == nil && operation.kind == .query && client.wholeDocument == nil
      && !isSecret
    let targetOfGET =
      method == .get || prefersGET
      ? try parameters.target(below: target, upTo: wire.urlLimit, by: client.encoder, orNone: method == .post) : nil
    if let targetOfGET {
      target = targetOfGET
      headers = headers.adding(defaults: GraphQLHeaders.ofGet)
    } else {
      headers.remove("Content-Type")
      do {
        body = try client.encoder.encode(parameters)
      } catch  where error.isAboutUpload {
        // If the server did not know a hash, the files would be sent twice.
        if parameters.isHashAlone { parameters.sentDocument = .text(withHash: false) }
        let multipart = try GraphQLMultipart(parameters, by: client.encoder)
        try headers.set("Content-Type", to: multipart.contentType)
        headers = headers.adding(defaults: GraphQLHeaders.preflight)
        files = multipart
      }
      headers = headers.adding(defaults: GraphQLHeaders.ofPost)
    }
    var request = HTTPRequest(
      method: targetOfGET == nil ? .post : .get, target: target, headers: headers, body: body,
      timeouts: client.timeouts, operationName: operationName, isReplayable: isReplayable(with: method))
    request.upload = files?.body
    request.onlyReads = operation.kind == .query
    let mayJoin = operation.kind == .query && body != nil && accept == GraphQLHeaders.accept && !isSecret
    request.context.carrier = GraphQLCarrier(
      self, on: client, hasHash: parameters.isHashAlone, batching: mayJoin ? wire.batching : nil)
    return request
  }
}
