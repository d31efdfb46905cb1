import HTTPClientCore
import StrictJSON
import SystemBase

/// Multipart responses by Apollo's protocol for subscriptions over HTTP.
struct MultipartFormat: LiveStreamFormat {
  let accept = HTTPField(
    received: "Accept", value: "multipart/mixed;boundary=\"graphql\";subscriptionSpec=1.0,application/json")

  func reader(of head: HTTPResponseHead, after lastEventID: String?) -> (any LiveStreamReader)? {
    head.multipartBoundary.map { Reader(boundary: $0) }
  }

  /// A part has a result as its `payload`, or is one, as servers sent them before. What is neither, and no heartbeat, is an
  /// error rather than lost.
  struct Reader: LiveStreamReader {
    private var parser: MultipartParser

    init(boundary: String) {
      parser = MultipartParser(boundary: boundary, limit: liveMessageLimit, endsWithJSON: true)
    }

    mutating func read(_ piece: Data) -> [LiveChannelEvent] {
      var events: [LiveChannelEvent] = []
      do throws(RequestError) {
        for part in try parser.consume(piece) where !part.body.isEmpty {
          for message in try Self.messages(of: part.body) { events.append(.message(message)) }
        }
        if let failure = parser.failure { throw failure }
        if parser.isComplete { events.append(.message(.complete(id: nil))) }
      } catch {
        events.append(.lost(LiveFailure(error)))
      }
      return events
    }

    func finish() -> LiveChannelEvent { .lost(.ended) }

    /// What a part says; nothing for a heartbeat.
    private static func messages(of body: Data) throws(RequestError) -> [LiveServerMessage] {
      let part: Part
      do { part = try Part(json: body.bytes) } catch {
        throw RequestError(.badResponse, "A part of the subscription's response cannot be read: \(error)")
      }
      let payload: [LiveServerMessage] = part.payload.map { [.result(Data($0.bytes))] } ?? []
      if let errors = part.errors, !part.hasData, !errors.isEmpty {
        return payload + [.failed(id: nil, LiveFailure(RequestError(graphQL: errors)))]
      }
      if part.hasPayload { return payload.isEmpty ? [.complete(id: nil)] : payload }
      let result: [LiveServerMessage] = part.hasData ? [.result(body)] : []
      if part.hasNext == false { return result + [.complete(id: nil)] }
      guard result.isEmpty, part.hasOther else { return result }
      throw RequestError(.badResponse, "A part of the subscription's response is no result, and no heartbeat.")
    }
  }

  /// The members of a part: an execution result as `payload`, or errors that end the operation; in older servers, the
  /// members of the result, with `hasNext`.
  private struct Part: JSONDecodable {
    var hasPayload = false
    var payload: RawJSON?
    var errors: [GraphQLError]?
    var hasData = false
    var hasNext: Bool?
    var hasOther = false

    init(from json: inout JSONReader) throws(JSONError) {
      try json.beginObject()
      while try json.nextKey() {
        if json.key(is: "payload") {
          hasPayload = true
          payload = try json.readNull() ? nil : json.readRaw()
        } else if json.key(is: "errors") {
          errors = try json.readNull() ? nil : json.read(FirstErrors.self).errors
        } else if json.key(is: "hasNext") {
          hasNext = try json.read()
        } else {
          if json.key(is: "data") { hasData = true } else { hasOther = true }
          try json.skipValue()
        }
      }
    }
  }
}
