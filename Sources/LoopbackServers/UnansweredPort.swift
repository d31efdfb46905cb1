import Glibc

/// A port at which connecting never ends: its queue of connections is full, so the system drops each further attempt.
package final class UnansweredPort: Sendable {
  package let port: UInt16
  private let listener: Descriptor
  private let queue: [Descriptor]

  package init() throws {
    (listener, port) = try Loopback.listen(backlog: 0)
    var queue: [Descriptor] = []
    while true {
      let (socket, stands) = try Loopback.connect(port: port, withinMilliseconds: 200)
      queue.append(socket)
      if !stands { break }
    }
    self.queue = queue
  }

  /// How many connections to it are being made now, besides its own; nil where the system does not tell.
  package var attempts: Int? {
    guard let file = fopen("/proc/self/net/tcp", "re") else { return nil }
    defer { fclose(file) }
    // Line by line, for such a file has no size, and comes in parts.
    var (lines, line) = ([[Substring]](), [CChar](repeating: 0, count: 512))
    while fgets(&line, Int32(line.count), file) != nil {
      let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      lines.append(text.split(separator: " "))
    }
    // Columns 1 and 2 are the addresses of both sides, as in 0100007F:1F90, and 3 is the state: 02 is SYN_SENT. A table
    // that changes while it is read may have a line twice.
    let attempts = lines.filter { columns in
      guard columns.count > 3, let port = columns[2].split(separator: ":").last else { return false }
      return UInt16(port, radix: 16) == self.port && columns[3] == "02"
    }
    return Set(attempts.map { $0[1] }).count - 1
  }
}
