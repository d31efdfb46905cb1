import Foundation

/// Parses the lines of a head or of trailers (RFC 9112, sections 2.2 and 5).
///
/// A line ends with CR LF, or with LF alone, as section 2.2 allows. A folded line is joined to the one before it, as
/// section 5.2 asks of user agents, unless that one says where the body ends. Whatever two parsers could read
/// differently is refused: a bare CR, a space before the colon, a control character.
struct FieldParser {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  /// Takes complete lines, the last of which is empty.
  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
  }

  /// The next line without its line ending.
  mutating func nextLine() throws(RequestError) -> UnsafeRawBufferPointer {
    let rest = UnsafeRawBufferPointer(rebasing: bytes[position...])
    guard let end = rest.firstIndex(of: .lineFeed) else { throw .notHTTP("a line has no end") }
    position += end + 1
    let length = end > 0 && rest[end - 1] == .carriageReturn ? end - 1 : end
    let line = UnsafeRawBufferPointer(rebasing: rest[..<length])
    guard line.isFieldContent else {
      throw .notHTTP("a line holds a control character, such as a bare CR or NUL")
    }
    return line
  }

  /// The fields up to the empty line.
  mutating func fields(upTo limit: Int) throws(RequestError) -> [HTTPField] {
    var fields: [HTTPField] = []
    fields.reserveCapacity(min(limit, 16))
    while true {
      let line = try nextLine()
      if line.isEmpty { return fields }
      guard fields.count < limit else {
        throw RequestError(.tooLarge, "The response has more than \(limit) header fields.")
      }
      if line[0].isSpaceOrTab, let last = fields.last {
        fields[fields.count - 1] = try Self.unfolded(last, line)
      } else {
        fields.append(try Self.field(line))
      }
    }
  }

  /// The field with the content of a folded line behind its value.
  private static func unfolded(
    _ field: HTTPField, _ line: UnsafeRawBufferPointer
  ) throws(RequestError) -> HTTPField {
    guard !field.hasName("Content-Length"), !field.hasName("Transfer-Encoding") else {
      throw .notHTTP("a header field that frames the body is folded")
    }
    let more = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespaces)
    let value = [field.value, more].filter { !$0.isEmpty }.joined(separator: " ")
    return HTTPField(trimmedName: field.name, value: value)
  }

  private static func field(_ line: UnsafeRawBufferPointer) throws(RequestError) -> HTTPField {
    // Refuses a space between name and colon (section 5.1), and a folded line that follows no field.
    let colon = line.count(while: \.isTokenByte)
    guard 0 < colon, colon < line.count, line[colon] == .colon else {
      throw .notHTTP("a header field has no valid name")
    }
    var start = colon + 1
    var end = line.count
    while start < end, line[start].isSpaceOrTab { start += 1 }
    while end > start, line[end - 1].isSpaceOrTab { end -= 1 }
    return HTTPField(
      trimmedName: String(decoding: UnsafeRawBufferPointer(rebasing: line[..<colon]), as: UTF8.self),
      value: String(decoding: UnsafeRawBufferPointer(rebasing: line[start..<end]), as: UTF8.self))
  }
}

extension [UInt8] {
  /// `withUnsafeBytes` for a closure that throws one type of error.
  func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let result = withUnsafeBytes { bytes -> Swift.Result<Result, Failure> in
      do throws(Failure) { return .success(try body(bytes)) } catch { return .failure(error) }
    }
    return try result.get()
  }
}

extension UnsafeRawBufferPointer {
  /// The number of bytes at the start that satisfy a condition.
  @inline(__always)
  fileprivate func count(while isSatisfied: (UInt8) -> Bool) -> Int {
    var count = 0
    while count < self.count, isSatisfied(self[count]) { count += 1 }
    return count
  }

  /// The index after the first empty line at or after `start`, which must be the beginning of a line.
  func endOfLines(from start: Int) -> Int? {
    var lineStart = start
    while let end = firstIndex(of: .lineFeed, from: lineStart) {
      let length = end - lineStart
      if length == 0 || (length == 1 && self[lineStart] == .carriageReturn) { return end + 1 }
      lineStart = end + 1
    }
    return nil
  }
}
