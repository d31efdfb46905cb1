public import Streams
public import SystemBase

/// A part of a multipart response (RFC 2046, section 5.1).
public struct MultipartPart: Hashable, Sendable {
  /// The part's header fields.
  public var headers: HTTPHeaders

  /// The part's body.
  public var body: Data

  /// Makes a part.
  public init(headers: HTTPHeaders = [:], body: Data) {
    self.headers = headers
    self.body = body
  }
}

extension MultipartPart: CustomStringConvertible {
  /// The fields, with values redacted that may be secret, and the size of the body.
  public var description: String { "\(headers)\n\n\(body.count) bytes" }
}

/// Reads a multipart body piece by piece, split anywhere (RFC 2046, section 5.1.1), in time that grows with its size.
///
/// It is as tolerant as GraphQL servers need: lines may end with a line feed alone, the first delimiter may be missing,
/// and empty parts are left out, as are a preamble and an epilogue.
public struct MultipartParser: Sendable {
  /// Whether the last delimiter has come. Without it, the end of the body is a cut.
  public private(set) var isComplete = false

  /// Why the rest of the body cannot be read, once that is known.
  public private(set) var failure: RequestError?

  private enum Section {
    case preamble, headers, body
  }

  /// Whether a line is a delimiter, which then ends before a place in the buffer.
  private enum Match {
    case found(end: Int, isLast: Bool)
    case none
    case undecided
  }

  private let delimiter: [UInt8]
  private let limit: Int
  private let endsWithJSON: Bool
  private var section = Section.preamble
  /// What has come; before `start`, it is consumed already. `start` is the start of a line, and the body's in the body.
  private var buffer: [UInt8] = []
  private var start = 0
  /// The start of the first line that may be a delimiter.
  private var line = 0
  /// The place before which that line does not end: what has come is looked at once.
  private var scanned = 0
  private var headers: HTTPHeaders = [:]
  /// How many bytes the header fields have.
  private var headerSize = 0
  /// What of the body's JSON has been looked at.
  private var json = JSONObjectScanner()
  private var jsonEnd = 0
  /// Whether the part has been passed on before its delimiter came.
  private var isPassedOn = false
  /// How many bytes were looked at, for tests.
  private(set) var steps = 0

  /// How many blanks may stand behind a delimiter.
  private static let paddingLimit = 256

  /// - Parameters:
  ///   - boundary: What separates the parts, without the dashes before it.
  ///   - limit: The greatest size of a part in bytes, with its header fields, 1 MiB by default.
  ///   - endsWithJSON: Whether a body that is a JSON object is whole with its last brace, although its delimiter has not
  ///     come: some servers send that only with the next part.
  public init(boundary: String, limit: Int = 1 << 20, endsWithJSON: Bool = false) {
    delimiter = Array("--\(boundary)".utf8)
    self.limit = limit
    self.endsWithJSON = endsWithJSON
  }

  /// Takes the next piece, and returns the parts that it completes.
  ///
  /// Throws `tooLarge` for a part over the limit. If the piece completes parts before that, they are returned, the error
  /// is the ``failure``, and the next call throws it: so what is read does not depend on how the bytes are split.
  public mutating func consume(_ piece: Data) throws(RequestError) -> [MultipartPart] {
    if let failure { throw failure }
    guard !isComplete else { return [] }
    buffer += piece
    var parts: [MultipartPart] = []
    while !isComplete, failure == nil, consumeStep(&parts) {}
    if !isComplete, failure == nil { checkUnfinished(&parts) }
    discardConsumed()
    if parts.isEmpty, let failure { throw failure }
    return parts
  }

  /// Consumes a line or a body; returns false if more bytes are needed for it.
  private mutating func consumeStep(_ parts: inout [MultipartPart]) -> Bool {
    if section == .body { return consumeBody(&parts) }
    switch match() {
    case .found(let end, let isLast): begin(at: end, isLast: isLast)
    case .undecided: return false
    case .none:
      guard let end = lineEnd() else { return false }
      var line = buffer[start..<end]
      if line.last == .carriageReturn { line.removeLast() }
      guard isWithinLimit(line.count) else { return false }
      // Where the first delimiter is missing, the first part begins with its fields.
      if section == .preamble, Self.isContentField(line) { section = .headers }
      if section == .headers {
        if let field = Self.field(line) { headers.append(field) }
        headerSize += line.count
        if line.isEmpty { section = .body }
      }
      moveOn(to: end + 1)
    }
    return true
  }

