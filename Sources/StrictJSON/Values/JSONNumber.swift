import SystemBase

/// A number as its text: for types that keep more digits than a `Double`, or a greater exponent.
///
/// Two numbers are equal if they have one value, as `1.50` and `15e-1` have.
public struct JSONNumber: Sendable {
  /// The text, by RFC 8259, section 6.
  public let text: String

  /// Takes a text; `nil` if it is no JSON number.
  public init?(_ text: String) {
    guard let number = try? JSONNumber(json: text), number.text == text else { return nil }
    self = number
  }

  fileprivate init(checked text: String) {
    self.text = text
  }

  /// The nearest `Double`: infinite if the number is too large, zero if it is too small.
  public var doubleValue: Double { Double(text) ?? .infinity }

  /// Whether it is written without a fraction and an exponent.
  public var isPlainInteger: Bool { text.utf8.allSatisfy { $0 == UInt8(ascii: "-") || $0.isASCIIDigit } }
}

extension JSONNumber: Hashable, CustomStringConvertible {
  /// What the value consists of: digits without zeros around them, and the power of ten of the last one. Exponents of
  /// more than twelve digits count as equal.
  fileprivate struct Value: Equatable {
    var isNegative = false
    var digits: [UInt8] = []
    var exponent = 0

    init(_ text: String) {
      var rest = text.utf8[...]
      isNegative = rest.first == UInt8(ascii: "-")
      if isNegative { rest.removeFirst() }
      var isFraction = false
      while let byte = rest.popFirst() {
        if byte == UInt8(ascii: ".") {
          isFraction = true
        } else if byte.isASCIIDigit {
          digits.append(byte)
          if isFraction { exponent -= 1 }
        } else {
          let isBelow = rest.first == UInt8(ascii: "-")
          let power = rest.filter(\.isASCIIDigit).reduce(0) { min($0 * 10 + Int($1 & 15), 1 << 40) }
          exponent += isBelow ? -power : power
          break
        }
      }
      while digits.last == UInt8(ascii: "0") {
        digits.removeLast()
        exponent += 1
      }
      digits = Array(digits.drop { $0 == UInt8(ascii: "0") })
      if digits.isEmpty { (isNegative, exponent) = (false, 0) }
    }
  }

  /// Whether the values are equal.
  public static func == (left: JSONNumber, right: JSONNumber) -> Bool {
    left.text == right.text || Value(left.text) == Value(right.text)
  }

  /// Hashes the nearest `Double`.
  public func hash(into hasher: inout Hasher) { hasher.combine(doubleValue) }

  /// The text.
  public var description: String { text }
}

extension JSONNumber: JSONDecodable, JSONEncodable {
  /// Reads a number.
  public init(from json: inout JSONReader) throws(JSONError) {
    text = try json.readNumberText()
  }

  /// Writes the text.
  public func encode(to json: inout JSONWriter) { json.writeNumber(text) }
}

extension JSONNumber: Codable {
  /// Reads a number. ``JSONCoder`` keeps its text; other decoders give what fits a `Decimal` or a `Double`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let value = try? container.decode(Double.self)
    // A greater one may have lost digits, and its neighbour may have few.
    if let value, value.hasFewDigits, value.magnitude < 1e15 {
      text = value.description
    } else if let exact = try? container.decode(Decimal.self), exact.isFinite {
      text = exact.description
    } else {
      text = try (value ?? container.decode(Double.self)).description
    }
  }

  /// Writes the number. ``JSONCoder`` writes its text; other encoders get the first type that holds it of `UInt64`,
  /// `Decimal` and `Double`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if isPlainInteger, let whole = UInt64(text) { return try container.encode(whole) }
    if let exact = Decimal(jsonNumber: text), JSONNumber(checked: exact.description) == self {
      return try container.encode(exact)
    }
    guard doubleValue.isFinite else {
      throw EncodingError.invalidValue(
        self, EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "\(text) fits no number."))
    }
    try container.encode(doubleValue)
  }
}

