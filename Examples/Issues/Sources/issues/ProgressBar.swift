import Foundation

/// How much of a list has come, on one line of a terminal.
final class ProgressBar: Sendable {
  private let file: FileHandle
  private static let width = 30

  /// Takes a file; `nil` if it is no terminal, since nobody would see the bar.
  init?(_ file: FileHandle) {
    guard isatty(file.fileDescriptor) == 1 else { return nil }
    self.file = file
  }

  func show(_ count: Int, of total: Int) {
    file.write(Data("\r\(Self.line(count, of: total))".utf8))
  }

  /// Erases the line.
  func end() {
    file.write(Data("\r\u{1B}[K".utf8))
  }

  /// The line: `[##########--------------------] 100 of 300`.
  static func line(_ count: Int, of total: Int) -> String {
    let done = total > 0 ? min(count * width / total, width) : width
    let bar = String(repeating: "#", count: done) + String(repeating: "-", count: width - done)
    return "[\(bar)] \(count) of \(total)"
  }
}