  private mutating func consumeBody(_ parts: inout [MultipartPart]) -> Bool {
    while true {
      switch match() {
      case .found(let end, let isLast):
        let body = body(before: line)
        guard isWithinLimit(body.count) else { return false }
        if !isPassedOn, !(headers.isEmpty && body.isEmpty) {
          parts.append(MultipartPart(headers: headers, body: Data(body)))
        }
        begin(at: end, isLast: isLast)
        return true
      case .undecided: return false
      case .none:
        guard let end = lineEnd() else { return false }
        (line, scanned) = (end + 1, end + 1)
      }
    }
  }

  /// Looks at what has come of a line or a body: whether it is too large, or a body that is whole without its delimiter.
  private mutating func checkUnfinished(_ parts: inout [MultipartPart]) {
    guard section == .body else {
      _ = isWithinLimit(buffer.count - start)
      return
    }
    // Some servers send the end of a delimiter's line with the next part.
    let end = if case .undecided = match() { line } else { buffer.count }
    let body = body(before: end)
    guard isWithinLimit(body.count), endsWithJSON, !isPassedOn else { return }
    steps += end - max(jsonEnd, start)
    json.consume(buffer[max(jsonEnd, start)..<end])
    jsonEnd = end
    guard json.isWhole else { return }
    parts.append(MultipartPart(headers: headers, body: Data(body)))
    isPassedOn = true
  }

  private mutating func isWithinLimit(_ count: Int) -> Bool {
    if headerSize + count <= limit { return true }
    failure = RequestError(.tooLarge, "A part of the response is larger than \(limit) bytes.")
    return false
  }

  /// The body before a delimiter, to which the line's end before it belongs.
  private func body(before delimiter: Int) -> ArraySlice<UInt8> {
    var body = buffer[start..<delimiter]
    if body.last == .lineFeed { body.removeLast() }
    if body.last == .carriageReturn { body.removeLast() }
    return body
  }

  private mutating func begin(at place: Int, isLast: Bool) {
    moveOn(to: place)
    (section, headers, headerSize, isPassedOn, isComplete) = (.headers, [:], 0, false, isLast)
    json = JSONObjectScanner()
  }

  private mutating func moveOn(to place: Int) { (start, line, scanned) = (place, place, place) }

  /// Once for each piece: to move what is left after each line would take quadratic time.
  private mutating func discardConsumed() {
    if isComplete || failure != nil { return buffer = [] }
    buffer.removeFirst(start)
    line -= start
    scanned -= start
    jsonEnd = max(jsonEnd - start, 0)
    start = 0
  }

  /// The end of the line that begins at `line`, if that has come.
  private mutating func lineEnd() -> Int? {
    let end = buffer[scanned...].firstIndex(of: .lineFeed)
    steps += (end ?? buffer.count) - scanned
    scanned = end ?? buffer.count
    return end
  }

  /// Whether the line that begins at `line` is a delimiter: the boundary's text may stand elsewhere in a body.
  private mutating func match() -> Match {
    let match = buffer[line...].prefix(delimiter.count)
    steps += 1
    guard delimiter.starts(with: match) else { return .none }
    if match.count < delimiter.count { return .undecided }
    // The delimiter, blanks, and the end of the line; or two more dashes.
    var end = line + match.count
    if buffer[end...].starts(with: [.dash, .dash]) { return .found(end: end + 2, isLast: true) }
    if buffer[end...].elementsEqual([.dash]) { return .undecided }
    let last = min(buffer.count, end + Self.paddingLimit + 1)
    while end < last, buffer[end] == .space || buffer[end] == .tab || buffer[end] == .carriageReturn { end += 1 }
    steps += end - line - match.count
    guard end - line - match.count <= Self.paddingLimit else { return .none }
    if end == buffer.count { return .undecided }
    return buffer[end] == .lineFeed ? .found(end: end + 1, isLast: false) : .none
  }

  /// Whether a line is a field with which a part begins, where its delimiter is missing.
  private static func isContentField(_ line: ArraySlice<UInt8>) -> Bool {
    // By bytes: as texts, Swift compares what a server may send in quadratic time.
    isField(line) && line.prefix(8).elementsEqual("content-".utf8) { $0 | 0x20 == $1 }
  }

  private static func isField(_ line: ArraySlice<UInt8>) -> Bool {
    let name = line.prefix(while: \.isTokenByte)
    return !name.isEmpty && line.dropFirst(name.count).first == .colon
  }

  private static func field(_ line: ArraySlice<UInt8>) -> HTTPField? {
    guard isField(line), let colon = line.firstIndex(of: .colon) else { return nil }
    let value = String(String(decoding: line[(colon + 1)...], as: UTF8.self).comparable.trimmed)
    return try? HTTPField(name: String(decoding: line[..<colon], as: UTF8.self), value: value)
  }
}

extension UInt8 {
  fileprivate static let dash = UInt8(ascii: "-")
}

