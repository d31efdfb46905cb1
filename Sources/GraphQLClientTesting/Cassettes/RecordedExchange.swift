import GraphQLClient
public import HTTPClientCore
import StrictJSON
public import SystemBase

/// A request and what came of it, without secrets.
public struct RecordedExchange: Hashable, Sendable {
  let request: RecordedRequest
  /// `nil` if none began.
  let response: RecordedResponse?
  /// The failure that ended it, perhaps in the middle of the response.
  let failure: RecordedFailure?
  /// Whether it had not ended when it was disposed, or when the recording finished.
  let isOpen: Bool

  /// The operation, if the request named one.
  public var operationName: String? { request.operationName }
  /// The method.
  public var method: String { request.method }
  /// The path of the URL, percent-encoded and without the query.
  public var path: String { request.path }
  /// The request's body; empty for an upload, whose bytes are not recorded.
  public var requestBody: Data { request.body.data }
  /// The response's status, if a response began.
  public var status: Int? { response?.status }
  /// The response's header fields.
  public var headers: HTTPHeaders { HTTPHeaders(response?.headers ?? []) }
  /// The response's body as it is replayed.
  public var body: Data { response?.body.data ?? Data() }
  /// The error with which it failed, if it did.
  public var error: RequestError? { failure?.error }

  /// What a transport gives.
  var script: ScriptedResponse {
    var steps: [ScriptedResponse.Step] = []
    if let response {
      steps.append(.send(.head(HTTPResponseHead(status: response.status, headers: HTTPHeaders(response.headers)))))
      steps += response.body.pieces.map { .send(.body($0)) }
    }
    if let failure { steps.append(.fail(failure.error)) }
    if isOpen { steps.append(.hang) }
    return ScriptedResponse(steps: steps)
  }

  /// The exchange without what was found anywhere in the addresses that it names.
  func redactingAddresses(by finder: SecretFinder) -> RecordedExchange {
    var request = request
    request.path = finder.redactKnown(inURL: request.path)
    var response = response
    if let headers = response?.headers {
      response?.headers = headers.map { field in
        guard field.hasName("Location") else { return field }
        return HTTPField(received: field.name, value: finder.redactKnown(inURL: field.value))
      }
    }
    return RecordedExchange(request: request, response: response, failure: failure, isOpen: isOpen)
  }

  /// The exchange with other bodies.
  func mappingBodies<Failure: Error>(
    _ map: (RecordedBody) throws(Failure) -> RecordedBody
  ) throws(Failure) -> RecordedExchange {
    var request = request
    request.body = try map(request.body)
    var response = response
    if let body = response?.body { response?.body = try map(body) }
    return RecordedExchange(request: request, response: response, failure: failure, isOpen: isOpen)
  }
}

extension RecordedExchange: CustomStringConvertible {
  /// The method, the path and the operation.
  public var description: String { request.description }
}

/// What is recorded of a request.
struct RecordedRequest: Hashable, Sendable, CustomStringConvertible {
  var operationName: String?
  let method: String
  /// The scheme and the host, for people alone; the port of this machine is left out, since it is another in each run.
  let origin: String
  var path: String
  let parameters: [RecordedParameter]
  let headers: [HTTPField]
  var body: RecordedBody

  /// Random for each request.
  private static let droppedNames: Set<String> = ["traceparent", "tracestate"]

  init(_ request: HTTPRequest, by finder: inout SecretFinder) {
    finder.addSecrets(of: request)
    operationName = request.operationName
    method = request.method.rawValue
    origin = request.target.recordedOrigin
    let parts = request.requestTarget.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = parts.first.map(String.init) ?? "/"
    parameters = parts.dropFirst().flatMap { RecordedParameter.all(in: $0) }.map { $0.redacted(by: &finder) }
    body = RecordedBody(of: request, by: &finder)
    headers = request.headers.filter { !Self.droppedNames.contains($0.name.lowercased()) }.map { field in
      // The boundary is random.
      field.hasName("Content-Type") && request.upload != nil
        ? HTTPField(received: field.name, value: String(field.value.prefix { $0 != ";" })) : finder.redact(field)
    }
  }

  var description: String { "\(method) \(path)" + (operationName.map { " (\($0))" } ?? "") }

