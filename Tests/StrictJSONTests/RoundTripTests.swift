import Foundation
import StrictJSON
import TestSupport
import Testing

@Suite struct RoundTripTests {
  @Test func `random values come back as they were written`() throws {
    var random = RandomJSON(seed: 7)
    for _ in 0..<3000 {
      let value = random.value()
      let data = try value.json()
      #expect(try JSONValue(json: data.bytes) == value)
      // Foundation reads the same from it.
      #expect(try JSONDecoder().decode(JSONValue.self, from: data) == value)
    }
  }

  /// Long strings are read several words at a time, and the last bytes one by one.
  @Test func `a character that is not plain is found at any place of a string, and none is read behind its end`() throws
  {
    let memory = try GuardedBytes(capacity: 256)
    let specials: [(json: String, text: String?)] = [
      ("\\\"", "\""), ("\\n", "\n"), ("é", "é"), ("𝄞", "𝄞"), ("\u{7F}", "\u{7F}"), ("\u{1F}", nil), ("\0", nil),
    ]
    for length in [0, 7, 8, 31, 32, 33, 63, 64, 65, 100, 127] {
      let plain = Array(repeating: " ~!#az[]", count: 16).joined().prefix(length)
      for place in 0...length {
        let (before, after) = (plain.prefix(place), plain.dropFirst(place))
        for special in specials {
          let text = memory.with(Array("\"\(before)\(special.json)\(after)\"".utf8)) { try? String(json: $0.bytes) }
          #expect(text == special.text.map { before + $0 + after })
        }
        #expect(memory.with(Array("\"\(before)".utf8)) { try? String(json: $0.bytes) } == nil)
      }
    }
  }

  /// A type that writes itself, with keys of which the short ones are written as one word.
  private struct Keys: JSONEncodable {
    static let names: [StaticString] = [
      "", "a", "1234567", "12345678", "123456789", "\"", "tab\t", "a\\b\u{1}", "1234567\n", "ключ", "日本", "𝄞𝄞",
    ]

    func encode(to json: inout JSONWriter) {
      json.beginObject()
      for (index, name) in Self.names.enumerated() { json.write(name, index) }
      json.endObject()
    }
  }

  @Test func `a key of any length and with any characters is written as it is read`() throws {
    let data = try Keys().json()
    let expected = Dictionary(uniqueKeysWithValues: Keys.names.enumerated().map { ($1.description, $0) })
    #expect(try JSONDecoder().decode([String: Int].self, from: data) == expected)
    #expect(try [String: Int](json: data.bytes) == expected)
  }

  @Test func `JSON that Foundation writes is read the same`() throws {
    var random = RandomJSON(seed: 8)
    for _ in 0..<1000 {
      let value = random.value()
      let data = try JSONEncoder().encode(value)
      #expect(try JSONValue(json: data.bytes) == value)
    }
  }

  @Test func `every double comes back, bit for bit`() throws {
    var random = RandomJSON(seed: 9)
    for _ in 0..<5000 {
      let value = random.double()
      let back = try Double(json: value.json().bytes)
      #expect(back.bitPattern == value.bitPattern, "\(value)")
      let text = String(value)
      #expect(try Double(json: text).bitPattern == value.bitPattern, "\(text)")
    }
  }

  @Test func `numbers of a few decimals are written with the digits that the standard library gives them`() throws {
    var random = RandomJSON(seed: 12)
    for digits in 0...9 {
      for _ in 0..<2000 {
        let number = Double(random.int(-10_000_000_000...10_000_000_000) >> random.int(0...30))
        let value = number / [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9][digits]
        let expected = value.description.hasSuffix(".0") ? String(value.description.dropLast(2)) : value.description
        #expect(String(decoding: try value.json(), as: UTF8.self) == expected)
      }
    }
    for value in [0.001, 0.0009999, 999_999_999.999_999, 999_999_999.999_999_9, 1e9, 0.1 + 0.2, -0.0, 0.5, 123_456.789]
    {
      let expected = value.description.hasSuffix(".0") ? String(value.description.dropLast(2)) : value.description
      #expect(String(decoding: try value.json(), as: UTF8.self) == expected)
    }
  }

