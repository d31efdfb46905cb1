import HTTPClientCore
import StrictJSON
import SystemBase

/// A protocol for operations on a WebSocket: what it can do, and how its messages are written and read.
protocol LiveProtocol: Sendable {
  /// The WebSocket subprotocol.
  var name: String { get }

  var traits: LiveTraits { get }

  /// How many operations a connection may carry.
  var operationLimit: Int { get }

  /// Whether pings are frames of the WebSocket, since there are no messages for them.
  var pingsByFrames: Bool { get }

  /// Changes what an attempt sends, before the client's user does.
  func begin(_ opening: inout WebSocketLiveTransport.Opening) throws(RequestError)

  /// The protocol of one attempt, with the credentials that it needs in its messages. `host` is that of the API.
  func prepared(_ opening: inout WebSocketLiveTransport.Opening, host: String) throws(RequestError) -> Self

  /// The message that begins an operation; `body` is the operation's, one JSON object. Throws `invalidRequest` for one
  /// that the protocol does not allow.
  func start(_ id: String, _ body: Data) throws(RequestError) -> String

  /// The message that ends an operation.
  func stop(_ id: String) -> String

  /// What a message means that not all protocols have, or that they understand differently; `nil` for others.
  func ownMeaning(of message: LiveMessage) throws(LiveFailure) -> LiveServerMessage?
}

extension LiveProtocol {
  var operationLimit: Int { .max }
  var pingsByFrames: Bool { false }
  func begin(_ opening: inout WebSocketLiveTransport.Opening) throws(RequestError) {}
  func prepared(_ opening: inout WebSocketLiveTransport.Opening, host: String) throws(RequestError) -> Self { self }

  /// The first message of a connection. Throws `invalidRequest` for a payload that is not JSON.
  func initMessage(_ payload: JSONValue?) throws(RequestError) -> String {
    guard let payload else { return "{\"type\":\"connection_init\"}" }
    return "{\"type\":\"connection_init\",\"payload\":\(try RawJSON.encoding(payload))}"
  }

  /// A message; `body` is the operation's, one JSON object. Throws `invalidRequest` for an operation that the protocol does
  /// not allow.
  func text(of message: LiveClientMessage, body: Data) throws(RequestError) -> String {
    switch message {
    case .subscribe(let id, _): try start(id, body)
    case .complete(let id): stop(id)
    case .ping: "{\"type\":\"ping\"}"
    case .pong(nil): "{\"type\":\"pong\"}"
    case .pong(let payload?): "{\"type\":\"pong\",\"payload\":\(String(decoding: payload, as: UTF8.self))}"
    }
  }

  /// The message that begins an operation, by its type. The body is JSON already; ids are digits.
  func message(_ type: String, _ id: String, _ body: Data) -> String {
    "{\"id\":\"\(id)\",\"type\":\"\(type)\",\"payload\":\(String(decoding: body, as: UTF8.self))}"
  }

  /// Reads a message. Fails for what is not in the protocol.
  func message(_ text: String) throws(LiveFailure) -> LiveServerMessage {
    let message: LiveMessage
    do { message = try LiveMessage(json: text) } catch {
      throw .badMessage("The server sent a message that cannot be read: \(error)")
    }
    if let own = try ownMeaning(of: message) { return own }
    switch message.type {
    case "connection_ack": return .acknowledged(longestSilence: nil)
    case "error": return .failed(id: try message.id(), LiveFailure(RequestError(graphQL: message.errors)))
    case "complete": return .complete(id: try message.id())
    case "ka": return .keepAlive
    // Hasura sent it on the newer protocol, too, when a token had expired.
    case "connection_error": throw message.refusal
    default: throw .badMessage("The server sent a message of the type '\(message.type)', which \(name) does not have.")
    }
  }
}

/// `graphql-transport-ws`, of the library graphql-ws: what servers speak today.
struct TransportProtocol: LiveProtocol {
  let name = "graphql-transport-ws"
  let traits = LiveTraits(acknowledges: true, pings: true)

