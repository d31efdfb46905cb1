public import HTTPClientCore
public import Streams
public import StrictJSON
import SystemBase

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

  /// Makes the request; by default, ``standardRequest(_:)``. Implement this to send something else, such as a query
  /// beside a body: begin with `standardRequest`, and change what it returns.
  func makeRequest(_ call: APICall) throws -> HTTPRequest
}

/// The sending of a session: what ``APISession/makeRequest(_:)`` makes the request for.
public struct APICall: Sendable {
  /// The method.
  public let method: HTTPMethod

  /// The client that sends the request.
  public let client: APIClient

  /// How the document of a GraphQL operation goes, if the server turned out not to know its hash.
  let document: SentDocument?

  /// The document to send in the place of the session's.
  package var rewritten: GraphQLDocument?

  /// Takes the method, and the client that sends the request.
  public init(_ method: HTTPMethod, on client: APIClient) {
    self.init(method, on: client, document: nil)
  }

  init(_ method: HTTPMethod, on client: APIClient, document: SentDocument?) {
    (self.method, self.client, self.document) = (method, client, document)
  }
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

/// The parameters of a session without any: no query, no body.
public struct NoParameters: Encodable, Hashable, Sendable {
  /// Makes the only value.
  public init() {}
}

extension NoParameters: JSONEncodable {
  /// Writes an empty object.
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.endObject()
  }
}

extension APISession {
  /// The standard request.
  public func makeRequest(_ call: APICall) throws -> HTTPRequest { try standardRequest(call) }

  /// The request for this session's path, headers and parameters, which are in the query for `GET`, `HEAD` and
  /// `DELETE`, and in the body for the other methods.
  public func standardRequest(_ call: APICall) throws -> HTTPRequest {
    let (method, client) = (call.method, call.client)
    var headers = try headers
    var target = try client.target(forPath: path)
    var body: Data?
    if !(parameters is NoParameters) {
      if [.get, .head, .delete].contains(method) {
        target = try target.adding(query: QueryEncoder.pairs(of: parameters, by: client.encoder))
      } else {
        let (data, contentType) = try bodyFormat.encode(parameters, client.encoder)
        body = data
        if !headers.contains("Content-Type") { try headers.set("Content-Type", to: contentType) }
      }
    } else if [.post, .put, .patch].contains(method) {
      body = Data()
    }
    if !headers.contains("Accept") { try headers.set("Accept", to: responseParser.accept) }
    return HTTPRequest(
      method: method, target: target, headers: headers, body: body, timeouts: client.timeouts,
      operationName: operationName, isReplayable: isReplayable(with: method))
  }
}

extension HTTPTarget {
  /// The target with more pairs in its query.
  func adding(query pairs: [(name: String, value: String)]) -> HTTPTarget {
    pairs.isEmpty ? self : adding(query: QueryEncoder.text(of: pairs))
  }
}

extension String {
  /// The text with all but the unreserved characters (RFC 3986, section 2.3) percent-encoded: fit to be one segment of
  /// a path, unless it is `.` or `..`, or a name or value in a query.
  public var percentEncoded: String {
    String(unsafeUninitializedCapacity: 3 * utf8.count) { $0.write(percentEncoded: self, at: 0) }
  }
}

extension UnsafeMutableBufferPointer<UInt8> {
  /// Writes a text with all but the unreserved characters percent-encoded, for which there must be three bytes for each of
  /// its own; returns where it ends.
  fileprivate func write(percentEncoded text: String, at start: Int) -> Int {
    var (text, end) = (text, start)
    text.withUTF8 { bytes in
      for byte in bytes {
        if byte.isUnreserved {
          self[end] = byte
          end += 1
        } else {
          self[end] = UInt8(ascii: "%")
          self[end + 1] = Self.hexadecimalDigit(byte >> 4)
          self[end + 2] = Self.hexadecimalDigit(byte & 15)
          end += 3
        }
      }
    }
    return end
  }

  private static func hexadecimalDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }
}

extension UInt8 {
  /// RFC 3986, section 2.3.
  fileprivate var isUnreserved: Bool {
    // The bits of "-", "." and the digits, then of the letters, "_" and "~".
    let bits: UInt64 = self < 64 ? 0x03FF_6000_0000_0000 : self < 128 ? 0x47FF_FFFE_87FF_FFFE : 0
    return bits >> UInt64(self & 63) & 1 == 1
  }
}

/// Turns flat parameters into the `name=value` pairs of a query or a form, via JSON.
enum QueryEncoder {
  /// The pairs, sorted by name. Absent and null values have none; a list has one for each of its elements.
  static func pairs(
    of parameters: some Encodable & Sendable, by encoder: any BodyEncoder
  ) throws -> [(name: String, value: String)] {
    let json = try encoder.encode(parameters)
    do throws(JSONError) {
      return try [String: Values](json: json.bytes)
        .sorted { $0.key < $1.key }
        .flatMap { name, values in values.texts.map { (name, $0) } }
    } catch {
      throw RequestError(
        .invalidRequest,
        "The parameters of a query or a form must be an object of strings, numbers, booleans and lists of these. "
          + "\(DecodingFailure(error))")
    }
  }

  /// The pairs as a query or form: percent-encoded except for the unreserved characters (RFC 3986, section 2.3).
  static func text(of pairs: [(name: String, value: String)]) -> String {
    let capacity = pairs.reduce(0) { $0 + 3 * ($1.name.utf8.count + $1.value.utf8.count) + 2 }
    return String(unsafeUninitializedCapacity: capacity) { text in
      var end = 0
      for (name, value) in pairs {
        if end > 0 {
          text[end] = UInt8(ascii: "&")
          end += 1
        }
        end = text.write(percentEncoded: name, at: end)
        text[end] = UInt8(ascii: "=")
        end = text.write(percentEncoded: value, at: end + 1)
      }
      return end
    }
  }

  /// The texts of a scalar or of a list of scalars.
  private struct Values: JSONDecodable {
    var texts: [String] = []

    init(from json: inout JSONReader) throws(JSONError) {
      guard try json.nextKind() == .array else {
        texts += try json.read(Scalar.self).texts
        return
      }
      try json.beginArray()
      while try json.nextElement() { texts += try json.read(Scalar.self).texts }
    }
  }

  /// The text of a scalar; a number's is as JSON has it, and `null` has none.
  private struct Scalar: JSONDecodable {
    var texts: [String] = []

    init(from json: inout JSONReader) throws(JSONError) {
      switch try json.nextKind() {
      case .null: _ = try json.readNull()
      case .boolean: texts.append(try json.readBool() ? "true" : "false")
      case .number: texts.append(try json.readNumberText())
      case .string: texts.append(try json.readString())
      case .array, .object: throw json.mismatch("a value that is not nested")
      }
    }
  }
}
