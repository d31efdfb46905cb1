/// Ties the parts of one trace together across processes (W3C Trace Context, section 3.2).
public struct TraceContext: Hashable, Sendable, CustomStringConvertible {
  /// The name of the header field that carries it.
  public static let fieldName = "traceparent"

  /// The trace: 32 hexadecimal digits, not all zero.
  public let traceID: String

  /// The caller's span in the trace: 16 hexadecimal digits, not all zero.
  public let spanID: String

  /// Whether the caller records its span.
  public let isSampled: Bool

  /// Begins a new trace, with random identifiers.
  public init() {
    traceID = Self.hexadecimal(.random(in: 1...UInt64.max)) + Self.hexadecimal(.random(in: .min ... .max))
    spanID = Self.hexadecimal(.random(in: 1...UInt64.max))
    isSampled = true
  }

  /// Reads the value of a `traceparent` field; `nil` if it is not valid.
  public init?(_ value: String) {
    let parts = value.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count >= 4, parts[0].isLowerHex(2), parts[0] != "ff", parts.count == 4 || parts[0] != "00",
      parts[1].isLowerHex(32), parts[2].isLowerHex(16), parts[3].isLowerHex(2), let flags = UInt8(parts[3], radix: 16),
      parts[1].contains(where: { $0 != "0" }), parts[2].contains(where: { $0 != "0" })
    else { return nil }
    traceID = String(parts[1])
    spanID = String(parts[2])
    isSampled = flags & 1 == 1
  }

  private init(traceID: String, isSampled: Bool) {
    self.traceID = traceID
    spanID = Self.hexadecimal(.random(in: 1...UInt64.max))
    self.isSampled = isSampled
  }

  /// A new span in the same trace.
  public func child() -> TraceContext { TraceContext(traceID: traceID, isSampled: isSampled) }

  /// The value of the field.
  public var description: String { "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")" }

  private static func hexadecimal(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

extension Substring {
  fileprivate func isLowerHex(_ count: Int) -> Bool {
    utf8.count == count && utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
  }
}
