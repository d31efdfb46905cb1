import HTTP

extension HTTPField {
  /// Fields that carry credentials, which are refused: other users of the machine can read a process's arguments.
  private static let credentialNames: Set<String> = ["authorization", "proxy-authorization", "cookie"]

  /// Parses a field from `--header 'Name: value'`; the error never shows the value, which may be a secret.
  init(argument text: String) throws(UsageError) {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
      throw UsageError("--header has no colon; write it as --header 'Name: value'")
    }
    let name = String(text[..<colon])
    do {
      try self.init(name: name, value: String(text[text.utf8.index(after: colon)...]))
    } catch {
      throw UsageError("--header: \(error.message)")
    }
    guard !Self.credentialNames.contains(name.lowercased()) else {
      throw UsageError(
        "--header cannot carry '\(name)', since others can read a command's arguments; "
          + "set \(BearerToken.variable) instead")
    }
  }
}
