import Foundation
import StrictJSON
import Testing

/// What hand-written `Codable` conformances do with containers, held to Foundation's.
@Suite struct ContainerTests {
  struct Interleaved: Encodable {
    func encode(to encoder: any Encoder) throws {
      var root = encoder.container(keyedBy: AnyKey.self)
      var object = root.nestedContainer(keyedBy: AnyKey.self, forKey: "object")
      var array = root.nestedUnkeyedContainer(forKey: "array")
      try root.encode(1, forKey: "one")
      try object.encode("a", forKey: "a")
      try array.encode(true)
      var deep = object.nestedUnkeyedContainer(forKey: "deep")
      try array.encode(["x"])
      try deep.encode(1.5)
      var inner = array.nestedContainer(keyedBy: AnyKey.self)
      try array.encode("after")
      try inner.encode("late", forKey: "late")
      try deep.encodeNil()
      try root.encode("end", forKey: "end")
      _ = root.nestedContainer(keyedBy: AnyKey.self, forKey: "empty")
      _ = array.nestedUnkeyedContainer()
    }
  }

  struct Resumed: Encodable {
    func encode(to encoder: any Encoder) throws {
      var root = encoder.container(keyedBy: AnyKey.self)
      var first = root.nestedContainer(keyedBy: AnyKey.self, forKey: "someObject")
      try first.encode(1, forKey: "a")
      try root.encode(true, forKey: "between")
      var again = root.nestedContainer(keyedBy: AnyKey.self, forKey: "someObject")
      try again.encode(2, forKey: "b")
      try first.encode(3, forKey: "c")
      for number in 0..<3 {
        var array = again.nestedUnkeyedContainer(forKey: "someArray")
        try array.encode(number)
        var inner = again.nestedContainer(keyedBy: AnyKey.self, forKey: "inner")
        try inner.encode(array.count, forKey: AnyKey(stringValue: "n\(number)"))
      }
      // Another container of the same encoder, too.
      var other = encoder.container(keyedBy: AnyKey.self)
      var third = other.nestedContainer(keyedBy: AnyKey.self, forKey: "someObject")
      try third.encode(4, forKey: "d")
    }
  }

  class Base: Codable {
    var name = "base"
    init() {}
  }