  /// Whether it is a GraphQL request, by its body or its query.
  var isGraphQL: Bool {
    switch body {
    case .graphQL: true
    case .json(let json): json["operationName"] != nil || json["variables"] != nil
    default: parameters.contains { $0.name == "operationName" || $0.name == "variables" }
    }
  }

  /// The GraphQL variables, wherever they stand; an empty object if there are none.
  var variables: RecordedJSON {
    switch body {
    case .graphQL(let json), .json(let json): return json["variables"] ?? .object([])
    default: break
    }
    guard case .json(let variables)? = parameters.first(where: { $0.name == "variables" })?.value else {
      return .object([])
    }
    return variables
  }
}

extension HTTPTarget {
  fileprivate var recordedOrigin: String {
    let scheme = isSecure ? "https" : "http"
    return isLoopback ? "\(scheme)://\(host)" : "\(scheme)://\(authority)"
  }
}

/// What is recorded of a response.
struct RecordedResponse: Hashable, Sendable {
  let status: Int
  var headers: [HTTPField]
  var body: RecordedBody

  /// About the message on its way, which is decoded when it is recorded; and times, which differ in each run.
  private static let droppedNames: Set<String> = [
    "connection", "content-encoding", "content-length", "keep-alive", "transfer-encoding", "trailer",
  ]
  private static let times: Set<String> = ["age", "date", "expires"]

  init(_ response: HTTPResponse, to request: HTTPRequest, keepsDates: Bool, by finder: inout SecretFinder) {
    status = response.head.status
    body = RecordedBody(of: response, isSecret: request.context.isResponseSecret, by: &finder)
    let dropped = keepsDates ? Self.droppedNames : Self.droppedNames.union(Self.times)
    headers = response.head.headers.filter { !dropped.contains($0.name.lowercased()) }.map { finder.redact($0) }
  }
}

/// What is recorded of an error. Its cause is not.
struct RecordedFailure: Hashable, Sendable {
  let kind: String
  let message: String
  let status: Int?
  let excerpt: String?
  /// In seconds.
  let retryAfter: Double?
  let reached: RequestError.Reach

  init(_ error: RequestError, of request: HTTPRequest) {
    let redactor = Redactor(secretsOf: request)
    kind = error.kind.description
    // The port of a server on this machine is another in each run.
    let message =
      request.target.isLoopback
      ? error.message.replacing(request.target.authority, with: request.target.host) : error.message
    self.message = redactor.redact(message)
    status = error.status
    excerpt = error.excerpt.map(redactor.redact)
    retryAfter = error.retryAfter.map { Double($0.components.seconds) + Double($0.components.attoseconds) * 1e-18 }
    reached = error.reached
  }

  var error: RequestError {
    var error = RequestError(
      RequestError.Kind(recorded: kind), message, status: status, excerpt: excerpt, reached: reached)
    error.retryAfter = retryAfter.map { .seconds($0) }
    return error
  }
}

/// An exchange as an element of the cassette's array.
struct CassetteEntry: JSONDecodable, JSONEncodable {
  let exchange: RecordedExchange

  init(_ exchange: RecordedExchange) {
    self.exchange = exchange
  }

  init(from json: inout JSONReader) throws(JSONError) {
    var operationName: String?
    var request: RecordedRequest?
    var response: RecordedResponse?
    var failure: RecordedFailure?
    var isOpen = false
    try json.beginObject()
    while try json.nextKey() {
      switch json.key {
      case "operation": operationName = try json.readString()
      case "request": request = try json.read()
      case "response": response = try json.read()
      case "failure": failure = try json.read()
      case "isOpen": isOpen = try json.readBool()
      default: throw json.mismatch("one of 'operation', 'request', 'response', 'failure' and 'isOpen'")
      }
    }
    request?.operationName = operationName
    exchange = RecordedExchange(
      request: try json.require(request, "request"), response: response, failure: failure, isOpen: isOpen)
    guard failure == nil || !isOpen, response != nil || failure != nil || isOpen else {
      throw json.invalid("a response, a failure, or 'isOpen'")
    }
  }

  func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("operation", ifPresent: exchange.operationName)
    json.write("request", exchange.request)
    json.write("response", ifPresent: exchange.response)
    json.write("failure", ifPresent: exchange.failure)
    if exchange.isOpen { json.write("isOpen", true) }
    json.endObject()
  }
}

