import Streams

/// Failures that several threads report.
final class Findings: Sendable {
  private let found = Guarded<[String]>([])

  /// Keeps only a few: one is enough.
  func add(_ line: String) {
    found.withLock { if $0.count < 5 { $0.append(line) } }
  }

  /// Runs a body; an error that it throws is a finding.
  func note(_ body: () throws -> Void) {
    do { try body() } catch { add("an error: \(error)") }
  }

  var lines: [String] { found.withLock { $0 } }
}
