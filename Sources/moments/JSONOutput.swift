import CommandLineBase
import SystemBase

/// Results as one JSON object on one line, for other programs.
enum JSONOutput {
  /// Keys are sorted, values of the server are as received, and `nil` values are left out; nothing in it can control a
  /// terminal.
  static func text(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self).terminalSafeJSON + "\n"
  }
}
