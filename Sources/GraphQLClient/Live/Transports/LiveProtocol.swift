import HTTPClientCore
import StrictJSON
import SystemBase

/// A protocol for operations on a WebSocket, which says how messages are written.
enum LiveProtocol: Sendable {
  /// `graphql-transport-ws`, of the library graphql-ws: what servers speak today.
  case transport
  /// `graphql-ws`, of the library subscriptions-transport-ws: its predecessor.
  case legacy
  /// AWS AppSync's dialect of the latter; the dialect is `nil` until an attempt has its credentials.
  case appSync(AppSyncDialect?)

  /// The WebSocket subprotocol.
  var name: String { if case .transport = self { "graphql-transport-ws" } else { "graphql-ws" } }

  var traits: LiveTraits {
    switch self {
    case .transport: LiveTraits(acknowledges: true, pings: true)
    case .legacy: LiveTraits(acknowledges: true, pings: true, keepsAlive: true)
    case .appSync: LiveTraits(acknowledges: true, confirmsOperations: true)
    }
  }

  /// How many operations a connection may carry.
  var operationLimit: Int { if case .appSync = self { AppSyncDialect.operationLimit } else { .max } }

  /// The first message of a connection.
  func initMessage(_ payload: JSONValue?) -> String {
    var json = JSONWriter()
    json.beginObject()
    json.write("type", "connection_init")
    json.write("payload", ifPresent: payload)
    json.endObject()
    return text(json)
  }

  /// A message; `body` is the operation's, one JSON object. Throws `invalidRequest` for an operation that the protocol does
  /// not allow.
  func text(of message: LiveClientMessage, body: Data) throws(RequestError) -> String {
    switch (message, self) {
    case (.subscribe(let id, _), .appSync(let dialect?)): return try dialect.start(id, body)
    case (.subscribe(let id, _), _):
      let type = if case .transport = self { "subscribe" } else { "start" }
      // The body is JSON already; ids are digits.
      return "{\"id\":\"\(id)\",\"type\":\"\(type)\",\"payload\":\(String(decoding: body, as: UTF8.self))}"
    case (.complete(let id), .transport): return "{\"id\":\"\(id)\",\"type\":\"complete\"}"
    case (.complete(let id), _): return "{\"id\":\"\(id)\",\"type\":\"stop\"}"
    case (.ping, _): return "{\"type\":\"ping\"}"
    case (.pong(nil), _): return "{\"type\":\"pong\"}"
    case (.pong(let payload?), _):
      return "{\"type\":\"pong\",\"payload\":\(String(decoding: payload, as: UTF8.self))}"
    }
  }

  private func text(_ json: consuming JSONWriter) -> String {
    (try? json.finish()).map { String(decoding: $0, as: UTF8.self) } ?? "{\"type\":\"connection_init\"}"
  }

  /// Reads a message. Fails for what is not in the protocol.
  func message(_ text: String) throws(LiveFailure) -> LiveServerMessage {
    let message: Message
    do { message = try Message(json: text) } catch {
      throw .badMessage("The server sent a message that cannot be read: \(error)")
    }
    switch (message.type, self) {
    case ("connection_ack", .appSync):
      return .acknowledged(longestSilence: AppSyncDialect.longestSilence(in: message.payload))
    case ("connection_ack", _): return .acknowledged(longestSilence: nil)
    case ("start_ack", .appSync):
      guard let id = message.id else { break }
      return .confirmed(id: id)
    case ("next", .transport), ("data", .legacy), ("data", .appSync):
      guard let id = message.id, let payload = message.payload else { break }
      return .result(Data(payload.bytes), id: id)
    case ("error", _):
      let failure = LiveFailure(RequestError(graphQL: message.errors))
      if let id = message.id { return .failed(id: id, failure) }
      if case .appSync = self { throw failure }
    case ("complete", _):
      guard let id = message.id else { break }
      return .complete(id: id)
    case ("ping", .transport): return .ping(message.payload.map { Data($0.bytes) })
    case ("pong", .transport): return .pong(nil)
    case ("ka", _): return .keepAlive
    // Hasura sent it on the newer protocol, too, when a token had expired.
    case ("connection_error", _): throw refusal(message.errors)
    default: throw .badMessage("The server sent a message of the type '\(message.type)', which \(name) does not have.")
    }
    throw .badMessage("The server sent a message '\(message.type)' without what it needs.")
  }

  /// The server refuses the connection, mostly for its token. Without a code, that is as if it had closed with 4403.
  private func refusal(_ errors: [GraphQLError]) -> LiveFailure {
    let error = RequestError(graphQL: errors)
    let remedy = LiveFailure.remedy(of: errors)
    guard remedy == .none else { return LiveFailure(error, remedy) }
    return LiveFailure(closedWith: 4403, reason: errors.first?.message ?? "")
  }

  private struct Message: JSONDecodable {
    var type = ""
    var id: String?
    var payload: RawJSON?

    var errors: [GraphQLError] { payload.map { GraphQLError.all(in: $0.bytes.span.bytes) } ?? [] }

    init(from json: inout JSONReader) throws(JSONError) {
      try json.beginObject()
      while try json.nextKey() {
        if json.key(is: "type") {
          type = try json.readName()
        } else if json.key(is: "id") {
          id = try json.readNull() ? nil : json.nextKind() == .number ? json.readNumberText() : json.readName()
        } else if json.key(is: "payload") {
          payload = try json.readNull() ? nil : json.readRaw()
        } else {
          try json.skipValue()
        }
      }
    }
  }
}

extension GraphQLError {
  /// The errors of a payload: a list; in the older protocol, one; in AppSync's dialect, an object with a list.
  static func all(in json: RawSpan) -> [GraphQLError] {
    if let errors = AppSyncDialect.errors(in: json) { return errors }
    if let list = try? FirstErrors(json: json) { return list.errors }
    return (try? GraphQLError(json: json)).map { [$0] } ?? []
  }
}
