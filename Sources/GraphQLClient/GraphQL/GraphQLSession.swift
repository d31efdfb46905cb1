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

  /// How this operation travels; `nil`, the default, as ``GraphQLSettings/wire`` says.
  var wire: GraphQLWire? { get }
}

extension GraphQLSession {
  /// The name of the document's first operation. A session that runs another operation of the document overrides this.
  public var operationName: String { Self.query.name ?? String(describing: Self.self) }
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
  /// as ``GraphQLSettings/wire`` says.
  public func data(on client: APIClient, method: HTTPMethod = .post) -> Observable<ResponseData> {
    client.send(self, method: method).map(\.data)
  }

  /// The `data` of a response that did not come from a client, by the session's error policy: throws `graphQL` for
  /// errors that it does not accept.
  public func data(of response: ResponseType) throws(RequestError) -> ResponseData {
    do {
      try errorPolicy.check(response.errors, hasData: true)
      return response.data
    } catch {
      throw error.named(operationName)
    }
  }

  private var operation: GraphQLOperation? {
    try? Self.query.operation(named: operationName)
  }
}

/// GraphQL over HTTP has no other methods than `GET` and `POST`. Deprecated, since what is unavailable would give way to the
/// methods of every session.
extension GraphQLSession {
  /// Not for GraphQL.
  @available(*, deprecated, message: "GraphQL is sent with post(on:), or with get(on:) if it is a query")
  public func put(on client: APIClient) -> Observable<ResponseType> { client.send(self, method: .put) }
  /// Not for GraphQL.
  @available(*, deprecated, message: "GraphQL is sent with post(on:), or with get(on:) if it is a query")
  public func patch(on client: APIClient) -> Observable<ResponseType> { client.send(self, method: .patch) }
  /// Not for GraphQL.
  @available(*, deprecated, message: "GraphQL is sent with post(on:), or with get(on:) if it is a query")
  public func delete(on client: APIClient) -> Observable<ResponseType> { client.send(self, method: .delete) }
}

extension GraphQLSession where Variables == NoParameters {
  /// No variables.
  public var variables: NoParameters { NoParameters() }
}

extension GraphQLSession {
  /// The standard request.
  public func makeRequest(_ call: APICall) throws -> HTTPRequest { try standardRequest(call) }

  /// The request: JSON in the body of a `POST`, or the members in the query of a `GET`; which of the two a query gets,
  /// and in which form its document, ``GraphQLSettings/wire`` says, or the session's own ``wire``.
  ///
  /// Throws `invalidRequest` for a document that is not GraphQL, with line and column; for a mutation by `GET`, which
  /// caches and link prefetching could repeat; for other methods; for a subscription, which has more than one
  /// response; and for a document without an id where only ids are sent.
  public func standardRequest(_ call: APICall) throws -> HTTPRequest {
    let (name, accept) = (operationName, responseParser.accept)
    let wire = wire ?? call.client.graphQL.wire
    let hasOwnAccept = accept != GraphQLHeaders.accept
    let document = call.rewritten ?? Self.query
    let plan = try OperationPlan(
      document, named: name, .once(call.method), by: wire, isSecret: isResponseSecret || !secrets.isEmpty,
      isAlone: hasOwnAccept, insteadOfHash: call.document, sendsHashes: !call.client.graphQL.persistedQueries.isOff)
    var parameters = parameters
    parameters.document = document
    parameters.sentDocument = plan.document
    var headers = try headers
    if hasOwnAccept, !headers.contains("Accept") { try headers.set("Accept", to: accept) }
    let endpoint = try call.client.target(forPath: path)
    let targetOfGET =
      plan.method == .post
      ? nil
      : try parameters.target(
        below: endpoint, upTo: wire.urlLimit, by: call.client.encoder, orNone: plan.method == .getIfPossible)
    var request = HTTPRequest(
      method: targetOfGET == nil ? .post : .get, target: targetOfGET ?? endpoint, headers: headers, body: nil,
      timeouts: call.client.timeouts, operationName: name, isReplayable: isReplayable(with: call.method))
    request.onlyReads = plan.kind == .query
    request.operationType = plan.kind.onRequests
    if targetOfGET == nil {
      try request.setBody(to: &parameters, by: call.client.encoder)
    } else {
      request.headers = headers.adding(defaults: GraphQLHeaders.ofGet)
    }
    let batching = plan.mayJoinBatch ? wire.batching : nil
    if parameters.isHashAlone || batching != nil {
      request.context.carrier = GraphQLCarrier(self, call, hasHash: parameters.isHashAlone, batching: batching)
    }
    return request
  }
}

extension HTTPRequest {
  /// Gives it its body: JSON, or with files, a multipart form. Inlined, since it would look up the parameters' type again.
  @inline(__always)
  fileprivate mutating func setBody(
    to parameters: inout GraphQLRequest<some Encodable & Sendable>, by encoder: any BodyEncoder
  ) throws {
    headers.remove("Content-Type")
    do {
      body = try encoder.encode(parameters)
    } catch  where error.isAboutUpload {
      // If the server did not know a hash, the files would be sent twice.
      if parameters.isHashAlone { parameters.sentDocument = .text(withHash: false) }
      let multipart = try GraphQLMultipart(parameters, by: encoder)
      try headers.set("Content-Type", to: multipart.contentType)
      headers = headers.adding(defaults: GraphQLHeaders.preflight)
      upload = multipart.body
    }
    headers = headers.adding(defaults: GraphQLHeaders.ofPost)
  }
}