  @Test func `an exponent counts in full, however many digits stand before it`() throws {
    let zeros = String(repeating: "0", count: 1_000_005)
    #expect(throws: JSONError.self) { try Double(json: "0.\(zeros)1e99999999") }
    #expect(throws: JSONError.self) { try Int(json: "0.\(zeros)1e99999999") }
    #expect(try Double(json: "1\(zeros)e-5000000") == 0)
    #expect(throws: JSONError.self) { try Int(json: "1\(zeros)e-5000000") }
    #expect(try Int(json: "1\(zeros)e-1000005") == 1)
    #expect(try Double(json: "0.\(zeros)1e1000006") == 1)
    #expect(try Double(json: "1e-99999999999999999999999999") == 0)
  }

  @Test func `every float comes back`() throws {
    var random = RandomJSON(seed: 10)
    for _ in 0..<3000 {
      let value = Float(bitPattern: UInt32(truncatingIfNeeded: random.generator.next()))
      guard value.isFinite else { continue }
      #expect(try Float(json: value.json().bytes).bitPattern == value.bitPattern, "\(value)")
    }
  }

  private func integersComeBack<Value: FixedWidthInteger & JSONDecodable & JSONEncodable>(_: Value.Type) throws {
    var random = RandomJSON(seed: 11)
    let some = (0..<200).map { _ in Value(truncatingIfNeeded: random.generator.next()) >> random.int(0...Value.bitWidth)
    }
    for value in [.min, .max, 0, 1, 9, 10, 99, 100] + some {
      #expect(String(decoding: try value.json(), as: UTF8.self) == String(value))
      #expect(try Value(json: String(value)) == value)
    }
    #expect(throws: JSONError.self) { try Value(json: "\(Value.max)0") }
    #expect(throws: JSONError.self) { try Value(json: String(Value.max / 2).dropLast() + "99999999999999999999") }
  }

  @Test func `integers of every width come back, and what does not fit is an error`() throws {
    try integersComeBack(Int.self)
    try integersComeBack(Int8.self)
    try integersComeBack(Int16.self)
    try integersComeBack(Int32.self)
    try integersComeBack(Int64.self)
    try integersComeBack(UInt.self)
    try integersComeBack(UInt8.self)
    try integersComeBack(UInt16.self)
    try integersComeBack(UInt32.self)
    try integersComeBack(UInt64.self)
  }

  @Test(arguments: [
    ("18446744073709551615", UInt64.max), ("18446744073709551615.0", .max), ("184467440737095516150e-1", .max),
    ("1844674407370955161500000000000000000000e-20", .max), ("0.00018446744073709551615e23", .max),
    ("1.8446744073709551615e19", .max), ("18446744073709551616", nil), ("1.5", nil), ("-1", nil), ("-0", 0),
    ("1e19", 10_000_000_000_000_000_000), ("1e20", nil), ("0e99999", 0), ("1e-1", nil), ("10e-1", 1),
    ("1e99999999999", nil),
  ])
  func `a whole number is exact in whatever form it is written`(text: String, value: UInt64?) {
    #expect((try? UInt64(json: text)) == value)
  }

  @Test func `types of Foundation come back`() throws {
    let date = Date(timeIntervalSince1970: 1_605_521_360.5)
    #expect(try Date(json: date.json().bytes) == date)
    let url = try #require(URL(string: "https://example.com/a%20b?c=d#e"))
    #expect(try URL(json: url.json().bytes) == url)
    let id = UUID()
    #expect(try UUID(json: id.json().bytes) == id)
    let data = Data((0...255).map { UInt8($0) })
    #expect(try Data(json: data.json().bytes) == data)
    let decimal = try #require(Decimal(string: "1234567890.0987654321098765432109876543"))
    #expect(try Decimal(json: decimal.json().bytes) == decimal)
  }

