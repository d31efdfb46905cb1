import Foundation
import StrictJSON
import Testing

/// What encoders do with values that stand alone, fail, or are dictionaries, held to Foundation's where that does the
/// same.
@Suite struct EncodingTests {
  /// Goes on where a superclass has written, or another value of its own.
  struct Continued<First: Encodable>: Encodable {
    var first: First
    func encode(to encoder: any Encoder) throws {
      var plain = encoder.singleValueContainer()
      try plain.encode(first)
      if first is any Collection && !(first is [String: Int]) {
        var array = encoder.unkeyedContainer()
        try array.encode("more, [of] {it}")
        var inner = array.nestedUnkeyedContainer()
        try array.encode("\(array.count)")
        try inner.encode(1)
      } else {
        var object = encoder.container(keyedBy: AnyKey.self)
        try object.encode("more", forKey: "z")
        var inner = object.nestedContainer(keyedBy: AnyKey.self, forKey: "inner")
        try object.encode(2, forKey: "y")
        try inner.encode(1, forKey: "x")
      }
    }
  }

  struct Fallback: Encodable {
    struct Bad: Encodable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        try container.encode(1, forKey: "a")
        try container.encode(Double.nan, forKey: "b")
      }
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      do { try container.encode(Bad()) } catch { try container.encode("fallback") }
    }
  }

  /// A key that tells whether anybody holds it.
  struct HeldKey: CodingKey {
    final class Token: Sendable {}
    var stringValue: String { "k" }
    var intValue: Int? { nil }
    let token: Token
    init(_ token: Token) { self.token = token }
    init?(stringValue: String) { nil }
    init?(intValue: Int) { nil }
  }

  struct Failing: Encodable {
    let token: HeldKey.Token
    func encode(to encoder: any Encoder) throws {
      var root = encoder.container(keyedBy: HeldKey.self)
      var nested = root.nestedContainer(keyedBy: HeldKey.self, forKey: HeldKey(token))
      var inner = nested.nestedUnkeyedContainer(forKey: HeldKey(token))
      try inner.encode(Double.nan)
    }
  }

  /// Nested arrays, of which the innermost passes over what cannot be written.
  struct Deep: Encodable {
    let levels: Int
    func encode(to encoder: any Encoder) throws {
      var container = encoder.unkeyedContainer()
      if levels > 1 { return try container.encode(Deep(levels: levels - 1)) }
      try? container.encode(Double.nan)
      try? container.encode([Double.nan])
    }
  }

  struct Twice: Encodable {
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(1)
      try container.encode(2)
    }
  }

  @Test func `an object or an array that stands alone is gone on with`() throws {
    try expectEncodedAsByFoundation(Continued(first: ContainerTests.Merged()))
    try expectEncodedAsByFoundation([
      Continued(first: ContainerTests.Nothing()), Continued(first: ContainerTests.Nothing()),
    ])
    try expectEncodedAsByFoundation(["a": Continued(first: ["k": 1]), "b": Continued(first: [:])])
    try expectEncodedAsByFoundation(Continued(first: ContainerTests.Interleaved()))
    try expectEncodedAsByFoundation(Continued(first: Continued(first: ContainerTests.Derived())))
    try expectEncodedAsByFoundation([Continued(first: [1, 2]), Continued(first: [])])
    try expectEncodedAsByFoundation(Continued(first: [["a,]"], [], ["\"", ","]]))
    try expectEncodedAsByFoundation(Continued(first: Continued(first: ContainerTests.Merged())))
  }

  @Test func `a value that fails where it stands alone leaves no trace`() throws {
    for value in [[Fallback(), Fallback()]] {
      #expect(String(decoding: try JSONCoder().encode(value), as: UTF8.self) == #"["fallback","fallback"]"#)
    }
    #expect(String(decoding: try JSONCoder().encode(Fallback()), as: UTF8.self) == #""fallback""#)
  }

  @Test func `T4: an error that is caught leaves the error of an earlier depth`() throws {
    let coder = JSONCoder()
    #expect(try coder.encode(Deep(levels: 128)).count == 256)
    #expect(throws: EncodingError.self) { try coder.encode(Deep(levels: 129)) }
  }

  @Test func `two values in one place are an error, as they would be no JSON`() {
    #expect(throws: EncodingError.self) { try JSONCoder().encode(Twice()) }
    #expect(throws: EncodingError.self) { try JSONCoder(keys: .snakeCase).encode([Twice()]) }
  }

  @Test func `a value that fails within nested containers is released`() throws {
    weak var held: HeldKey.Token?
    do {
      let token = HeldKey.Token()
      held = token
      #expect(throws: EncodingError.self) { try JSONCoder().encode(Failing(token: token)) }
      #expect(throws: EncodingError.self) { try JSONCoder().encode([["a": Failing(token: token)]]) }
    }
    #expect(held == nil)
  }

  struct Color: Codable, Hashable, CodingKeyRepresentable {
    var name: String
    init(name: String) { self.name = name }
    var codingKey: any CodingKey { AnyKey(stringValue: name) }
    init?<Key: CodingKey>(codingKey: Key) { name = codingKey.stringValue }
  }

  @Test func `the members of dictionaries with keys of any kind are sorted by their names`() throws {
    let numbers = Dictionary(uniqueKeysWithValues: (0..<12).map { ($0, $0) })
    let names = numbers.keys.map(String.init).sorted()
    let text = "{" + names.map { #""\#($0)":\#($0)"# }.joined(separator: ",") + "}"
    #expect(String(decoding: try JSONCoder().encode(numbers), as: UTF8.self) == text)
    let colors = Dictionary(uniqueKeysWithValues: numbers.map { (Color(name: "\($0)"), $1) })
    #expect(String(decoding: try JSONCoder().encode(colors), as: UTF8.self) == text)
    #expect(try JSONCoder().decode([Int: Int].self, from: Data(text.utf8)) == numbers)
    #expect(try JSONCoder().decode([Color: Int].self, from: Data(text.utf8)) == colors)
    let camel = [Color(name: "aB"): ["cD": 1]]
    let theirs = try JSONCoder.foundationEncoder(snakeCase: true).encode(camel)
    #expect(try JSONCoder(keys: .snakeCase).encode(camel) == theirs)
    #expect(throws: EncodingError.self) { try JSONCoder().encode([1: Double.nan]) }
  }
}