extension Decimal {
  /// Takes the text of a number; `nil` if it is out of range. Digits beyond about 38 are dropped.
  init?(jsonNumber text: String) {
    if !text.utf8.contains(where: { $0 | 0x20 == UInt8(ascii: "e") }) {
      guard let value = Decimal(string: text), value.isFinite else { return nil }
      self = value
      return
    }
    // `Decimal(string:)` does not read every spelling of a number: its exponent is that of the last digit, zeros too.
    let number = JSONNumber.Value(text)
    guard text.utf8.contains(where: \.isASCIIDigit), number.exponent <= 127 + 38 else { return nil }
    guard !number.digits.isEmpty else {
      self = 0
      return
    }
    let zeros = Array(repeating: UInt8(ascii: "0"), count: max(0, number.exponent - 127))
    let digits = number.digits.dropLast(max(0, -127 - number.exponent)) + zeros
    let exponent = number.exponent + (number.digits.count - digits.count)
    let sign = number.isNegative ? "-" : ""
    guard !digits.isEmpty, let value = Decimal(string: "\(sign)\(String(decoding: digits, as: UTF8.self))e\(exponent)"),
      value.isFinite
    else { return nil }
    self = value
  }
}

extension JSONValue {
  /// Takes a number, in the form in which a reader has it.
  public init(_ number: JSONNumber) {
    self = (try? JSONValue(json: number.text)) ?? .literal(number)
  }
}

extension JSONReader {
  /// Reads a number in the form that keeps its value for every type: as an `Int64` or a `Double` if that is written with
  /// the same value, otherwise as its text.
  mutating func readNumber() throws(JSONError) -> JSONValue {
    let first = offset
    let start = position
    if let value = takePlainInteger(Int64.self), value != 0 { return .integer(value) }
    goBack(to: first)
    let number = try scanNumber()
    if number.mantissa == 0 { return number.isNegative ? .number(-0.0) : .integer(0) }
    if let value = number.whole(Int64.self) { return .integer(value) }
    if number.hasFewDigits, let value = number.exactDouble { return .number(value) }
    return longNumber(number, text(from: start))
  }

  private func longNumber(_ number: DecimalNumber, _ text: String) -> JSONValue {
    let literal = JSONNumber(checked: text)
    let value = literal.doubleValue
    // A plain integer stays one, since types of more than 64 bits read no other form.
    guard !number.isCut, value.isFinite, value != 0, !literal.isPlainInteger,
      let shortest = try? JSONReader.shortestDigits(of: value), number.hasSameValue(as: shortest)
    else { return .literal(literal) }
    return .number(value)
  }

  /// The digits with which a `Double` is written.
  private static func shortestDigits(of value: Double) throws(JSONError) -> DecimalNumber {
    let text = value.description
    return try reading(text.utf8.span.bytes) { (json) throws(JSONError) in try json.scanNumber() }
  }
}

extension DecimalNumber {
  /// Whether there are at most 15 digits, of which each `Double` in the range of ``exactDouble`` has its own: so these
  /// are the shortest that stand for it.
  fileprivate var hasFewDigits: Bool { mantissa <= 1_000_000_000_000_000 && !isCut }

  fileprivate func hasSameValue(as other: DecimalNumber) -> Bool {
    let (left, right) = (withoutZeros, other.withoutZeros)
    return left.mantissa == right.mantissa && left.exponent == right.exponent && isNegative == other.isNegative
  }

  private var withoutZeros: DecimalNumber {
    var number = self
    while number.mantissa > 0, number.mantissa % 10 == 0 {
      number.mantissa /= 10
      number.exponent += 1
    }
    return number
  }
}

extension Double {
  /// Whether it is written with at most 15 digits.
  fileprivate var hasFewDigits: Bool { isFinite && description.utf8.lazy.filter(\.isASCIIDigit).count <= 15 }
}

extension UInt8 {
  fileprivate var isASCIIDigit: Bool { self &- UInt8(ascii: "0") < 10 }
}
