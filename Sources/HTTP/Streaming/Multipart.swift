public import Platform
public import Streams

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

/// Reads a multipart body piece by piece, split anywhere (RFC 2046, section 5.1.1).
///
/// It is as tolerant as GraphQL servers need: lines may end with a line feed alone, the first delimiter may be missing,
/// and empty parts are left out, as are a preamble and an epilogue.
public struct MultipartParser: Sendable {
  /// Whether the last delimiter has come. Without it, the end of the body is a cut.
  public private(set) var isComplete = false

  private enum Section {
    case preamble, headers, body
  }

  /// How far a search has come: a delimiter with its range, or the place before which there is none.
  private enum Search {
    case found(Range<Int>, isLast: Bool)
    case none(before: Int)
  }

  private let delimiter: [UInt8]
  private let limit: Int
  private let isWhole: (@Sendable (RawSpan) -> Bool)?
  private var section = Section.preamble
  /// What has not been consumed yet; it begins at the start of a line.
  private var buffer: [UInt8] = []
  /// The place in the buffer before which there is no delimiter.
  private var searched = 0
  /// The place in the buffer before which its last line does not end: what has come is looked at once.
  private var scanned = 0
  private var headers: HTTPHeaders = [:]
  /// How many bytes the header fields have.
  private var headerSize = 0
  /// Whether the part has been passed on before its delimiter came.
  private var isPassedOn = false

  /// - Parameters:
  ///   - boundary: What separates the parts, without the dashes before it.
  ///   - limit: The greatest size of a part in bytes, with its header fields, 1 MiB by default.
  ///   - isWhole: Whether a body is whole although its delimiter has not come: some servers send that only with the
  ///     next part. It is asked after each piece, about all bytes of the body so far, which are not copied for it.
  public init(boundary: String, limit: Int = 1 << 20, isWhole: (@Sendable (RawSpan) -> Bool)? = nil) {
    delimiter = Array("--\(boundary)".utf8)
    self.limit = limit
    self.isWhole = isWhole
  }

  /// Takes the next piece, and returns the parts that it completes. Throws `tooLarge` for a part over the limit.
  public mutating func consume(_ piece: Data) throws(RequestError) -> [MultipartPart] {
    guard !isComplete else { return [] }
    buffer += piece
    var parts: [MultipartPart] = []
    while !isComplete, consumeStep(&parts) {}
    if section == .body, !isPassedOn, let isWhole {
      let count = body(before: delimiterMayBegin ? searched : buffer.count).count
      if isWhole(buffer.span.extracting(first: count).bytes) {
        parts.append(MultipartPart(headers: headers, body: Data(buffer[..<count])))
        isPassedOn = true
      }
    }
    guard isComplete || buffer.count + headerSize <= limit else {
      throw RequestError(.tooLarge, "A part of the response is larger than \(limit) bytes.")
    }
    return parts
  }

  /// Consumes a line or a body; returns false if more bytes are needed for it.
  private mutating func consumeStep(_ parts: inout [MultipartPart]) -> Bool {
    switch section {
    case .preamble:
      let end = buffer.firstIndex(of: .lineFeed)
      if let end, Self.isContentField(buffer[..<end]) {
        section = .headers
      } else if case .found(let range, let isLast) = search(), range.lowerBound == 0 {
        begin(after: range, isLast: isLast)
      } else {
        guard let end else { return false }
        drop(to: end + 1)
      }
    case .headers:
      if case .found(let range, let isLast) = search(), range.lowerBound == 0 {
        begin(after: range, isLast: isLast)
      } else {
        guard let end = buffer.firstIndex(of: .lineFeed) else { return false }
        var line = buffer[..<end]
        if line.last == .carriageReturn { line.removeLast() }
        if line.isEmpty { section = .body }
        if let field = Self.field(line) { headers.append(field) }
        headerSize += line.count
        drop(to: end + 1)
      }
    case .body:
      guard case .found(let range, let isLast) = search() else { return false }
      let body = body(before: range.lowerBound)
      if !isPassedOn, !(headers.isEmpty && body.isEmpty) {
        parts.append(MultipartPart(headers: headers, body: Data(body)))
      }
      begin(after: range, isLast: isLast)
    }
    return true
  }

  /// The body before a delimiter, to which the line's end before it belongs.
  private func body(before delimiter: Int) -> ArraySlice<UInt8> {
    var body = buffer[..<delimiter]
    if body.last == .lineFeed { body.removeLast() }
    if body.last == .carriageReturn { body.removeLast() }
    return body
  }

