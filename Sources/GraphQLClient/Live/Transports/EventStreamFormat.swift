import HTTPClientCore
import StrictJSON
import SystemBase

/// Event streams by the protocol `graphql-sse`, distinct connections mode, and as servers sent them before it.
struct EventStreamFormat: LiveStreamFormat {
  let accept = HTTPField(received: "Accept", value: "text/event-stream")

  func reader(of head: HTTPResponseHead, after lastEventID: String?) -> (any LiveStreamReader)? {
    head.mediaType == "text/event-stream" && head.status != 204 ? Reader(after: lastEventID) : nil
  }

  /// An event `next` carries a result, and `complete` ends the operation. Other servers send results without a name, and
  /// errors as `error`. What is none of these, and no sign of life either, is an error rather than lost.
  struct Reader: LiveStreamReader {
    private var parser: EventStreamParser
    private var position: String?
    private var pause: Duration?

    init(after lastEventID: String? = nil) {
      parser = EventStreamParser(limit: liveMessageLimit, after: lastEventID)
      position = lastEventID
    }

    mutating func read(_ piece: Data) -> [LiveChannelEvent] {
      var events: [LiveChannelEvent] = []
      do throws(RequestError) {
        for event in try parser.consume(piece) {
          if let message = try Self.message(event) { events.append(.message(message)) }
          if let position = move(to: event.lastEventID) { events.append(position) }
        }
        // What has neither a name nor data may have an identifier.
        if let position = move(to: parser.lastEventID) { events.append(position) }
        if let failure = parser.failure { throw failure }
      } catch {
        events.append(.lost(LiveFailure(error)))
      }
      if let delay = parser.retryDelay, delay != pause {
        pause = delay
        events.insert(.pause(delay), at: 0)
      }
      return events
    }

    func finish() -> LiveChannelEvent { .lost(.ended) }

    private mutating func move(to id: String?) -> LiveChannelEvent? {
      guard let id, id != position else { return nil }
      position = id
      return .position(id)
    }

    /// What an event says; `nil` for a sign of life.
    private static func message(_ event: ServerSentEvent) throws(RequestError) -> LiveServerMessage? {
      switch event.content {
      case .complete: return .complete(id: nil)
      case .errors(let errors): return .failed(id: nil, LiveFailure(RequestError(graphQL: errors)))
      case .nothing: return nil
      case .payload(let text):
        if event.type == "next" { return .result(text) }
        let shape = (try? ResultShape(json: text.bytes)) ?? ResultShape()
        if shape.isResult { return .result(text) }
        if shape.isEmpty { return nil }
        throw RequestError(
          .badResponse, "The server sent an event '\(event.type)', which is no result of the subscription.")
      }
    }
  }
}

extension ServerSentEvent {
  enum Content {
    case payload(Data)
    case errors([GraphQLError])
    case complete
    /// A sign of life, or an event without data, which the standard drops.
    case nothing
  }

  /// What it says by `graphql-sse`, and as servers sent events before that: without a name, or with errors as `error`.
  var content: Content {
    if type == "complete" { return .complete }
    guard let data, type == "next" || !data.isEmpty && !Self.signsOfLife.contains(type) else { return .nothing }
    let text = Data(data.utf8)
    return type == "error" ? .errors(GraphQLError.all(in: text.bytes)) : .payload(text)
  }

  /// What servers call the events by which they keep a connection alive, where they send no comments.
  private static let signsOfLife: Set<String> = ["ping", "heartbeat", "keepalive", "keep-alive"]
}

/// Whether a JSON object is an execution result.
struct ResultShape: JSONDecodable {
  private(set) var isEmpty = false
  private(set) var hasData = false
  private(set) var hasErrors = false

  var isResult: Bool { hasData || hasErrors }

  /// The shape of what is no object.
  init() {}

  init(from json: inout JSONReader) throws(JSONError) {
    isEmpty = true
    try json.beginObject()
    while try json.nextKey() {
      isEmpty = false
      if json.key(is: "data") { hasData = true }
      if json.key(is: "errors") { hasErrors = true }
      try json.skipValue()
    }
  }
}

/// The largest message of a subscription, in bytes.
let liveMessageLimit = 16 << 20
