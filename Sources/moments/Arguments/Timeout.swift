/// Parses `--timeout`, the greatest time that a run may take.
enum Timeout {
  /// The permitted values of `--timeout`, in seconds: a millisecond to a day.
  static let seconds = 0.001...86_400.0

  /// Parses seconds: decimal digits, with a point before a fraction, in any locale.
  static func duration(_ text: String) throws(UsageError) -> Duration {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let isDecimal =
      parts.count <= 2 && parts.contains { !$0.isEmpty }
      && parts.allSatisfy { $0.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } }
    guard isDecimal, let value = Double(text), seconds.contains(value) else {
      throw UsageError("--timeout is '\(text)', which is no number of seconds from 0.001 to 86400; write it like 2.5")
    }
    return .seconds(value)
  }
}
