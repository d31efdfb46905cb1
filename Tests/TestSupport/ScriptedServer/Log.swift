import Foundation

extension ScriptedServer {
  /// What has happened on a server's connections.
  package struct Log: Sendable {
    /// In the order of acceptance.
    package internal(set) var connections: [ConnectionLog] = []

    /// The requests that were read to their end, in that order.
    package internal(set) var requests: [Request] = []
  }

  /// What has happened on one connection.
  package struct ConnectionLog: Sendable {
    package internal(set) var bytesReceived = 0

    /// Bytes that the system took; a client that does not read lets this come to rest.
    package internal(set) var bytesSent = 0

    /// When it was noticed that the client had closed or reset the connection; nil where the server was first.
    package internal(set) var clientClosed: ContinuousClock.Instant?

    /// Whether the connection's script has ended, and with it the connection.
    package internal(set) var isOver = false
  }

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
