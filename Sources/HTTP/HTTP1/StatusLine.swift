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