  final class Derived: Base {
    var extra = [1, 2]
    private enum CodingKeys: CodingKey { case extra }
    override init() { super.init() }
    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      extra = try container.decode([Int].self, forKey: .extra)
      try super.init(from: container.superDecoder())
    }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try super.encode(to: container.superEncoder())
      try container.encode(extra, forKey: .extra)
    }
  }

  struct Merged: Encodable {
    func encode(to encoder: any Encoder) throws {
      var first = encoder.container(keyedBy: AnyKey.self)
      try first.encode(1, forKey: "a")
      var second = encoder.container(keyedBy: AnyKey.self)
      try second.encode(2, forKey: "b")
      try first.encode(3, forKey: "c")
    }
  }

  struct Supers: Encodable {
    func encode(to encoder: any Encoder) throws {
      var array = encoder.unkeyedContainer()
      let later = array.superEncoder()
      try array.encode(2)
      var object = later.container(keyedBy: AnyKey.self)
      try object.encode(1, forKey: "one")
      _ = array.superEncoder()
    }
  }

  struct Nothing: Encodable {
    func encode(to encoder: any Encoder) throws {}
  }

  @Test func `containers that are written in turns come out in their places`() throws {
    try expectEncodedAsByFoundation(Interleaved())
    try expectEncodedAsByFoundation([Interleaved(), Interleaved()])
    try expectEncodedAsByFoundation(["a": [Interleaved()]])
  }

  @Test func `superclasses have a place of their own`() throws {
    try expectEncodedAsByFoundation(Derived())
    try expectEncodedAsByFoundation(Supers())
    let back = try JSONCoder().decode(Derived.self, from: JSONCoder().encode(Derived()))
    #expect(back.name == "base")
    #expect(back.extra == [1, 2])
    #expect(throws: DecodingError.self) { try JSONCoder().decode(Derived.self, from: Data(#"{"extra":[]}"#.utf8)) }
  }

  @Test func `a type that reads itself finds null for a superclass that wrote nothing`() throws {
    struct Parts: Decodable, Equatable {
      var direct: JSONValue?
      var optional: [Int]?
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        direct = try container.superDecoder(forKey: "direct").singleValueContainer().decode(JSONValue.self)
        optional = try container.superDecoder().singleValueContainer().decode([Int]?.self)
      }
    }
    let parts = try JSONCoder().decode(Parts.self, from: Data("{}".utf8))
    #expect(parts.direct == .null)
    #expect(parts.optional == nil)
  }

  @Test func `a container that is requested twice is the same one`() throws {
    try expectEncodedAsByFoundation(Merged())
    try expectEncodedAsByFoundation(Resumed())
    try expectEncodedAsByFoundation(["a": [Resumed(), Resumed()]])
    #expect(
      try JSONCoder(keys: .snakeCase).encode(Resumed())
        == Data(
          #"{"some_object":{"a":1,"b":2,"c":3,"some_array":[0,1,2],"inner":{"n0":1,"n1":2,"n2":3},"d":4},"between":true}"#
            .utf8))
  }

  @Test func `a value that encodes nothing is an empty object inside, and an error alone`() throws {
    try expectEncodedAsByFoundation(["a": Nothing()])
    try expectEncodedAsByFoundation([Nothing(), Nothing()])
    #expect(throws: EncodingError.self) { try JSONCoder().encode(Nothing()) }
  }

  @Test func `plain values and null stand alone`() throws {
    try expectEncodedAsByFoundation("text")
    try expectEncodedAsByFoundation(7)
    try expectEncodedAsByFoundation(Int?.none)
    try expectEncodedAsByFoundation([Int?.none, 1])
    try expectEncodedAsByFoundation(Sample.Shade.dark)
    try expectEncodedAsByFoundation([Sample.Shape.point, .circle(radius: 1), .named("a", 1)])
  }

  struct Elements: Decodable, Equatable {
    var found: [String] = []

    init(from decoder: any Decoder) throws {
      var array = try decoder.unkeyedContainer()
      found.append("\(array.count ?? -1)")
      while !array.isAtEnd {
        if try array.decodeNil() {
          found.append("null")
        } else if let number = try? array.decode(Int.self) {
          found.append("int \(number)")
        } else if let text = try array.decodeIfPresent(String.self) {
          found.append("text \(text)")
        }
        found.append("at \(array.currentIndex)")
      }
      #expect(throws: DecodingError.self) { try array.decode(Int.self) }
      #expect(throws: DecodingError.self) { try array.nestedUnkeyedContainer() }
    }
  }

  @Test func `elements are taken one after the other, and one that does not fit is not passed`() throws {
    let text = Data(#"[1,"a",null,2.0,"1.5"]"#.utf8)
    let ours = try JSONCoder().decode(Elements.self, from: text)
    #expect(ours == (try JSONDecoder().decode(Elements.self, from: text)))
    #expect(ours.found.count == 11)
  }

  struct Nested: Decodable, Equatable {
    var found: [String] = []

    init(from decoder: any Decoder) throws {
      let root = try decoder.container(keyedBy: AnyKey.self)
      let object = try root.nestedContainer(keyedBy: AnyKey.self, forKey: "o")
      found.append(try object.decode(String.self, forKey: "s"))
      var array = try root.nestedUnkeyedContainer(forKey: "a")
      var inner = try array.nestedUnkeyedContainer()
      found.append(try inner.decode(String.self))
      found.append(try array.nestedContainer(keyedBy: AnyKey.self).decode(String.self, forKey: "t"))
      found.append("\(try root.decodeNil(forKey: "n")) \(root.contains("n")) \(root.contains("m"))")
      found.append("\(try root.decodeIfPresent(Int.self, forKey: "n") ?? -1)")
      found.append("\(try root.decodeIfPresent(Int.self, forKey: "m") ?? -2)")
      found += object.allKeys.map(\.stringValue)
      found += inner.codingPath.map(\.stringValue)
    }
  }

  @Test func `nested containers are read in place, and know their path`() throws {
    let text = Data(#"{"a":[["x"],{"t":"y"}],"o":{"s":"z"},"n":null}"#.utf8)
    let ours = try JSONCoder().decode(Nested.self, from: text)
    #expect(ours == (try JSONDecoder().decode(Nested.self, from: text)))
  }

  @Test(arguments: 1...40)
  func `the last of equal keys counts, however many there are`(count: Int) throws {
    let members = (0..<count).map { #""k\#($0)":\#($0)"# } + [#""k0":-1"#, #""\u006b1":-2"#]
    let text = Data("{\(members.joined(separator: ","))}".utf8)
    struct First: Decodable { var k0: Int; var k1: Int }
    let first = try JSONCoder().decode(First.self, from: text)
    #expect(first.k0 == -1)
    #expect(first.k1 == -2)
    #expect(try JSONCoder().decode([String: Int].self, from: text)["k0"] == -1)
  }
}
