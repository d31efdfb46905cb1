import Foundation

extension ScriptedServer {
  /// A request as it came over the wire.
  package struct Request: Sendable {
    /// The number of its connection, from 0.
    package let connection: Int

    /// The head without the empty line that ends it.
    package let head: String

    package internal(set) var body: [UInt8] = []

    package var method: String { startLine(0) }
    package var target: String { startLine(1) }

    /// The fields in the order in which they came, white space around values removed.
    package var headers: [(name: String, value: String)] {
      head.components(separatedBy: "\r\n").dropFirst().map { line in
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count == 2 ? parts[1].trimmingCharacters(in: .whitespaces) : "")
      }
    }

    /// The value of the first field of this name, in whatever case.
    package subscript(name: String) -> String? {
      headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    private func startLine(_ index: Int) -> String {
      let words = head.prefix { $0 != "\r\n" }.split(separator: " ")
      return index < words.count ? String(words[index]) : ""
    }
  }
}