  func start(_ id: String, _ body: Data) -> String { message("subscribe", id, body) }
  func stop(_ id: String) -> String { "{\"id\":\"\(id)\",\"type\":\"complete\"}" }

  func ownMeaning(of message: LiveMessage) throws(LiveFailure) -> LiveServerMessage? {
    switch message.type {
    case "next": try message.result()
    case "ping": .ping(message.payload.map { Data($0.bytes) })
    case "pong": .pong(nil)
    default: nil
    }
  }
}

/// `graphql-ws`, of the library subscriptions-transport-ws: its predecessor.
struct LegacyProtocol: LiveProtocol {
  let name = "graphql-ws"
  let traits = LiveTraits(acknowledges: true, pings: true, keepsAlive: true)
  let pingsByFrames = true

  func start(_ id: String, _ body: Data) -> String { message("start", id, body) }
  func stop(_ id: String) -> String { "{\"id\":\"\(id)\",\"type\":\"stop\"}" }

  func ownMeaning(of message: LiveMessage) throws(LiveFailure) -> LiveServerMessage? {
    message.type == "data" ? try message.result() : nil
  }
}

extension RawJSON {
  /// A value for a message. Throws `invalidRequest` for one that is not JSON, such as an infinite number.
  static func encoding(_ value: JSONValue) throws(RequestError) -> RawJSON {
    do { return try RawJSON(value) } catch {
      throw RequestError(.invalidRequest, "The message cannot be written: \(error)")
    }
  }
}

/// A message of a server.
struct LiveMessage: JSONDecodable {
  private(set) var type = ""
  private(set) var payload: RawJSON?
  private var givenID: String?

  init(from json: inout JSONReader) throws(JSONError) {
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "type") {
        type = try json.readName()
      } else if json.key(is: "id") {
        givenID = try json.readNull() ? nil : json.nextKind() == .number ? json.readNumberText() : json.readName()
      } else if json.key(is: "payload") {
        payload = try json.readNull() ? nil : json.readRaw()
      } else {
        try json.skipValue()
      }
    }
  }

  var hasID: Bool { givenID != nil }

  /// The operation that it is about.
  func id() throws(LiveFailure) -> String {
    guard let givenID else { throw isIncomplete }
    return givenID
  }

  /// The result that it brings.
  func result() throws(LiveFailure) -> LiveServerMessage {
    guard let payload else { throw isIncomplete }
    return .result(Data(payload.bytes), id: try id())
  }

  private var isIncomplete: LiveFailure {
    .badMessage("The server sent a message '\(type)' without what it needs.")
  }

  /// The errors that are its payload.
  var errors: [GraphQLError] { payload.map { GraphQLError.all(in: $0.bytes.span.bytes) } ?? [] }

  /// The server refuses the connection, mostly for its token. Without a code, that is as if it had closed with 4403.
  fileprivate var refusal: LiveFailure {
    let remedy = LiveFailure.remedy(of: errors)
    guard remedy == .none else { return LiveFailure(RequestError(graphQL: errors), remedy) }
    return LiveFailure(closedWith: 4403, reason: errors.first?.message ?? "")
  }
}

extension GraphQLError {
  /// The errors of a payload: a list; in the older protocol, one; in AppSync's dialect, an object with a list.
  static func all(in json: RawSpan) -> [GraphQLError] {
    if let errors = (try? ListedErrors(json: json))?.errors { return errors }
    if let list = try? FirstErrors(json: json) { return list.errors }
    return (try? GraphQLError(json: json)).map { [$0] } ?? []
  }

  private struct ListedErrors: JSONDecodable {
    var errors: [GraphQLError]?

    init(from json: inout JSONReader) throws(JSONError) {
      try json.beginObject()
      while try json.nextKey() {
        if json.key(is: "errors") { errors = try json.read(FirstErrors.self).errors } else { try json.skipValue() }
      }
    }
  }
}