/// The operation stands above the request.
extension RecordedRequest: JSONDecodable, JSONEncodable {
  init(from json: inout JSONReader) throws(JSONError) {
    var method: String?
    var origin: String?
    var path: String?
    var parameters: [RecordedParameter] = []
    var headers: [HTTPField] = []
    var body = RecordedBody.none
    try json.beginObject()
    while try json.nextKey() {
      switch json.key {
      case "method": method = try json.readString()
      case "origin": origin = try json.readString()
      case "path": path = try json.readString()
      case "parameters": parameters = try json.read()
      case "headers": headers = try json.readFields()
      case "body": body = try json.read()
      default: throw json.mismatch("one of 'method', 'origin', 'path', 'parameters', 'headers' and 'body'")
      }
    }
    operationName = nil
    self.method = try json.require(method, "method")
    self.origin = origin ?? ""
    self.path = try json.require(path, "path")
    self.parameters = parameters
    self.headers = headers
    self.body = body
  }

  func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("method", method)
    json.write("origin", origin)
    json.write("path", path)
    if !parameters.isEmpty { json.write("parameters", parameters) }
    json.write("headers", headers.map { "\($0.name): \($0.value)" })
    if body != .none { json.write("body", body) }
    json.endObject()
  }
}

extension RecordedResponse: JSONDecodable, JSONEncodable {
  init(from json: inout JSONReader) throws(JSONError) {
    var status: Int?
    var headers: [HTTPField] = []
    var body = RecordedBody.none
    try json.beginObject()
    while try json.nextKey() {
      switch json.key {
      case "status":
        let read: Int = try json.read()
        guard (100...999).contains(read) else { throw json.invalid("a status with three digits") }
        status = read
      case "headers": headers = try json.readFields()
      case "body": body = try json.read()
      default: throw json.mismatch("one of 'status', 'headers' and 'body'")
      }
    }
    self.status = try json.require(status, "status")
    self.headers = headers
    self.body = body
  }

  func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("status", status)
    json.write("headers", headers.map { "\($0.name): \($0.value)" })
    if body != .none { json.write("body", body) }
    json.endObject()
  }
}

extension RecordedFailure: JSONDecodable, JSONEncodable {
  private static let reaches: [(name: String, reach: RequestError.Reach)] = [
    ("never", .never), ("maybe", .maybe), ("rejected", .rejected),
  ]

  init(from json: inout JSONReader) throws(JSONError) {
    var kind: String?
    var message: String?
    var status: Int?
    var excerpt: String?
    var retryAfter: Double?
    var reached: RequestError.Reach?
    try json.beginObject()
    while try json.nextKey() {
      switch json.key {
      case "kind": kind = try json.readString()
      case "message": message = try json.readString()
      case "status": status = try json.read()
      case "excerpt": excerpt = try json.readString()
      case "retryAfter":
        let seconds = try json.readDouble()
        guard (0...1e9).contains(seconds) else { throw json.invalid("a number of seconds") }
        retryAfter = seconds
      case "reached":
        let name = try json.readString()
        reached = Self.reaches.first { $0.name == name }?.reach
        if reached == nil { throw json.invalid("'never', 'maybe' or 'rejected'") }
      default: throw json.mismatch("one of 'kind', 'message', 'status', 'excerpt', 'retryAfter' and 'reached'")
      }
    }
    self.kind = try json.require(kind, "kind")
    self.message = try json.require(message, "message")
    self.status = status
    self.excerpt = excerpt
    self.retryAfter = retryAfter
    self.reached = try json.require(reached, "reached")
  }

  func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("kind", kind)
    json.write("message", message)
    json.write("status", ifPresent: status)
    json.write("excerpt", ifPresent: excerpt)
    json.write("retryAfter", ifPresent: retryAfter)
    json.write("reached", Self.reaches.first { $0.reach == reached }?.name ?? "maybe")
    json.endObject()
  }
}

extension JSONReader {
  /// Reads header fields: lines such as `Name: value`.
  fileprivate mutating func readFields() throws(JSONError) -> [HTTPField] {
    var fields: [HTTPField] = []
    try beginArray()
    while try nextElement() {
      let line = try readString()
      let name = String(line.prefix { $0 != ":" })
      let value = line.dropFirst(name.count + 1)
      guard name.isToken, line.utf8.count > name.utf8.count, value.utf8.allSatisfy(\.isFieldByte) else {
        throw invalid("a header field: 'Name: value'")
      }
      fields.append(HTTPField(received: name, value: String(value)))
    }
    return fields
  }
}
