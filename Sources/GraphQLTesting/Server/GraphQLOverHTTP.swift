import GraphQLLanguage
import GraphQLSchema
import HTTPClientCore
import StrictJSON
import SystemBase

/// HTTP requests and responses that carry GraphQL, as the specification "GraphQL over HTTP" has them.
struct GraphQLOverHTTP {
  private let server: TestServer

  /// The media types of responses.
  private enum MediaType: String {
    /// The status says whether the operation was executed.
    case graphQL = "application/graphql-response+json"
    /// The status says only whether there was a GraphQL request.
    case json = "application/json"
    /// Each result is an event, as the protocol `graphql-sse` has it: for subscriptions.
    case eventStream = "text/event-stream"
  }

  /// A request that is refused before it is a GraphQL request.
  private struct Refusal: Error {
    let status: Int
    let message: String
    var allow: String?
  }

  /// How many requests a batch may have.
  private static let batchLimit = 1_000

  init(_ server: TestServer) {
    self.server = server
  }

  func response(to request: HTTPRequest) -> HTTPResponse {
    do throws(Refusal) {
      let mediaType = try negotiate(request)
      switch request.method {
      case .get: return try respond(GraphQLExchange(get: request, server), mediaType, isGet: true)
      case .post: return try respond(toBody: request, mediaType)
      default:
        throw Refusal(status: 405, message: "GraphQL travels by GET and POST", allow: "GET, POST")
      }
    } catch {
      let result = ExecutionResult(data: nil, errors: [ExecutionError(message: error.message)])
      return response(error.status, .json, result, allow: error.allow)
    }
  }

  private func respond(toBody request: HTTPRequest, _ mediaType: MediaType) throws(Refusal) -> HTTPResponse {
    let type = request.headers["Content-Type"]?.split(separator: ";").first
    guard type?.trimmed.lowercased() == "application/json" else {
      throw Refusal(status: 415, message: "the body of a request must be application/json")
    }
    guard let body = request.body, let json = try? JSONValue(json: body.bytes) else {
      throw Refusal(status: 400, message: "the body is not JSON")
    }
    guard case .array(let batch) = json else {
      return try respond(GraphQLExchange(json, server), mediaType, isGet: false)
    }
    guard (1...Self.batchLimit).contains(batch.count) else {
      throw Refusal(status: 400, message: "a batch has between 1 and \(Self.batchLimit) requests")
    }
    let results = try batch.map { (request) throws(Refusal) in
      try exchange(GraphQLExchange(request, server)).response(from: server).result
    }
    return response(200, mediaType, results)
  }

  private func respond(
    _ exchange: GraphQLExchange?, _ mediaType: MediaType, isGet: Bool
  ) throws(Refusal) -> HTTPResponse {
    let exchange = try self.exchange(exchange)
    if mediaType == .eventStream { return eventStream(exchange.events(from: server)) }
    if isGet, exchange.kind == .mutation {
      throw Refusal(status: 405, message: "mutations travel by POST", allow: "POST")
    }
    let response = exchange.response(from: server)
    let status =
      switch (mediaType, response.stage) {
      case (.json, _), (.eventStream, _): 200
      case (.graphQL, .parsing): 400
      case (.graphQL, .checking): 422
      // Data with errors.
      case (.graphQL, .execution): response.result.errors.isEmpty ? 200 : 294
      }
    return self.response(status, mediaType, response.result)
  }

  private func exchange(_ exchange: GraphQLExchange?) throws(Refusal) -> GraphQLExchange {
    guard let exchange else {
      throw Refusal(
        status: 400,
        message:
          "a request has the string \"query\", or the id of a document, and perhaps the string \"operationName\" and the object \"variables\""
      )
    }
    return exchange
  }

  /// The media type that the client prefers; of types that it likes equally, the newer one.
  private func negotiate(_ request: HTTPRequest) throws(Refusal) -> MediaType {
    guard let accept = request.headers["Accept"] else { return .json }
    var best: (type: MediaType, quality: Double)?
    for range in accept.split(separator: ",") {
      let parts = range.split(separator: ";").map { $0.trimmed.lowercased() }
      let quality = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
      let type: MediaType? =
        switch parts.first {
        case MediaType.graphQL.rawValue: .graphQL
        case MediaType.eventStream.rawValue: .eventStream
        case MediaType.json.rawValue, "application/*", "*/*": .json
        default: nil
        }
      guard let type, quality > 0 else { continue }
      if best.map({ quality > $0.quality || quality == $0.quality && type == .graphQL }) ?? true {
        best = (type, quality)
      }
    }
    guard let best else {
      throw Refusal(
        status: 406, message: "responses are application/graphql-response+json, application/json or text/event-stream")
    }
    return best.type
  }

  private func eventStream(_ results: [ExecutionResult]) -> HTTPResponse {
    let events = results.map { result in
      let json = (try? result.json()).map { String(decoding: $0, as: UTF8.self) }
      return "event: next\ndata: \(json ?? "{}")\n\n"
    }
    return HTTPResponse(
      status: 200, headers: ["Content-Type": "text/event-stream"],
      body: Data((events.joined() + "event: complete\ndata:\n\n").utf8))
  }

