import HTTPClientCore
import SystemBase

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
    // Joined once all have come: a field may have thousands.
    var folded: [String] = []
    while true {
      let line = try nextLine()
      if let first = line.first, first.isSpaceOrTab, !fields.isEmpty {
        folded.append(String(String(decoding: line, as: UTF8.self).trimmed))
        continue
      }
      if !folded.isEmpty, let last = fields.popLast() { fields.append(try Self.unfolded(last, folded)) }
      folded = []
      if line.isEmpty { return fields }
      guard fields.count < limit else {
        throw RequestError(.tooLarge, "The response has more than \(limit) header fields.")
      }
      fields.append(try Self.field(line))
    }
  }

  /// The field with the content of folded lines behind its value.
  private static func unfolded(_ field: HTTPField, _ lines: [String]) throws(RequestError) -> HTTPField {
    guard !field.hasName("Content-Length"), !field.hasName("Transfer-Encoding") else {
      throw .notHTTP("a header field that frames the body is folded")
    }
    let value = ([field.value] + lines).filter { !$0.isEmpty }.joined(separator: " ")
    return HTTPField(trimmedName: field.name, value: value.comparable)
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
      value: String(decoding: UnsafeRawBufferPointer(rebasing: line[start..<end]), as: UTF8.self).comparable)
  }
}

extension ContiguousBytes {
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

/// Collects lines that arrive in pieces until an empty line ends them, looking at each byte once.
struct LineBuffer {
  private(set) var bytes: [UInt8] = []
  private var lineStart = 0
  private var scanned = 0

  var isEmpty: Bool { bytes.isEmpty }

  /// Appends the bytes that belong to the lines, and returns how many these are, and whether the empty line has
  /// arrived.
  mutating func append(_ input: UnsafeRawBufferPointer) -> (count: Int, isComplete: Bool) {
    let known = bytes.count
    bytes.append(contentsOf: input.bindMemory(to: UInt8.self))
    while let end = bytes.withUnsafeBytes({ $0.firstIndex(of: .lineFeed, from: scanned) }) {
      let length = end - lineStart
      let isEmptyLine = length == 0 || (length == 1 && bytes[lineStart] == .carriageReturn)
      (lineStart, scanned) = (end + 1, end + 1)
      guard isEmptyLine else { continue }
      bytes.removeSubrange((end + 1)...)
      return (end + 1 - known, true)
    }
    scanned = bytes.count
    return (input.count, false)
  }
}

/// Memory that texts are appended to.
struct TextBuffer {
  private let memory: UnsafeMutableRawBufferPointer
  /// How many bytes have been written.
  private(set) var count = 0

  init(_ memory: UnsafeMutableBufferPointer<UInt8>) {
    self.memory = UnsafeMutableRawBufferPointer(memory)
  }

  /// Writes a text; there must be room for it.
  mutating func write(_ text: String) {
    let isWritten: Void? = text.utf8.withContiguousStorageIfAvailable { write(UnsafeRawBufferPointer($0)) }
    if isWritten == nil { Array(text.utf8).withUnsafeBytes { write($0) } }
  }

  /// Writes a constant; there must be room for it.
  @inline(__always)
  mutating func write(_ text: StaticString) {
    text.withUTF8Buffer { write(UnsafeRawBufferPointer($0)) }
  }

  /// Writes a header line; there must be room for it.
  mutating func write(name: String, value: String) {
    write(name)
    write(": ")
    write(value)
    write("\r\n")
  }

  @inline(__always)
  private mutating func write(_ bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count <= memory.count - count, "there must be room for what is written")
    if let start = bytes.baseAddress {
      memory.baseAddress?.advanced(by: count).copyMemory(from: start, byteCount: bytes.count)
    }
    count += bytes.count
  }
}
