public import Streams
public import SystemBase

/// An event of an event stream (WHATWG HTML, section 9.2).
public struct ServerSentEvent: Hashable, Sendable {
  /// The event's type: `message` unless the server names another. In it and in the identifier, combining characters are
  /// replaced by U+FFFD where a server sends more than 30 of them in a row, which would take long to compare.
  public var type: String

  /// The data, its lines joined by line feeds; `nil` if the event has none. A browser drops events without data, but
  /// GraphQL over server-sent events ends with a `complete` that may have none.
  public var data: String?

  /// The identifier of the last event that had one, for `Last-Event-ID`; `nil` if none had.
  public var lastEventID: String?

  /// Makes an event.
  public init(type: String = "message", data: String?, lastEventID: String? = nil) {
    self.type = type
    self.data = data
    self.lastEventID = lastEventID
  }

  /// Data are compared byte by byte, which takes no longer than to read them.
  public static func == (left: ServerSentEvent, right: ServerSentEvent) -> Bool {
    left.type == right.type && left.lastEventID == right.lastEventID && left.data.hasBytes(of: right.data)
  }

  /// Hashes what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(type)
    hasher.combine(lastEventID)
    data?.hashBytes(into: &hasher)
  }
}

/// Reads an event stream piece by piece, split anywhere (WHATWG HTML, section 9.2.6). An event that the end of the
/// stream cuts off is dropped, as the specification says, and its identifier with it.
public struct EventStreamParser: Sendable {
  /// How long the server asks to wait before the next connection, by the field `retry`; `nil` if it does not.
  public private(set) var retryDelay: Duration?

  /// The identifier of the last event that had one. It counts from the blank line that ends its event, also if that has no
  /// data.
  public private(set) var lastEventID: String?

  /// Why the rest of the stream cannot be read, once that is known.
  public private(set) var failure: RequestError?

  private let limit: Int
  private var line: [UInt8] = []
  /// Whether a carriage return ended the last line, so that a line feed behind it belongs to it.
  private var isAfterReturn = false
  private var isAtStart = true
  private var type = ""
  private var data: [UInt8]?
  /// The identifier that the next blank line makes the last one.
  private var newEventID: String?

  /// Takes the greatest size of an event in bytes, 1 MiB by default.
  public init(limit: Int = 1 << 20) {
    self.limit = limit
  }

  /// Continues after an earlier stream, whose last event had this identifier.
  public init(limit: Int = 1 << 20, after lastEventID: String?) {
    self.init(limit: limit)
    (self.lastEventID, newEventID) = (lastEventID, lastEventID)
  }

  /// Takes the next piece, and returns the events that it completes.
  ///
  /// Throws `tooLarge` for an event over the limit. If the piece completes events before that, they are returned, the
  /// error is the ``failure``, and the next call throws it: so what is read does not depend on how the bytes are split.
  public mutating func consume(_ piece: Data) throws(RequestError) -> [ServerSentEvent] {
    if let failure { throw failure }
    var events: [ServerSentEvent] = []
    var rest = piece[...]
    while failure == nil, let end = rest.firstIndex(where: { $0 == .lineFeed || $0 == .carriageReturn }) {
      let isSecondHalf = isAfterReturn && rest[end] == .lineFeed && end == rest.startIndex && line.isEmpty
      isAfterReturn = rest[end] == .carriageReturn
      let last = rest[..<end]
      rest = rest[(end + 1)...]
      if isSecondHalf { continue }
      line += last
      checkSize()
      if failure == nil, let event = endLine() { events.append(event) }
    }
    if failure == nil {
      if !rest.isEmpty { isAfterReturn = false }
      line += rest
      checkSize()
    }
    if events.isEmpty, let failure { throw failure }
    return events
  }

  private mutating func checkSize() {
    guard line.count + (data?.count ?? 0) > limit else { return }
    failure = RequestError(.tooLarge, "An event of the stream is larger than \(limit) bytes.")
    (line, data) = ([], nil)
  }

  /// Reads a line; returns an event if the line, which is empty then, ends one.
  private mutating func endLine() -> ServerSentEvent? {
    if isAtStart {
      isAtStart = false
      // One byte order mark may stand first.
      if line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
    }
    defer { line.removeAll(keepingCapacity: true) }
    guard !line.isEmpty else { return endEvent() }
    let colon = line.firstIndex(of: .colon) ?? line.endIndex
    var value = line[colon...].dropFirst()
    if value.first == .space { value = value.dropFirst() }
    // No longer name is known. Swift compares long ones, of what a server may send, in quadratic time.
    guard colon <= 5 else { return nil }
    switch String(decoding: line[..<colon], as: UTF8.self) {
    case "event": type = String(decoding: value, as: UTF8.self).comparable
    case "data" where data == nil: data = Array(value)
    case "data":
      data?.append(.lineFeed)
      data?.append(contentsOf: value)
    case "id" where !value.contains(0): newEventID = String(decoding: value, as: UTF8.self).comparable
    case "retry" where !value.isEmpty && value.allSatisfy(\.isDigit):
      if let milliseconds = Int(String(decoding: value, as: UTF8.self)) { retryDelay = .milliseconds(milliseconds) }
    default: break  // a comment, which begins with a colon, or a field that is not known
    }
    return nil
  }

  private mutating func endEvent() -> ServerSentEvent? {
    defer { (type, data) = ("", nil) }
    lastEventID = newEventID
    guard data != nil || !type.isEmpty else { return nil }
    return ServerSentEvent(
      type: type.isEmpty ? "message" : type, data: data.map { String(decoding: $0, as: UTF8.self) },
      lastEventID: lastEventID)
  }
}

extension Observable where Element == HTTPResponsePart {
  /// The events of a response that is an event stream, each as soon as it is complete.
  ///
  ///     var request = try HTTPRequest(method: .get, url: url, headers: ["Accept": "text/event-stream"])
  ///     transport.send(request).events().subscribe(onNext: { event in … })
  ///
  /// Fails with `httpStatus` if the status is not a success, with `badResponse` if the response is no event stream, and
  /// with `tooLarge` for an event of more than `limit` bytes. An idle deadline restarts with each byte, comments
  /// included; the default total does not count.
  public func events(limit: Int = 1 << 20) -> Observable<ServerSentEvent> {
    transform(EventStreamParser(limit: limit)) { parser, part, emit in
      switch part {
      case .head(let head):
        try head.requireSuccess()
        guard head.mediaType == "text/event-stream" else {
          throw RequestError(
            .badResponse, "The response is no event stream, but '\(head.mediaType ?? "of no type")'.",
            status: head.status)
        }
      case .body(let piece):
        for event in try parser.consume(piece) { emit(event) }
        if let failure = parser.failure { throw failure }
      case .trailers: break
      }
    } finishing: { _, _ in
    }
  }
}
