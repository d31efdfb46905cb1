import Foundation

/// Lines that several threads write.
final class Findings: @unchecked Sendable {
  // Touched under the lock alone.
  private let lock = NSLock()
  private var found: [String] = []

  /// At most a few are kept: one says enough.
  func add(_ line: String) {
    lock.withLock { if found.count < 5 { found.append(line) } }
  }

  var lines: [String] { lock.withLock { found } }
}