  /// Whether the bytes after those that were searched may be a delimiter whose line has not come to its end: some
  /// servers send that end with the next part.
  private var delimiterMayBegin: Bool {
    let rest = buffer[searched...]
    return !rest.isEmpty && delimiter.starts(with: rest.prefix(delimiter.count))
  }

  private mutating func begin(after delimiter: Range<Int>, isLast: Bool) {
    drop(to: delimiter.upperBound)
    (section, headers, headerSize, isPassedOn, isComplete) = (.headers, [:], 0, false, isLast)
  }

  private mutating func drop(to end: Int) {
    buffer.removeFirst(end)
    (searched, scanned) = (0, 0)
  }

  /// Looks for a delimiter at the start of a line: the boundary's text may stand elsewhere in a body.
  private mutating func search() -> Search {
    var start = searched
    while start < buffer.count {
      // The delimiter, blanks, and the end of the line; or two more dashes.
      let match = buffer[start...].prefix(delimiter.count)
      if delimiter.starts(with: match) {
        var end = start + match.count
        if match.count < delimiter.count { return none(start) }
        if buffer[end...].starts(with: [0x2D, 0x2D]) { return .found(start..<end + 2, isLast: true) }
        while end < buffer.count, buffer[end] == .space || buffer[end] == .tab || buffer[end] == .carriageReturn {
          end += 1
        }
        if end == buffer.count || buffer[end] == 0x2D && end + 1 == buffer.count { return none(start) }
        if buffer[end] == .lineFeed { return .found(start..<end + 1, isLast: false) }
      }
      guard let feed = buffer[max(start, scanned)...].firstIndex(of: .lineFeed) else {
        scanned = buffer.count
        return none(start)
      }
      start = feed + 1
    }
    return none(start)
  }

  private mutating func none(_ before: Int) -> Search {
    searched = before
    return .none(before: before)
  }

  /// Whether a line is a field with which a part begins, where its delimiter is missing.
  private static func isContentField(_ line: ArraySlice<UInt8>) -> Bool {
    isField(line) && String(decoding: line, as: UTF8.self).lowercased().hasPrefix("content-")
  }

  private static func isField(_ line: ArraySlice<UInt8>) -> Bool {
    let name = line.prefix(while: \.isTokenByte)
    return !name.isEmpty && line.dropFirst(name.count).first == .colon
  }

  private static func field(_ line: ArraySlice<UInt8>) -> HTTPField? {
    guard isField(line), let colon = line.firstIndex(of: .colon) else { return nil }
    let value = String(String(decoding: line[(colon + 1)...], as: UTF8.self).trimmed)
    return try? HTTPField(name: String(decoding: line[..<colon], as: UTF8.self), value: value)
  }
}

extension HTTPResponseHead {
  /// The boundary of a multipart response; `-` if the server names none, as GraphQL servers mean it; `nil` if the
  /// response is not multipart.
  public var multipartBoundary: String? {
    guard mediaType?.hasPrefix("multipart/") == true,
      let value = headers.first(where: { $0.hasName("Content-Type") })?.value
    else { return nil }
    for parameter in value.split(whereSeparator: { $0 == ";" || $0 == "," }) {
      let pair = parameter.split(separator: "=", maxSplits: 1).map(\.trimmed)
      guard pair.count == 2, pair[0].lowercased() == "boundary" else { continue }
      let boundary = pair[1].filter { $0 != "\"" }
      if !boundary.isEmpty { return boundary }
    }
    return "-"
  }
}

extension Observable where Element == HTTPResponsePart {
  /// The parts of a multipart response, each as soon as it is complete.
  ///
  /// Fails with `httpStatus` if the status is not a success, with `badResponse` if the response is not multipart, with
  /// `tooLarge` for a part of more than `limit` bytes, and with `connectionLost` if the last delimiter is missing.
  /// `isWhole` tells of a body whose delimiter has not come whether it is whole: some servers send that only with the
  /// next part.
  public func multipart(
    limit: Int = 1 << 20, isWhole: (@Sendable (RawSpan) -> Bool)? = nil
  ) -> Observable<MultipartPart> {
    transform(MultipartParser?.none) { parser, part, emit in
      switch part {
      case .head(let head):
        try head.requireSuccess()
        guard let boundary = head.multipartBoundary else {
          throw RequestError(
            .badResponse, "The response is not multipart, but '\(head.mediaType ?? "of no type")'.", status: head.status
          )
        }
        parser = MultipartParser(boundary: boundary, limit: limit, isWhole: isWhole)
      case .body(let piece):
        for part in try parser?.consume(piece) ?? [] { emit(part) }
      }
    } finishing: { parser, _ in
      if parser?.isComplete == false {
        throw RequestError(.connectionLost, "The multipart response ended without its last delimiter.")
      }
    }
  }
}
