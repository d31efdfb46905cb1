/// The first line of an answer (RFC 9112, section 4).
struct StatusLine: Equatable {
  var minorVersion: Int
  var status: Int

  private static let start = Array("HTTP/1.".utf8)

  /// Reads a line without its end. The reason is skipped, and may be missing with the space before it.
  init(_ line: UnsafeRawBufferPointer) throws(RequestError) {
    guard line.count >= 12, line.starts(with: Self.start), line[7].isDigit, line[8] == .space,
      line[9].isDigit, line[10].isDigit, line[11].isDigit, line.count == 12 || line[12] == .space
    else { throw .notHTTP("the first line is no status line of HTTP/1") }
    minorVersion = Int(line[7] - 0x30)
    status = line[9...11].reduce(0) { $0 * 10 + Int($1 - 0x30) }
    // RFC 9110, section 15: above 599 is to be taken as a server's error, so it is passed on.
    guard status >= 100 else { throw .notHTTP("the status \(status) does not exist") }
  }

  /// Whether bytes may be the start of such a line.
  static func mayBegin(with bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.prefix(start.count).elementsEqual(start.prefix(bytes.count))
  }
}
