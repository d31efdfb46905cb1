public import HTTP
public import Streams

/// A request as a value: where it goes, what it carries, and how its answer is read.
///
/// A REST session is this much:
///
///     struct GetUser: APISession {
///       typealias ResponseType = User
///       let id: String
///       var path: String { "users/\(id.percentEncoded)" }
///     }
///     GetUser(id: "7").get(on: client)      // Observable<User>
///
/// Each of the verbs gives a cold stream of one element: nothing is sent before somebody subscribes, and each
/// subscriber sends anew. It calls back on the transport's queue, and fails with a `RequestError` that names the
/// operation. For GraphQL there are ``GraphQLSession`` and what a document adds.
public protocol APISession: Sendable {
  /// What the answer is read as.
  associatedtype ResponseType: Sendable

  /// What the request carries: the query of a `GET`, `HEAD` or `DELETE`, the body of the others.
  associatedtype Parameters: Encodable & Sendable = NoParameters

  /// The name for errors and logs; the type's name unless given.
  var operationName: String { get }

  /// Where it goes, below the client's base URL: percent-encoded, without a query; empty, as it is unless given,
  /// for the base URL itself.
  var path: String { get }

  /// Header fields of this request; they take precedence over the client's. Check a value that comes from outside; if
  /// it is not valid, the request fails:
  ///
  ///     var headers: HTTPHeaders {
  ///       get throws { HTTPHeaders([try HTTPField(name: "X-Tenant", value: tenant)]) }
  ///     }
  var headers: HTTPHeaders { get throws }

  /// What the request carries; nothing unless given.
  var parameters: Parameters { get }

  /// The form in which a body carries the parameters; JSON unless given.
  var bodyFormat: BodyFormat { get }

  /// Whether a request with this method may be sent again although the first may have been carried out. By default,
  /// `GET` and `HEAD` may.
  func isReplayable(with method: HTTPMethod) -> Bool

  /// Declares a request idempotent that is not so by itself, such as a mutation. By this key the server recognises a
  /// request that it has already carried out, so the request may be sent again, each time with the key. `nil`, the
  /// default, makes no such promise.
  ///
  /// The key belongs to the intent, so it is a constant of the session: `let idempotencyKey: String? = UUID().uuidString`.
  var idempotencyKey: String? { get }

  /// Texts, besides header values, that errors and logs must not show if the server sends them back: a password among
  /// the variables, for example. None by default; a text shorter than 8 bytes does not count as a secret.
  var secrets: [String] { get }

  /// Whether the response itself is secret, as one with a token is; errors then do not quote it. `false` by default.
  var isResponseSecret: Bool { get }

  /// How an answer becomes a `ResponseType`; JSON by the client's decoder unless given.
  var responseParser: ResponseParser<ResponseType> { get }

  /// Makes the request; for sessions whose parameters travel in a form of their own.
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
  /// `GET` and `HEAD` are.
  public func isReplayable(with method: HTTPMethod) -> Bool { method == .get || method == .head }

  /// No secrets.
  public var secrets: [String] { [] }
  /// Errors may quote the answer.
  public var isResponseSecret: Bool { false }
  /// No key.
  public var idempotencyKey: String? { nil }

  /// Sends the request with `GET`, the parameters in the URL's query.
  public func get(on client: APIClient) -> Observable<ResponseType> { client.send(self, method: .get) }
  /// Sends the request with `POST`, the parameters in the body.
  public func post(on client: APIClient) -> Observable<ResponseType> { client.send(self, method: .post) }
  /// Sends the request with `PUT`, the parameters in the body.
  public func put(on client: APIClient) -> Observable<ResponseType> { client.send(self, method: .put) }
  /// Sends the request with `PATCH`, the parameters in the body.
  public func patch(on client: APIClient) -> Observable<ResponseType> { client.send(self, method: .patch) }
  /// Sends the request with `DELETE`, the parameters in the URL's query.
  public func delete(on client: APIClient) -> Observable<ResponseType> { client.send(self, method: .delete) }
}

extension APISession where Parameters == NoParameters {
  /// Nothing.
  public var parameters: NoParameters { NoParameters() }
}

extension APISession where ResponseType: Decodable {
  /// JSON by the client's decoder.
  public var responseParser: ResponseParser<ResponseType> { .json }
}
