/// A header field as `--header 'Name: value'` gives it.
struct HeaderArgument: Equatable, Sendable {
  let name: String
  let value: String

  /// Fields that carry credentials: other users of the machine can read a process's arguments.
  private static let credentials: Set<String> = ["authorization", "proxy-authorization", "cookie"]

  /// Splits a field at its first colon and checks both sides (RFC 9110, sections 5.1 and 5.5).
  ///
  /// The error names the field at most: the value may be a secret.
  init(_ text: String) throws(UsageError) {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
      throw UsageError("--header has no colon; write it as --header 'Name: value'")
    }
    name = String(text[..<colon])
    guard !name.isEmpty, name.utf8.allSatisfy(Self.isTokenByte) else {
      throw UsageError("--header has a name that is no header's; write it as --header 'Name: value'")
    }
    guard !Self.credentials.contains(name.lowercased()) else {
      throw UsageError(
        "--header cannot carry '\(name)', since others can read a command's arguments; "
          + "set \(BearerToken.variable) instead")
    }
    let bytes = text.utf8[text.utf8.index(after: colon)...]
    guard bytes.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }) else {
      throw UsageError("--header has a control character in the value of '\(name)'; take it out")
    }
    let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    let start = bytes.firstIndex { !isBlank($0) } ?? bytes.endIndex
    let end = bytes.lastIndex { !isBlank($0) }.map(bytes.index(after:)) ?? bytes.endIndex
    value = String(text[start..<max(start, end)])
  }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default:
      "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
