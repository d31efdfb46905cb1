import HTTP
import JSON
import Platform

/// Multipart responses by Apollo's protocol for subscriptions over HTTP.
struct MultipartFormat: LiveStreamFormat {
  let accept = HTTPField(
    received: "Accept", value: "multipart/mixed;boundary=\"graphql\";subscriptionSpec=1.0,application/json")

  func reader(of head: HTTPResponseHead, after lastEventID: String?) -> (any LiveStreamReader)? {
    head.multipartBoundary.map { Reader(boundary: $0) }
  }

  struct Reader: LiveStreamReader {
    private var parser: MultipartParser

    init(boundary: String) {
      parser = MultipartParser(boundary: boundary, limit: liveMessageLimit, isWhole: { $0.isWholeJSONObject })
    }

    var lastEventID: String? { nil }

    mutating func read(_ piece: Data) throws(RequestError) -> [LiveLineEvent] {
      var events: [LiveLineEvent] = []
      for part in try parser.consume(piece) {
        guard let message = try message(of: part.body) else { continue }
        events.append(.message(message))
      }
      if parser.isComplete { events.append(.message(.complete(id: nil))) }
      return events
    }

    func finish() -> LiveLineEvent { .lost(.ended) }

    /// What a part says; `nil` for a heartbeat.
    private func message(of body: Data) throws(RequestError) -> LiveServerMessage? {
      let part: Part
      do { part = try Part(json: body.bytes) } catch {
        throw RequestError(.badResponse, "A part of the subscription's response cannot be read: \(error)")
      }
      if let errors = part.errors, part.payload == nil, !errors.isEmpty {
        let failure = LiveFailure(RequestError(graphQL: errors))
        return .failed(id: nil, failure)
      }
      guard part.hasPayload else { return nil }
      return part.payload.map { .result(Data($0.bytes)) } ?? .complete(id: nil)
    }
  }

  /// The members of a part: an execution result as `payload`, or errors that end the operation.
  private struct Part: JSONDecodable {
    var hasPayload = false
    var payload: RawJSON?
    var errors: [GraphQLError]?

    init(from json: inout JSONReader) throws(JSONError) {
      try json.beginObject()
      while try json.nextKey() {
        if json.key(is: "payload") {
          hasPayload = true
          payload = try json.readNull() ? nil : json.readRaw()
        } else if json.key(is: "errors") {
          errors = try json.readNull() ? nil : json.read(FirstErrors.self).errors
        } else {
          try json.skipValue()
        }
      }
    }
  }
}

extension RawSpan {
  /// Whether this is one complete JSON object. Looks at the last byte first, since most of what is not complete does not
  /// end with a brace.
  var isWholeJSONObject: Bool {
    guard withUnsafeBytes({ $0.last { $0 > 0x20 } }) == UInt8(ascii: "}") else { return false }
    return (try? RawJSON(json: self)) != nil
  }
}
