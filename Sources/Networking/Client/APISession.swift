public import HTTP
public import Streams

/// A request as a value: where it goes, what it carries, and how its response is read.
///
/// A minimal REST session:
///
///     struct GetUser: APISession {
///       typealias ResponseType = User
///       let id: String
///       var path: String { "users/\(id.percentEncoded)" }
///     }
///     GetUser(id: "7").get(on: client)      // Observable<User>
///
/// Each of the verbs returns a cold stream of one element: nothing is sent before a subscription, and each subscriber
/// sends the request again. It calls back on a thread of the transport, or, awaited over `SocketTransport`, on the
/// awaiting task, and fails with a `RequestError` that names the operation. For GraphQL, see ``GraphQLSession``.
public protocol APISession: Sendable {
  /// The type that the response is decoded as.
  associatedtype ResponseType: Sendable

  /// What the request carries: the query of a `GET`, `HEAD` or `DELETE`, the body of the others.
  associatedtype Parameters: Encodable & Sendable = NoParameters

  /// The name for errors and logs; the type's name by default.
  var operationName: String { get }

  /// The path below the client's base URL, percent-encoded and without a query; empty, the default, for the base URL
  /// itself.
  var path: String { get }

  /// Header fields of this request; they take precedence over the client's. Check a value that comes from outside; if
  /// it is not valid, the request fails:
  ///
  ///     var headers: HTTPHeaders {
  ///       get throws { HTTPHeaders([try HTTPField(name: "X-Tenant", value: tenant)]) }
  ///     }
  var headers: HTTPHeaders { get throws }

  /// What the request carries; nothing by default.
  var parameters: Parameters { get }

  /// How a body encodes the parameters; JSON by default. GraphQL is always sent as JSON: a ``GraphQLSession`` that
  /// needs another format implements `makeRequest`.
  var bodyFormat: BodyFormat { get }

  /// The deadlines of this session's requests; `nil`, the default, for the client's.
  var timeouts: HTTPTimeouts? { get }

  /// Whether a request with this method may be sent again although the first may have been carried out. By default,
  /// `GET` and `HEAD` may.
  func isReplayable(with method: HTTPMethod) -> Bool

  /// Declares a request idempotent that is not so by itself, such as a mutation. By this key the server recognises a
  /// request that it has already carried out, so the request may be sent again, each time with the key. `nil`, the
  /// default, makes no such promise.
  ///
  /// The key belongs to the intent, so make it a constant of the session:
  /// `let idempotencyKey: String? = UUID().uuidString`.
  var idempotencyKey: String? { get }

  /// Texts, besides header values, that errors and logs must not show if the server sends them back: a password among
  /// the variables, for example. None by default; a text shorter than 8 bytes does not count as a secret.
  var secrets: [String] { get }

  /// Whether the response itself is secret, as one with a token is; errors then do not quote it. `false` by default.
  var isResponseSecret: Bool { get }

  /// Turns a response into a `ResponseType`; JSON with the client's decoder by default.
  var responseParser: ResponseParser<ResponseType> { get }

  /// Makes the request; by default, ``standardRequest(_:for:)``. Implement this to send something else, such as a query
  /// beside a body: begin with `standardRequest`, and change what it returns.
  func makeRequest(_ method: HTTPMethod, for client: APIClient) throws -> HTTPRequest
}

extension APISession {
  /// The type's name.
  public var operationName: String { String(describing: Self.self) }
  /// The base URL itself.
  public var path: String { "" }
  /// No fields.
  public var headers: HTTPHeaders { HTTPHeaders() }
  /// JSON.
  public var bodyFormat: BodyFormat { .json }
  /// The client's.
  public var timeouts: HTTPTimeouts? { nil }
  /// `true` for the methods that are safe: `GET`, `HEAD` and `OPTIONS`.
  public func isReplayable(with method: HTTPMethod) -> Bool { method.isSafe }

  /// No secrets.
  public var secrets: [String] { [] }
  /// The response is not secret: errors may quote it.
  public var isResponseSecret: Bool { false }
  /// No key.
  public var idempotencyKey: String? { nil }

  /// Sends the request with `GET`, with the parameters in the URL's query.
  public func get(on client: APIClient) -> Observable<ResponseType> { client.send(self, method: .get) }
  /// Sends the request with `POST`, with the parameters in the body.
  public func post(on client: APIClient) -> Observable<ResponseType> { client.send(self, method: .post) }
  /// Sends the request with `PUT`, with the parameters in the body.
  public func put(on client: APIClient) -> Observable<ResponseType> { client.send(self, method: .put) }
  /// Sends the request with `PATCH`, with the parameters in the body.
  public func patch(on client: APIClient) -> Observable<ResponseType> { client.send(self, method: .patch) }
  /// Sends the request with `DELETE`, with the parameters in the URL's query.
  public func delete(on client: APIClient) -> Observable<ResponseType> { client.send(self, method: .delete) }
}

extension APISession where Parameters == NoParameters {
  /// No parameters.
  public var parameters: NoParameters { NoParameters() }
}

extension APISession where ResponseType: Decodable {
  /// JSON, with the client's decoder.
  public var responseParser: ResponseParser<ResponseType> { .json }
}
