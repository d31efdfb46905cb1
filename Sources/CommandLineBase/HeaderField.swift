/// A header field that a command is to send. Its value may be a secret, so that no error shows it.
package struct HeaderField: Sendable {
  package let name: String
  package let value: String

  package init(name: String, value: String) {
    (self.name, self.value) = (name, value)
  }

  /// Fields that carry credentials, which are refused: other users of the machine can read a process's arguments.
  private static let credentialNames: Set<String> = ["authorization", "proxy-authorization", "cookie"]

  /// Takes what follows `--header`, as in `--header 'Name: value'`. What a name and a value may hold is not checked.
  /// - Parameter variable: The environment variable that credentials belong in.
  package init(argument text: String, credentialsIn variable: String) throws(UsageError) {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
      throw UsageError("--header has no colon; write it as --header 'Name: value'")
    }
    name = String(text[..<colon])
    value = String(text[text.utf8.index(after: colon)...])
    guard !Self.credentialNames.contains(name.lowercased()) else {
      throw UsageError(
        "--header cannot carry '\(name)', since others can read a command's arguments; set \(variable) instead")
    }
  }
}
