import HTTP
import Platform

/// Event streams by the protocol `graphql-sse`, distinct connections mode.
struct EventStreamFormat: LiveStreamFormat {
  let accept = HTTPField(received: "Accept", value: "text/event-stream")

  func reader(of head: HTTPResponseHead, after lastEventID: String?) -> (any LiveStreamReader)? {
    head.mediaType == "text/event-stream" && head.status != 204 ? Reader(after: lastEventID) : nil
  }

  /// An event `next` carries a result, and `complete` ends the operation; other events are none of the protocol's.
  struct Reader: LiveStreamReader {
    private var parser: EventStreamParser
    private var pause: Duration?

    init(after lastEventID: String? = nil) {
      parser = EventStreamParser(limit: liveMessageLimit, after: lastEventID)
    }

    var lastEventID: String? { parser.lastEventID }

    mutating func read(_ piece: Data) throws(RequestError) -> [LiveLineEvent] {
      var events: [LiveLineEvent] = []
      for event in try parser.consume(piece) {
        switch event.type {
        case "next": events.append(.message(.result(Data((event.data ?? "").utf8))))
        case "complete": events.append(.message(.complete(id: nil)))
        default: continue
        }
      }
      if let delay = parser.retryDelay, delay != pause {
        pause = delay
        events.append(.pause(delay))
      }
      return events
    }

    func finish() -> LiveLineEvent { .lost(.ended) }
  }
}

/// The largest message of a subscription, in bytes.
let liveMessageLimit = 16 << 20
