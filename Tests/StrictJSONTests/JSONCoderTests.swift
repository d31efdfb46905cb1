import Foundation
import StrictJSON
import TestSupport
import Testing

@Suite struct JSONCoderTests {
  private let coder = JSONCoder()

  @Test func `names are written in snake case as by Foundation, whatever their letters are`() throws {
    let scalars: [Unicode.Scalar] = [
      "a", "Z", "Q", "_", "1", "é", "É", "ǅ", "ǆ", "Ǆ", "\u{301}", "ß", "İ", "早", "ᾈ", "ª", "Ⓐ", "ⓐ", "ⅷ", "Ⅷ", "𝐀",
      "𝐚",
    ]
    let encoder = JSONCoder.foundationEncoder(snakeCase: true)
    for first in scalars {
      for second in scalars {
        for third in scalars {
          var key = "x"
          key.unicodeScalars.append(contentsOf: [first, second, third, "b"])
          let value = Single(key: AnyKey(stringValue: key))
          #expect(try JSONCoder(keys: .snakeCase).encode(value) == encoder.encode(value), "\(key)")
        }
      }
    }
  }

  private struct Single: Encodable {
    let key: AnyKey
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: AnyKey.self)
      try container.encode(1, forKey: key)
    }
  }

  @Test(arguments: [false, true])
  func `values of any kind are read and written as by Foundation`(snakeCase: Bool) throws {
    let coder = JSONCoder(keys: snakeCase ? .snakeCase : .asWritten)
    let decoder = JSONCoder.foundationDecoder(snakeCase: snakeCase)
    let encoder = JSONCoder.foundationEncoder(snakeCase: snakeCase)
    var random = RandomJSON(seed: 21)
    for _ in 0..<300 {
      let sample = Sample.random(&random)
      let theirs = try encoder.encode(sample)
      let ours = try coder.encode(sample)
      #expect(try coder.decode(Sample.self, from: theirs) == sample)
      #expect(try decoder.decode(Sample.self, from: ours) == sample)
      #expect(try coder.decode(Sample.self, from: ours) == sample)
      #expect(try JSONValue(json: ours.bytes) == JSONValue(json: theirs.bytes))
    }
  }

  @Test func `dates and data are read and written as the options say`() throws {
    struct Event: Codable, Equatable {
      var at: Date
      var data: Data
    }
    let event = Event(at: Date(timeIntervalSince1970: 1_605_521_360.5), data: Data([0, 255]))
    let texts: [(JSONCoder, String)] = [
      (JSONCoder(), #"{"at":"2020-11-16T10:09:20.500000Z","data":"AP8="}"#),
      (JSONCoder(dates: .secondsSince1970), #"{"at":1605521360.5,"data":"AP8="}"#),
      (JSONCoder(dates: .millisecondsSince1970, data: .deferredToData), #"{"at":1605521360500,"data":[0,255]}"#),
      (JSONCoder(dates: .lenientISO8601), #"{"at":"2020-11-16T10:09:20.500000Z","data":"AP8="}"#),
      (JSONCoder(dates: .deferredToDate), #"{"at":627214160.5,"data":"AP8="}"#),
      (
        JSONCoder(
          dates: .custom(
            read: { Double($0.dropFirst()).map { Date(timeIntervalSince1970: $0) } },
            write: { "@\($0.timeIntervalSince1970)" })),
        #"{"at":"@1605521360.5","data":"AP8="}"#
      ),
    ]
    for (coder, text) in texts {
      #expect(String(decoding: try coder.encode(event), as: UTF8.self) == text)
      #expect(try coder.decode(Event.self, from: Data(text.utf8)) == event)
    }
  }

  @Test(
    arguments: [
      ("2026-01-31T12:00:00Z", 1_769_860_800.0), ("2026-01-31T12:00:00", 1_769_860_800),
      ("2026-01-31T12:00:00.25", 1_769_860_800.25), ("2026-01-31 13:00:00+01:00", 1_769_860_800),
      ("2026-01-31", 1_769_817_600), ("2026-02-29", nil), ("2026-01-31T12:00", nil), ("2026-01-31T12:00:00 UTC", nil),
    ] as [(String, Double?)])
  func `a date without an offset, and a calendar date, are read as UTC if the coder is lenient`(
    text: String, seconds: Double?
  ) throws {
    let json = Data("[\"\(text)\"]".utf8)
    let coder = JSONCoder(dates: .lenientISO8601)
    #expect((try? coder.decode([Date].self, from: json))?.first?.timeIntervalSince1970 == seconds)
  }

  @Test func `calendar dates are written without a time of day`() throws {
    let coder = JSONCoder(dates: .calendarDate)
    let days = try coder.decode([Date].self, from: Data(#"["2024-02-29","0001-01-01"]"#.utf8))
    #expect(days.first == Date(iso8601: "2024-02-29T00:00:00Z"))
    #expect(String(decoding: try coder.encode(days), as: UTF8.self) == #"["2024-02-29","0001-01-01"]"#)
    #expect(throws: DecodingError.self) { try coder.decode([Date].self, from: Data(#"["2024-02-29T00:00:00Z"]"#.utf8)) }
  }

  @Test func `decimals are read and written as strings if the coder says so, to the last digit`() throws {
    let coder = JSONCoder(decimals: .string)
    let text = #"["12345678901234567890.123456789","-0.1"]"#
    let prices = try coder.decode([Decimal].self, from: Data(text.utf8))
    #expect(String(decoding: try coder.encode(prices), as: UTF8.self) == text)
    #expect(try coder.decode([Decimal].self, from: Data("[1.5]".utf8)) == [1.5])
    let texts = ["1.5 EUR", "", "NaN", "-", ".", "+5e1", "2026-01-31", "1.2.3", "1e5-3", "e5", "5e", " 5"]
    for json in texts.map({ "[\"\($0)\"]" }) + ["[true]"] {
      #expect(throws: DecodingError.self) { try coder.decode([Decimal].self, from: Data(json.utf8)) }
    }
    #expect(throws: DecodingError.self) { try JSONCoder().decode([Decimal].self, from: Data(text.utf8)) }
  }

  @Test func `a date that a format of one's own does not take is an error with its place`() {
    struct Event: Decodable { var at: Date }
    let coder = JSONCoder(dates: .custom(read: { _ in nil }, write: { _ in "" }))
    let error = #expect(throws: DecodingError.self) {
      try coder.decode(Event.self, from: Data(#"{"at":"tomorrow"}"#.utf8))
    }
    #expect("\(String(describing: error))".contains("a date in the format that was set"))
    #expect("\(String(describing: error))".contains("at"))
  }

  @Test func `keys are converted as by Foundation, and those of dictionaries are not`() throws {
    struct Keys: Codable {
      var names: [String]
      init(names: [String]) { self.names = names }
      init(from decoder: any Decoder) throws {
        names = try decoder.container(keyedBy: AnyKey.self).allKeys.map(\.stringValue).sorted()
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        for name in names { try container.encode(0, forKey: AnyKey(stringValue: name)) }
      }
    }
    let snake = JSONCoder(keys: .snakeCase)
    var random = RandomJSON(seed: 22)
    let pieces = ["a", "b", "Z", "U", "R", "_", "1", "é", "É", "url"]
    for _ in 0..<3000 {
      let name = (0..<random.int(1...7)).map { _ in pieces[random.int(0...(pieces.count - 1))] }.joined()
      let keys = Keys(names: [name])
      let theirs = try JSONCoder.foundationEncoder(snakeCase: true).encode(keys)
      #expect(try snake.encode(keys) == theirs, "\(name)")
      let text = Data(#"{"\#(name)":0}"#.utf8)
      let read = try JSONCoder.foundationDecoder(snakeCase: true).decode(Keys.self, from: text).names
      #expect(try snake.decode(Keys.self, from: text).names == read, "\(name)")
    }
    struct Map: Codable, Equatable { var someMap: [String: [String: Int]] }
    let map = Map(someMap: ["a_b": ["c_d": 1], "eF": [:]])
    #expect(String(decoding: try snake.encode(map), as: UTF8.self) == #"{"some_map":{"a_b":{"c_d":1},"eF":{}}}"#)
    #expect(try snake.decode(Map.self, from: snake.encode(map)) == map)
  }

  @Test func `a type that reads and writes itself does so wherever it stands`() throws {
    struct Box<Value: Codable & Equatable>: Codable, Equatable { var value: Value }
    let box = Box(value: [SelfMade(number: 7)])
    let data = try coder.encode(box)
    #expect(String(decoding: data, as: UTF8.self) == #"{"value":["self-made 7"]}"#)
    #expect(try coder.decode(Box<[SelfMade]>.self, from: data) == box)
    #expect(try coder.decode(SelfMade.self, from: Data(#""self-made 8""#.utf8)) == SelfMade(number: 8))
    let error = try #require(throws: DecodingError.self) {
      try coder.decode(Box<[SelfMade]>.self, from: Data(#"{"value":["self-made 1",2]}"#.utf8))
    }
    guard case .typeMismatch(_, let context) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(context.codingPath.map(\.stringValue) == ["value", "Index 1"])
    #expect((context.underlyingError as? JSONError)?.offset == 24)
  }

  @Test func `a type that reads itself and is tried costs what it reads, wherever it stands`() throws {
    struct Tried: Decodable {
      var made: SelfMade?
      init(from decoder: any Decoder) throws {
        made = try? decoder.singleValueContainer().decode(SelfMade.self)
      }
    }
    let text = "[" + Array(repeating: "1", count: 100_000).joined(separator: ",") + #","self-made 2"]"#
    let tried = try coder.decode([Tried].self, from: Data(text.utf8))
    #expect(tried.count == 100_001)
    #expect(tried.compactMap(\.made) == [SelfMade(number: 2)])
  }

  @Test func `a type's own error without a path is an error`() throws {
    struct Own: Decodable, JSONDecodable {
      init(from json: inout JSONReader) throws(JSONError) {
        throw JSONError(.missing(key: "k"), path: [], offset: 0, expected: "a value")
      }
    }
    let error = try #require(throws: DecodingError.self) { try coder.decode(Own.self, from: Data("{}".utf8)) }
    guard case .keyNotFound(let key, let context) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(key.stringValue == "k")
    #expect(context.codingPath.isEmpty)
  }

  @Test func `a value that cannot be written leaves no trace where its error is caught`() throws {
    struct Careful: Encodable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        try container.encode(1, forKey: "a")
        try? container.encode(Double.nan, forKey: "b")
        try? container.encode(["x": [1, .infinity]], forKey: "c")
        try? container.encode(Bad(), forKey: "d")
        try container.encode([2], forKey: "e")
      }
    }
    struct Bad: Encodable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        try container.encode(1)
        var nested = container.nestedContainer(keyedBy: AnyKey.self)
        try nested.encode("y", forKey: "z")
        throw EncodingError.invalidValue(self, .init(codingPath: [], debugDescription: "bad"))
      }
    }
    #expect(String(decoding: try coder.encode(Careful()), as: UTF8.self) == #"{"a":1,"e":[2]}"#)
    let error = try #require(throws: EncodingError.self) { try coder.encode(["a": [1, Double.nan]]) }
    guard case .invalidValue(_, let context) = error else { return }
    #expect(!context.debugDescription.isEmpty)
  }

  @Test func `text that is no JSON is an error of the kind that decoders have`() throws {
    for text in ["", "[1,]", "{\"a\":1", "[\"\u{1}\"]", String(repeating: "[", count: 129)] {
      let error = try #require(throws: DecodingError.self) { try coder.decode(Sample.self, from: Data(text.utf8)) }
      guard case .dataCorrupted(let context) = error else {
        Issue.record("\(error)")
        continue
      }
      #expect(context.underlyingError is JSONError)
    }
  }

  @Test func `a decoder that is kept still reads when the bytes are released`() throws {
    struct Later: Decodable {
      var decoder: any Decoder
      init(from decoder: any Decoder) throws { self.decoder = decoder }
    }
    let later = try coder.decode(Later.self, from: Data(#"{"a":["long enough not to be stored inline"]}"#.utf8))
    #expect(try [String: [String]](from: later.decoder) == ["a": ["long enough not to be stored inline"]])
  }

  @Test(arguments: [JSONCoder(), JSONCoder(keys: .snakeCase)])
  func `numbers of 128 bits are read and written as by Foundation`(coder: JSONCoder) throws {
    struct Wide: Codable, Equatable {
      var least = Int128.min
      var greatest = UInt128.max
      var list: [Int128] = [0, -1, 18_446_744_073_709_551_616, -9_223_372_036_854_775_809]
      var maybe: UInt128? = 7
      var missing: Int128?
      var hand: ByHand = ByHand()
    }
    struct ByHand: Codable, Equatable {
      var values: [UInt128] = [1, .max]
      init() {}
      init(from decoder: any Decoder) throws {
        var array = try decoder.unkeyedContainer()
        values = [UInt128(try array.decode(Int128.self)), try array.decode(UInt128.self)]
      }
      func encode(to encoder: any Encoder) throws {
        var array = encoder.unkeyedContainer()
        try array.encode(Int128(1))
        try array.encode(values[1])
      }
    }
    let data = try coder.encode(Wide())
    #expect(try coder.decode(Wide.self, from: data) == Wide())
    #expect(try JSONDecoder().decode(Wide.self, from: data) == Wide())
    #expect(try coder.decode(Wide.self, from: JSONEncoder().encode(Wide())) == Wide())
    #expect(String(decoding: try coder.encode(Int128.min), as: UTF8.self) == "\(Int128.min)")
    #expect(try coder.decode(UInt128.self, from: Data("1e2".utf8)) == 100)
    for text in ["\(Int128.max)0", "1.5", "340282366920938463463374607431768211456", "\"1\""] {
      #expect(throws: DecodingError.self) { try coder.decode(Int128.self, from: Data(text.utf8)) }
      #expect(throws: DecodingError.self) { try coder.decode(UInt128.self, from: Data(text.utf8)) }
    }
  }

  @Test func `a Codable type finds in userInfo what the coder was given`() throws {
    struct Reader: Codable, Equatable {
      var found: String?
      init() {}
      init(from decoder: any Decoder) throws {
        found = CodingUserInfoKey(rawValue: "k").flatMap { decoder.userInfo[$0] as? String }
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(CodingUserInfoKey(rawValue: "k").flatMap { encoder.userInfo[$0] as? String })
      }
    }
    let key = try #require(CodingUserInfoKey(rawValue: "k"))
    let coder = JSONCoder(userInfo: [key: "v"])
    #expect(try coder.decode(Reader.self, from: Data("{}".utf8)).found == "v")
    #expect(try coder.encode(Reader()) == Data(#""v""#.utf8))
  }
}

struct SelfMade: Codable, Equatable, JSONDecodable, JSONEncodable {
  var number: Int

  init(number: Int) { self.number = number }

  init(from json: inout JSONReader) throws(JSONError) {
    let text = try json.readString()
    guard let number = Int(text.dropFirst(10)) else { throw json.invalid("a self-made number") }
    self.number = number
  }

  func encode(to json: inout JSONWriter) { json.writeString("self-made \(number)") }
}

struct AnyKey: CodingKey, ExpressibleByStringLiteral {
  var stringValue: String
  var intValue: Int? { nil }

  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
  init(stringLiteral: String) { stringValue = stringLiteral }
}