/// Finds the end of a JSON object that comes piece by piece, and looks at each byte once. It counts braces outside of
/// strings; whether what is between them is JSON, its reader decides.
private struct JSONObjectScanner: Sendable {
  private enum Place {
    case before, inside, string, escape, after, elsewhere
  }

  private var place = Place.before
  private var depth = 0

  /// Whether the object has ended, and nothing but blanks has come after it.
  var isWhole: Bool { place == .after }

  mutating func consume(_ bytes: ArraySlice<UInt8>) {
    for byte in bytes {
      switch (place, byte) {
      case (.elsewhere, _): return
      case (.escape, _): place = .string
      case (.string, UInt8(ascii: "\\")): place = .escape
      case (.string, UInt8(ascii: "\"")): place = .inside
      case (.string, _): break
      case (.inside, UInt8(ascii: "\"")): place = .string
      case (.before, UInt8(ascii: "{")), (.inside, UInt8(ascii: "{")): (place, depth) = (.inside, depth + 1)
      case (.inside, UInt8(ascii: "}")):
        depth -= 1
        if depth == 0 { place = .after }
      case (.inside, _): break
      case (.before, _), (.after, _): if byte > .space { place = .elsewhere }
      }
    }
  }
}

extension HTTPResponseHead {
  /// The boundary of a multipart response; `-` if the server names none, as GraphQL servers mean it; `nil` if the
  /// response is not multipart.
  ///
  /// It may be a quoted string (RFC 9110, section 5.6.4). A comma ends a parameter like a semicolon, since some servers
  /// append the request's `Accept`.
  public var multipartBoundary: String? {
    guard mediaType?.hasPrefix("multipart/") == true,
      let value = headers.first(where: { $0.hasName("Content-Type") })?.value
    else { return nil }
    return value.parameter("boundary").flatMap { $0.isEmpty ? nil : $0 } ?? "-"
  }
}

extension String {
  /// The value of a field's parameter, without quotes and their escapes; of several, the first.
  fileprivate func parameter(_ name: String) -> String? {
    var rest = utf8[...]
    while let separator = rest.firstIndex(where: { $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: ",") }) {
      rest = rest[utf8.index(after: separator)...]
      let key = rest.prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: ",") }
      rest = rest[key.endIndex...]
      guard rest.skip(UInt8(ascii: "=")) else { continue }
      rest = rest.drop { $0 == .space || $0 == .tab }
      let value = rest.skip(UInt8(ascii: "\"")) ? rest.popQuoted() : rest.popToken()
      if String(Substring(key)).trimmed.lowercased() == name { return value }
    }
    return nil
  }
}

extension Substring.UTF8View {
  /// Removes the first byte if it is this one.
  fileprivate mutating func skip(_ byte: UInt8) -> Bool {
    guard first == byte else { return false }
    removeFirst()
    return true
  }

  /// Removes a quoted string whose first quote is gone (RFC 9110, section 5.6.4).
  fileprivate mutating func popQuoted() -> String {
    var bytes: [UInt8] = []
    while let byte = popFirst(), byte != UInt8(ascii: "\"") {
      if byte != UInt8(ascii: "\\") { bytes.append(byte) } else if let escaped = popFirst() { bytes.append(escaped) }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  fileprivate mutating func popToken() -> String {
    let token = prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: ",") }
    self = self[token.endIndex...]
    return String(String(Substring(token)).trimmed)
  }
}

extension Observable where Element == HTTPResponsePart {
  /// The parts of a multipart response, each as soon as it is complete.
  ///
  /// Fails with `httpStatus` if the status is not a success, with `badResponse` if the response is not multipart, with
  /// `tooLarge` for a part of more than `limit` bytes, and with `connectionLost` if the last delimiter is missing.
  /// With `endsWithJSON`, a body that is a JSON object is whole with its last brace, although its delimiter has not come:
  /// some servers send that only with the next part.
  public func multipart(limit: Int = 1 << 20, endsWithJSON: Bool = false) -> Observable<MultipartPart> {
    transform(MultipartParser?.none) { parser, part, emit in
      switch part {
      case .head(let head):
        try head.requireSuccess()
        guard let boundary = head.multipartBoundary else {
          throw RequestError(
            .badResponse, "The response is not multipart, but '\(head.mediaType ?? "of no type")'.", status: head.status
          )
        }
        parser = MultipartParser(boundary: boundary, limit: limit, endsWithJSON: endsWithJSON)
      case .body(let piece):
        for part in try parser?.consume(piece) ?? [] { emit(part) }
        if let failure = parser?.failure { throw failure }
      case .trailers: break
      }
    } finishing: { parser, _ in
      if parser?.isComplete == false {
        throw RequestError(.connectionLost, "The multipart response ended without its last delimiter.")
      }
    }
  }
}
