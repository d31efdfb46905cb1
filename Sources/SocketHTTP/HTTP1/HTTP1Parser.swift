import HTTPClientCore
import SystemBase

/// Parses one response (RFC 9112), byte by byte if need be: a state machine that knows nothing about sockets.
///
///     head ──► (interim: head again) ──► body ──► end
///
/// Pass it bytes as they arrive; it appends the parts that are complete, at most one piece of the body per call.
struct HTTP1Parser {
  /// What was requested, as far as it affects the response.
  enum Request {
    case head, connect, upgrade, other
  }

  private enum State {
    case head
    case length(Int)
    case chunked(ChunkedDecoder)
    case untilClose
    case end
    /// After an error in a chunked body; also while the decoder is at work, so that it is not copied.
    case broken
  }

  private let request: Request
  private let limits: MessageLimits
  private var state = State.head
  private var head = LineBuffer()
  private var interimResponses = 0
  private var isPersistent = false
  /// The minor version of the protocol, as the head says.
  private(set) var minorVersion = 1
  /// The bytes of empty lines before the head, and whether the last one was a CR.
  private var emptyLines = (count: 0, hasReturn: false)

  /// Whether the response says that the request was carried out, or is being.
  private(set) var isSuccess = false

  /// Interim responses that have not been taken yet; only if they are wanted.
  private(set) var interim: [HTTPResponseHead] = []
  private let keepsInterim: Bool

  /// How long the server keeps the connection, in seconds (`Keep-Alive: timeout`), if it says so.
  private(set) var keepAliveTimeout: Int?

  init(
    answering request: Request = .other, keepsInterim: Bool = false, limits: MessageLimits = MessageLimits()
  ) {
    self.request = request
    self.keepsInterim = keepsInterim
    self.limits = limits
  }

  /// Takes the interim responses that have come.
  mutating func takeInterim() -> [HTTPResponseHead] { interim.isEmpty ? [] : exchange(&interim, with: []) }

  /// Whether the whole response has been read.
  var isComplete: Bool {
    if case .end = state { true } else { false }
  }

  /// Whether another request may follow on this connection.
  var allowsReuse: Bool { isComplete && isPersistent }

  /// Reads the next bytes, and returns how many were consumed: all of them unless the response is complete.
  mutating func consume(
    _ input: UnsafeRawBufferPointer, into parts: inout [HTTPResponsePart]
  ) throws(RequestError) -> Int {
    var position = 0
    while position < input.count, !isComplete {
      let rest = UnsafeRawBufferPointer(rebasing: input[position...])
      switch state {
      case .head:
        if head.isEmpty, try skipEmptyLine(rest[0]) {
          position += 1
          continue
        }
        position += try consumeHead(rest, into: &parts)
      case .length(let remaining):
        let count = min(remaining, rest.count)
        parts.append(.body(Data(UnsafeRawBufferPointer(rebasing: rest[..<count]))))
        state = count == remaining ? .end : .length(remaining - count)
        position += count
      case .chunked(var decoder):
        var body = Data()
        state = .broken
        position += try decoder.consume(rest, into: &body)
        if !body.isEmpty { parts.append(.body(body)) }
        if !decoder.trailers.isEmpty { parts.append(.trailers(decoder.trailers)) }
        state = decoder.isComplete ? .end : .chunked(decoder)
      case .untilClose:
        parts.append(.body(Data(rest)))
        position = input.count
      case .end, .broken:
        return position
      }
    }
    return position
  }

  /// Records that the server has closed the connection; throws if that cuts the response off.
  mutating func finish() throws(RequestError) {
    switch state {
    case .head where head.isEmpty && interimResponses == 0: throw .cut("before it responded")
    case .head: throw .cut("in the middle of the response's head")
    case .length(let remaining): throw .cut("\(remaining) bytes before the end of the response")
    case .chunked: throw .cut("before the last chunk of the response")
    case .untilClose, .end: state = .end
    case .broken: throw .notHTTP("it broke off")
    }
  }

  /// Skips a byte of an empty line before the status line; there may be two such lines. Some servers send one after a
  /// body, and RFC 9112, section 2.2, has servers ignore those that clients send.
  private mutating func skipEmptyLine(_ byte: UInt8) throws(RequestError) -> Bool {
    switch byte {
    case .carriageReturn where !emptyLines.hasReturn && emptyLines.count < 4: emptyLines.hasReturn = true
    case .lineFeed where emptyLines.count < 4: emptyLines.hasReturn = false
    case _ where emptyLines.hasReturn: throw .notHTTP("a line holds a control character, such as a bare CR or NUL")
    default: return false
    }
    emptyLines.count += 1
    return true
  }

  private mutating func consumeHead(
    _ input: UnsafeRawBufferPointer, into parts: inout [HTTPResponsePart]
  ) throws(RequestError) -> Int {
    // Most heads arrive in one piece, and are read in place.
    if head.isEmpty {
      guard StatusLine.mayBegin(with: input) else { throw .notHTTP("it does not begin with 'HTTP/1.'") }
      if let end = input.endOfLines(from: 0) {
        try checkHead(end)
        try parseHead(UnsafeRawBufferPointer(rebasing: input[..<end]), into: &parts)
        return end
      }
    }
    let (count, isWhole) = head.append(input)
    guard head.bytes.withBytes({ StatusLine.mayBegin(with: $0) }) else {
      throw .notHTTP("it does not begin with 'HTTP/1.'")
    }
    try checkHead(head.bytes.count)
    if isWhole {
      let lines = head
      head = LineBuffer()
      try lines.bytes.withBytes { bytes throws(RequestError) in try parseHead(bytes, into: &parts) }
    }
    return count
  }

