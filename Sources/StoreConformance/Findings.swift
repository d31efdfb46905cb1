import Streams

/// Lines that several threads write.
final class Findings: Sendable {
  private let found = Guarded<[String]>([])

  /// At most a few are kept: one says enough.
  func add(_ line: String) {
    found.withLock { if $0.count < 5 { $0.append(line) } }
  }

  /// Runs a body, whose error is a finding.
  func note(_ body: () throws -> Void) {
    do { try body() } catch { add("an error: \(error)") }
  }

  var lines: [String] { found.withLock { $0 } }
}