  /// Texts of numbers at the edges of what the types hold, and random ones.
  private static let numbers: [String] = {
    var random = RandomJSON(seed: 13)
    let edges = [
      "0", "-0", "0.0", "-0.0", "0e9", "-0e-9", "1e-400", "-1e-400", "5e-324", "-5e-324", "2.2250738585072014e-308",
      "1.7976931348623157e308", "-1.7976931348623157e308", "1.79769313486231570e308", "3.4028234663852886e38",
      "1e-45", "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
      "18446744073709551615", "1e19", "1e127", "1e128", "-1e127", "1e165", "9e-128", "1e-127", "1e-128", "1e-129",
      "99999999999999999999999999999999999999e127", "340282366920938463463374607431768211455e127",
      "340282366920938463463374607431768211455", "0.\(String(repeating: "3", count: 60))",
      "1.\(String(repeating: "0", count: 60))1",
      "123456789012345678901234567890123456789012345678901234567890", "1e38", "1e39", "1e23", "0.1e1", "100e-2",
    ]
    return edges
      + (0..<3000).map { _ in
        let digits = (0...random.int(0...45)).map { _ in String(random.int(0...9)) }.joined()
        let whole = random.int(0...1) == 0 ? "0" : "\(random.int(1...9))" + digits.prefix(random.int(0...45))
        let fraction = random.int(0...1) == 0 ? "" : "." + digits
        let exponent = random.int(0...1) == 0 ? "" : "e\(random.int(-330...310) / random.int(1...20))"
        return (random.int(0...1) == 0 ? "" : "-") + whole + fraction + exponent
      }
  }()

  /// Whatever of `texts` is read as a value is written, and read back as the same.
  private func comesBack<Value: JSONDecodable & JSONEncodable & Codable & Equatable>(
    _ type: Value.Type, from texts: [String], coders: [JSONCoder] = [JSONCoder(), JSONCoder(keys: .snakeCase)]
  ) throws {
    var count = 0
    for text in texts {
      for coder in coders {
        guard let value = try? coder.decode([Value].self, from: Data("[\(text)]".utf8)) else { continue }
        count += 1
        guard let written = try? coder.encode(value) else {
          Issue.record("\(type) of \(text) is not written")
          continue
        }
        let again = try? coder.decode([Value].self, from: written)
        #expect(again == value, "\(type) of \(text), written as \(String(decoding: written, as: UTF8.self))")
      }
    }
    #expect(count > texts.count / 10, "\(type)")
  }

  @Test func `every number that is read is written, and read back as the same`() throws {
    try comesBack(Double.self, from: Self.numbers)
    try comesBack(Float.self, from: Self.numbers)
    try comesBack(Decimal.self, from: Self.numbers)
    try comesBack(JSONValue.self, from: Self.numbers)
    try comesBack(RawJSON.self, from: Self.numbers)
    try comesBack(Int64.self, from: Self.numbers)
    try comesBack(UInt64.self, from: Self.numbers)
    try comesBack(Int128.self, from: Self.numbers)
    try comesBack(UInt128.self, from: Self.numbers)
  }

  @Test func `every date of any strategy that is read is written, and read back as the same`() throws {
    let coders = [
      JSONCoder(dates: .secondsSince1970), JSONCoder(dates: .millisecondsSince1970), JSONCoder(dates: .deferredToDate),
    ]
    var random = RandomJSON(seed: 14)
    let times = (0..<3000).map { _ in
      "\(random.int(-99_999_999_999_999...99_999_999_999_999) >> random.int(0...40)).\(random.int(0...999_999))"
    }
    try comesBack(Date.self, from: Self.numbers + times, coders: coders)
  }