  private func checkHead(_ count: Int) throws(RequestError) {
    guard count <= limits.head else {
      throw RequestError(.tooLarge, "The head of the response is larger than \(limits.head) bytes.")
    }
  }

  private mutating func parseHead(
    _ bytes: UnsafeRawBufferPointer, into parts: inout [HTTPResponsePart]
  ) throws(RequestError) {
    var parser = FieldParser(bytes)
    let line = try StatusLine(parser.nextLine())
    let headers = HTTPHeaders(try parser.fields(upTo: limits.fields))
    // What follows belongs to the tunnel, or the other protocol, whatever the head says about a body (RFC 9110, sections
    // 9.3.6 and 15.2.2).
    if request == .connect && 200...299 ~= line.status || request == .upgrade && line.status == 101 {
      parts.append(.head(HTTPResponseHead(status: line.status, headers: headers)))
      recordPersistence(headers, minorVersion: line.minorVersion)
      state = .end
      return
    }
    let framing = try BodyFraming(
      of: headers, status: line.status, minorVersion: line.minorVersion, isHead: request == .head)
    guard line.status >= 200 else {
      if keepsInterim { interim.append(HTTPResponseHead(status: line.status, headers: headers)) }
      return try skipInterim(line.status)
    }
    isSuccess = line.status < 300
    parts.reserveCapacity(2)
    parts.append(.head(HTTPResponseHead(status: line.status, headers: headers)))
    recordPersistence(headers, minorVersion: line.minorVersion)
    switch framing {
    case .none: state = .end
    case .length(let length): state = .length(length)
    case .chunked: state = .chunked(ChunkedDecoder(limits: limits))
    case .untilClose: state = .untilClose
    }
    if framing == .untilClose { isPersistent = false }
  }

  private mutating func skipInterim(_ status: Int) throws(RequestError) {
    guard status != 101 else { throw .notHTTP("it switches protocols, which was not requested") }
    interimResponses += 1
    guard interimResponses <= limits.interimResponses else {
      throw .notHTTP("more than \(limits.interimResponses) interim responses came")
    }
  }

  /// RFC 9112, section 9.3.
  private mutating func recordPersistence(_ headers: HTTPHeaders, minorVersion: Int) {
    self.minorVersion = minorVersion
    isPersistent = minorVersion > 0
    if let connection = headers["Connection"] {
      let options = connection.listElements
      isPersistent = !options.contains("close") && (isPersistent || options.contains("keep-alive"))
    }
    guard let keepAlive = headers["Keep-Alive"] else { return }
    keepAliveTimeout =
      keepAlive.listElements.lazy.compactMap { $0.hasPrefix("timeout=") ? UInt32($0.dropFirst(8)).map(Int.init) : nil }
      .first
  }
}

/// The first line of a response (RFC 9112, section 4).
struct StatusLine: Equatable {
  var minorVersion: Int
  var status: Int

  private static let start = Array("HTTP/1.".utf8)

  /// Parses a line without its line ending. The reason phrase is ignored, and may be missing along with the space
  /// before it.
  init(_ line: UnsafeRawBufferPointer) throws(RequestError) {
    guard line.count >= 12, line.starts(with: Self.start), line[7].isDigit, line[8] == .space,
      line[9].isDigit, line[10].isDigit, line[11].isDigit, line.count == 12 || line[12] == .space
    else { throw .notHTTP("the first line is not a status line of HTTP/1") }
    minorVersion = Int(line[7] - 0x30)
    status = line[9...11].reduce(0) { $0 * 10 + Int($1 - 0x30) }
    // RFC 9110, section 15: a status above 599 is to be treated as a server error, so it is passed on.
    guard status >= 100 else { throw .notHTTP("the status \(status) does not exist") }
  }

  /// Whether these bytes may be the start of a status line.
  static func mayBegin(with bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.prefix(start.count).elementsEqual(start.prefix(bytes.count))
  }
}

/// Limits on what a server sends; beyond them, the response is refused.
struct MessageLimits: Sendable {
  /// Bytes in a head, and in the trailers after a chunked body.
  var head = 64 << 10

  /// Fields in a head, and in the trailers.
  var fields = 256

  /// Interim responses (1xx) before the final one.
  var interimResponses = 100

  /// Bytes in the line before a chunk.
  var chunkLine = 4 << 10

  /// Bytes that frame chunks, beyond 16 for each byte of the body: otherwise a server could send them without end.
  var chunkOverhead = 64 << 10
}

extension RequestError {
  /// The response is not HTTP, or is ambiguous.
  static func notHTTP(_ what: String) -> RequestError {
    RequestError(.badResponse, "The response is not valid HTTP/1.1: \(what).")
  }

  /// The connection ended before the response was complete.
  static func cut(_ place: String) -> RequestError {
    RequestError(.connectionLost, "The server closed the connection \(place).")
  }
}
