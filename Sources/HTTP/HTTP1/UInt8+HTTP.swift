extension UInt8 {
  static var tab: UInt8 { 0x09 }
  static var lineFeed: UInt8 { 0x0A }
  static var carriageReturn: UInt8 { 0x0D }
  static var space: UInt8 { 0x20 }
  static var colon: UInt8 { 0x3A }

  /// Whether this may occur in a token (RFC 9110, section 5.6.2).
  var isTokenByte: Bool {
    switch self {
    case 0x61...0x7A, 0x41...0x5A, 0x30...0x39: true  // a-z, A-Z, 0-9
    case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true  // ! #$%&' * + - . ^_` | ~
    default: false
    }
  }

  /// Whether this may occur in a field's value: any byte except control characters other than the tab (RFC 9110,
  /// section 5.5).
  package var isFieldByte: Bool { self >= 0x20 ? self != 0x7F : self == .tab }

  var isDigit: Bool { self &- 0x30 < 10 }

  var isUpperCase: Bool { 0x41...0x5A ~= self }

  var isSpaceOrTab: Bool { self == .space || self == .tab }

  /// The value of a hexadecimal digit; `nil` if it is none.
  package var hexDigitValue: Int? {
    switch self {
    case 0x30...0x39: Int(self) - 0x30
    case 0x41...0x46: Int(self) - 0x37
    case 0x61...0x66: Int(self) - 0x57
    default: nil
    }
  }
}