  private func response(
    _ status: Int, _ mediaType: MediaType, _ body: some JSONEncodable, allow: String? = nil
  ) -> HTTPResponse {
    var headers: HTTPHeaders =
      switch mediaType {
      case .graphQL: ["Content-Type": "application/graphql-response+json; charset=utf-8"]
      case .json: ["Content-Type": "application/json; charset=utf-8"]
      case .eventStream: ["Content-Type": "text/event-stream"]
      }
    if let allow { headers.append(HTTPField(received: "Allow", value: allow)) }
    do {
      return HTTPResponse(status: status, headers: headers, body: try body.json())
    } catch {
      // A resolver can return numbers that JSON does not have.
      let message = "{\"errors\":[{\"message\":\"the response cannot be written as JSON\"}]}"
      return HTTPResponse(status: 500, headers: headers, body: Data(message.utf8))
    }
  }
}

/// A GraphQL request.
struct GraphQLExchange {
  let query: String
  let operationName: String?
  let variables: [String: JSONValue]
  /// Why the document is not taken, if it is not.
  private var refusal: ExecutionError?

  /// How far a request came.
  enum Stage {
    case parsing, checking, execution
  }

  init(query: String, operationName: String?, variables: [String: JSONValue]) {
    self.query = query
    self.operationName = operationName
    self.variables = variables
  }

  /// The request in the body of a `POST`; `nil` if it is none.
  init?(_ json: JSONValue, _ server: TestServer) {
    switch json["query"] {
    case .string(let text)?: (query, refusal) = (text, server.refusal(of: text, hash: Self.hash(in: json)))
    case .null?, nil:
      guard let id = Self.id(in: json) else { return nil }
      let text = server.document(of: id)
      query = text ?? ""
      if text == nil {
        refusal = ExecutionError(
          message: "PersistedQueryNotFound", extensions: ["code": "PERSISTED_QUERY_NOT_FOUND"])
      }
    default: return nil
    }
    switch json["operationName"] {
    case .string(let name)?: operationName = name
    case .null?, nil: operationName = nil
    default: return nil
    }
    switch json["variables"] {
    case .object(let members)?: variables = members
    case .null?, nil: variables = [:]
    default: return nil
    }
  }

  /// The hash that stands beside a document, or for it (Apollo's automatic persisted queries).
  private static func hash(in json: JSONValue) -> String? {
    json["extensions"]?["persistedQuery"]?["sha256Hash"]?.stringValue
  }

  /// The id of a document in the place of its text, in the forms that servers take.
  private static func id(in json: JSONValue) -> String? {
    let id = ["documentId", "doc_id", "id"].lazy.compactMap { json[$0]?.stringValue }.first ?? hash(in: json)
    return id.map { $0.hasPrefix("sha256:") ? String($0.dropFirst(7)) : $0 }
  }

  /// The request in the address of a `GET`, where an empty parameter counts as absent; `nil` if it is none.
  init?(get request: HTTPRequest, _ server: TestServer) {
    var components = URLComponents(url: request.url, resolvingAgainstBaseURL: true)
    // As in a form, a plus sign stands for a space.
    let query = components?.percentEncodedQuery?.replacing("+", with: "%20")
    components?.percentEncodedQuery = query
    var members: [String: JSONValue] = [:]
    for item in components?.queryItems ?? [] {
      guard let value = item.value, !value.isEmpty else { continue }
      if item.name == "variables" || item.name == "extensions" {
        guard let json = try? JSONValue(json: value) else { return nil }
        members[item.name] = json
      } else {
        members[item.name] = .string(value)
      }
    }
    self.init(.object(members), server)
  }

  /// The kind of the operation, if there is one.
  var kind: OperationSyntax.Kind? {
    (try? DocumentSyntax(parsing: query)).flatMap { try? $0.operation(named: operationName).kind }
  }

  /// The responses as events: those of a subscription, or the only one.
  func events(from server: TestServer) -> [ExecutionResult] {
    guard refusal == nil, kind == .subscription, let document = try? DocumentSyntax(parsing: query),
      server.schema.validate(document).isEmpty
    else { return [response(from: server).result] }
    return server.events(of: document, operationName, variables)
  }

  func response(from server: TestServer) -> (result: ExecutionResult, stage: Stage) {
    if let refusal { return (ExecutionResult(data: nil, errors: [refusal]), .checking) }
    let document: DocumentSyntax
    do {
      document = try DocumentSyntax(parsing: query)
    } catch {
      let error = ExecutionError(message: error.message, locations: [error.location])
      return (ExecutionResult(data: nil, errors: [error]), .parsing)
    }
    let faults = server.schema.validate(document)
    guard faults.isEmpty else {
      let errors = faults.map { ExecutionError(message: $0.message, locations: $0.locations) }
      return (ExecutionResult(data: nil, errors: errors), .checking)
    }
    if (try? document.operation(named: operationName).kind) == .subscription {
      let error = ExecutionError(message: "subscriptions travel as text/event-stream")
      return (ExecutionResult(data: nil, errors: [error]), .checking)
    }
    let result = server.execute(document, operationName, variables)
    return (result, result.data == nil ? .checking : .execution)
  }
}
