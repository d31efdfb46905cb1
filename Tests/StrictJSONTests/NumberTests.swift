import Foundation
import StrictJSON
import Testing

/// Numbers by way of `JSONValue`, and as every type has them from the bytes.
@Suite struct NumberTests {
  /// What the types that numbers are read as make of a text; `nil` where it does not fit.
  private struct Readings: Equatable, CustomStringConvertible {
    let double: UInt64?
    let float: UInt32?
    let decimal: Decimal?
    let int: Int?
    let unsigned: UInt64?
    let wide: Int128?
    let number: JSONNumber?

    init(_ json: Data) {
      let coder = JSONCoder()
      double = (try? coder.decode(Double.self, from: json))?.bitPattern
      float = (try? coder.decode(Float.self, from: json))?.bitPattern
      decimal = try? coder.decode(Decimal.self, from: json)
      int = try? coder.decode(Int.self, from: json)
      unsigned = try? coder.decode(UInt64.self, from: json)
      wide = try? coder.decode(Int128.self, from: json)
      number = try? coder.decode(JSONNumber.self, from: json)
    }

    var description: String {
      "\([double as Any, float as Any, decimal as Any, int as Any, unsigned as Any, wide as Any, number as Any])"
    }
  }

  static let texts = [
    "0", "-0", "-0.0", "0e999", "1", "1.0", "1.50", "1e2", "0.1", "1e-7", "123456789012345", "0.3333333333333333",
    "0.30000000000000004", "1234567890123456.123456789", "18446744073709551615", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "100000000000000000000", "1e20",
    "170141183460469231731687303715884105727", "16777217", "16777217.5", "3.4028235677973366e38", "1e400", "-1e400",
    "1e-400", "4.9e-324", "2.2250738585072014e-308", "1e22", "1e23", "123456789.123456789123456789",
    "0.1000000000000000055511151231257827", "1e99999999999999999999", "12345678901234567890.0", "-29863330e127",
    "624.242260e-123", "1e127", "1e165", "1e166", "1e-127", "15e-129",
  ]

  @Test(arguments: texts)
  func `G10: a number gives every type by way of JSONValue what it gives from the bytes`(text: String) throws {
    let value = try JSONValue(json: text)
    #expect(try Readings(value.json()) == Readings(Data(text.utf8)))
    #expect(try Readings(JSONCoder().encode([value]).dropFirst().dropLast()) == Readings(Data(text.utf8)))
  }

  @Test func `G10: random numbers give every type by way of JSONValue what they give from the bytes`() throws {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      let digits = (0..<Int.random(in: 1...22, using: &random)).map { _ in String(Int.random(in: 0...9)) }.joined()
      let whole = String(Int.random(in: 1...9)) + digits.prefix(Int.random(in: 0...digits.count))
      let fraction = Bool.random() ? "." + digits : ""
      let exponent = Bool.random() ? "" : "e\(Int.random(in: -330...330))"
      let text = (Bool.random() ? "-" : "") + whole + fraction + exponent
      let value = try JSONValue(json: text)
      #expect(try Readings(value.json()) == Readings(Data(text.utf8)), "\(text)")
    }
  }

  @Test func `the shortest digits of any double are read as a double`() throws {
    for _ in 0..<20_000 {
      let double = Double(bitPattern: .random(in: 0...UInt64.max))
      guard double.isFinite, double.magnitude < 1e15 || double.magnitude > 1e19 else { continue }
      let value = try JSONValue(json: double.description)
      if case .literal = value { Issue.record("\(double) is kept as text") }
      #expect(value.numberValue == double)
    }
  }

  @Test(arguments: [
    (["1", "1.0", "10e-1", "0.1e1"], ["1.0000000000000000000001", "2", "-1"]),
    (["0", "-0", "0.0", "0e999"], ["1e-400", "-1e-400"]),
    (["0.1", "1e-1", "0.10"], ["0.1000000000000000055511151231257827"]),
    (["18446744073709551615", "18446744073709551615.0", "1.8446744073709551615e19"], ["18446744073709551616"]),
    (["1e400", "10e399", "0.1e401"], ["1e401", "-1e400", "1.7976931348623157e308"]),
    (["1152921504606847000", "1.152921504606847e18"], ["1152921504606846976"]),
  ])
  func `numbers are equal if they have one value`(equal: [String], others: [String]) throws {
    let values = try equal.map { try JSONValue(json: $0) }
    #expect(Set(values).count == 1)
    for other in try others.map({ try JSONValue(json: $0) }) { #expect(!values.contains(other)) }
    let numbers = equal.compactMap { JSONNumber($0) }
    #expect(numbers.count == equal.count)
    #expect(Set(numbers).count == 1)
  }

  @Test func `a double in code equals the number that it is written as`() {
    #expect(JSONValue.number(1) == 1)
    #expect(JSONValue.number(0.5) == JSONNumber("0.50").map { JSONValue($0) })
    #expect(JSONValue.number(0x1p60) != .integer(1 << 60))
    #expect(JSONValue.number(.nan) != .number(.nan))
    #expect(JSONValue.number(.infinity) == .number(.infinity))
    #expect(JSONValue.number(2).integerValue == 2)
  }

  @Test(arguments: ["", "1 ", " 1", "01", "+1", "1.", ".5", "1e", "NaN", "0x1", "1,2", "--1"])
  func `no JSON number can be made of another text`(text: String) {
    #expect(JSONNumber(text) == nil)
  }

  @Test func `a number takes no more room than a string`() {
    #expect(MemoryLayout<JSONValue>.size == 17)
  }

  @Test func `other coders read and write numbers as exactly as they can`() throws {
    let json = "[18446744073709551615,1234567890123456.123456789,0.1,7]"
    let values = try JSONDecoder().decode([JSONValue].self, from: Data(json.utf8))
    #expect(try values == [JSONValue](json: json))
    #expect(try String(decoding: JSONEncoder().encode(values), as: UTF8.self) == json)
    let huge = try JSONValue(json: "1e400")
    #expect(throws: EncodingError.self) { try JSONEncoder().encode(huge) }
  }

  @Test(arguments: ["0e500", "0e-500", "-0.000e99999", "0E999"])
  func `a zero with any exponent is the Decimal 0`(text: String) throws {
    #expect(try Decimal(json: text) == 0)
    #expect(try JSONCoder().decode([Decimal].self, from: Data("[\(text)]".utf8)) == [0])
    #expect(try JSONCoder(decimals: .string).decode([Decimal].self, from: Data("[\"\(text)\"]".utf8)) == [0])
    #expect(throws: JSONError.self) { try Decimal(json: "1e500") }
  }

  @Test(arguments: ["aGk==", "aGk", "aGk=aGk=", "====", "a===", "=aGk", "aG=k", "aGk=\\n", "aGk= "])
  func `Base64 with other padding than it needs is refused`(text: String) {
    #expect(throws: JSONError.self) { try Data(json: "\"\(text)\"") }
    #expect(throws: DecodingError.self) { try JSONCoder().decode([Data].self, from: Data("[\"\(text)\"]".utf8)) }
  }

  @Test(arguments: ["", "aGk=", "aA==", "aGkh"])
  func `Base64 with its padding is read`(text: String) throws {
    #expect(try Data(json: "\"\(text)\"").base64EncodedString() == text)
  }
}