  @Test func `every URL, UUID and data that is read is written, and read back as the same`() throws {
    let urls = [
      "https://a.example/b c?d=e f#g h", "https://例え.jp/é", "a/b", "//a", "?q", "#f", "mailto:a@b", "http://[::1]:80/",
      "%20", "a%zz",
      "http://a/%e4%b8%ad", "HTTP://A.example", "file:///a b", "data:,é", "http://a.example:99999/", "x:", ".", "..",
      "a\\nb",
      "http://a b/", "http://u:p@h/", " ", "\\u0000", "http://\u{10ffff}/", "😀",
    ].map { "\"\($0)\"" }
    try comesBack(URL.self, from: urls)
    let id = "123e4567-e89b-12d3-a456-426614174000"
    try comesBack(UUID.self, from: [id, id.uppercased(), "{\(id)}", "\(id) "].map { "\"\($0)\"" })
    try comesBack(Data.self, from: ["", "AA==", "AB==", "AAA=", "AAAA", "A A=", "AA", "-_=="].map { "\"\($0)\"" })
  }

  @Test func `a value without a form in JSON is an error that names its place`() throws {
    let values: [String: [Double?]] = ["a": [1, nil, 2], "b": [0, .nan]]
    let error = try #require(throws: JSONError.self) { try values.json() }
    #expect(error.pathText == "b[1]")
    #expect(throws: JSONError.self) { try [Double.infinity].json() }
    #expect(throws: JSONError.self) { try Date(timeIntervalSince1970: 1e15).json() }
    let deep = (0..<129).reduce(JSONValue.null) { value, _ in [value] }
    #expect(throws: JSONError.self) { try deep.json() }
  }

  @Test func `a value that cannot be written is named by its own place, and not by the one before it`() throws {
    let (good, bad) = (Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 1e15))
    let flat = try #require(throws: JSONError.self) { try [good, bad].json() }
    #expect(flat.path == [.index(1)])
    let nested = try #require(throws: JSONError.self) { try ["a": [[good], [good, good, bad]]].json() }
    #expect(nested.path == [.key("a"), .index(1), .index(2)])
    #expect(try #require(throws: JSONError.self) { try [[good], [bad]].json() }.path == [.index(1), .index(0)])
    #expect(try #require(throws: JSONError.self) { try [0, Double.nan].json() }.path == [.index(1)])
    #expect(try #require(throws: JSONError.self) { try [0, Decimal.nan].json() }.path == [.index(1)])
    let deep = (0..<127).reduce([1, [2]] as JSONValue) { value, _ in [0, value] }
    let tooDeep = try #require(throws: JSONError.self) { try deep.json() }
    #expect(tooDeep.path == Array(repeating: .index(1), count: 128))
    for coder in [JSONCoder(), JSONCoder(keys: .snakeCase)] {
      let error = try #require(throws: EncodingError.self) { try coder.encode(["a": [[good], [good, bad]]]) }
      guard case .invalidValue(_, let context) = error else { continue }
      #expect((context.underlyingError as? JSONError)?.path.last == .index(1))
      #expect(context.codingPath.map(\.intValue) == [nil, 1, 1])
    }
  }

  @Test func `objects are written sorted by their keys, and no comma is too many`() throws {
    let value: JSONValue = ["b": [1, .null, "x"], "a": [:], "c": [], "é": ["y": 1.5]]
    #expect(String(decoding: try value.json(), as: UTF8.self) == #"{"a":{},"b":[1,null,"x"],"c":[],"é":{"y":1.5}}"#)
  }

  @Test func `raw bytes are kept as they came, and written as they are`() throws {
    let raw = try [RawJSON](json: #"[ {"a" : 1.0} , "\u0061" ]"#)
    #expect(raw.map { String(decoding: $0.bytes, as: UTF8.self) } == [#"{"a" : 1.0}"#, #""\u0061""#])
    #expect(String(decoding: try raw.json(), as: UTF8.self) == #"[{"a" : 1.0},"\u0061"]"#)
  }

  @Test func `the output stays whole however long the texts are`() throws {
    for length in [0, 1, 7, 8, 9, 15, 16, 17, 255, 256, 257, 5000] {
      for piece in ["a", "\n", "\u{1}", "\"", "中", "😀"] {
        let text = String(repeating: piece, count: length)
        #expect(try [String](json: [text, text].json().bytes) == [text, text])
      }
    }
  }
}
