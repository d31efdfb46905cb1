import Foundation
import StrictJSON
import Testing

/// What types do with encoders that Foundation forgives, or that would be no JSON.
@Suite struct MisuseTests {
  /// Writes raw JSON, and then members or elements.
  struct Continued: Encodable {
    let raw: RawJSON
    let isArray: Bool

    init(_ text: String) throws {
      raw = try RawJSON(json: text)
      isArray = text.contains("[")
    }

    func encode(to encoder: any Encoder) throws {
      var first = encoder.singleValueContainer()
      try first.encode(raw)
      if isArray {
        var array = encoder.unkeyedContainer()
        try array.encode(array.count)
      } else {
        var object = encoder.container(keyedBy: AnyKey.self)
        try object.encode(1, forKey: "id")
      }
    }
  }

  @Test(arguments: [
    ("{ }", #"{"id":1}"#), ("{\n\t\r }", #"{"id":1}"#), (#"{ "a":2 }"#, #"{"a":2,"id":1}"#), ("{}", #"{"id":1}"#),
    ("[ ]", "[0]"), ("[1 ]", "[1,1]"), ("[[], [] ]", "[[],[],2]"), ("[\n]", "[0]"),
  ])
  func `members and elements may follow raw JSON`(raw: String, expected: String) throws {
    for value in [[try Continued(raw)], [try Continued(raw), try Continued(raw)]] {
      let text = try JSONCoder().encode(value)
      #expect(try JSONValue(json: text.bytes) == .array(value.map { _ in try JSONValue(json: expected) }))
    }
  }

  /// A superclass and its subclass that both write into a nested container of one name.
  struct Base: Encodable {
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: AnyKey.self)
      var inner = container.nestedContainer(keyedBy: AnyKey.self, forKey: "inner")
      try inner.encode(1, forKey: "base")
      var list = container.nestedUnkeyedContainer(forKey: "list")
      try list.encode(1)
      try container.encode(true, forKey: "after")
    }
  }

  struct Derived: Encodable {
    func encode(to encoder: any Encoder) throws {
      var single = encoder.singleValueContainer()
      try single.encode(Base())
      var container = encoder.container(keyedBy: AnyKey.self)
      var inner = container.nestedContainer(keyedBy: AnyKey.self, forKey: "inner")
      try inner.encode(2, forKey: "derived")
      var list = container.nestedUnkeyedContainer(forKey: "list")
      try list.encode(2)
    }
  }

  @Test func `nested containers of one name are one, also after a value that stood alone`() throws {
    try expectEncodedAsByFoundation(Derived())
    try expectEncodedAsByFoundation(["a": [Derived(), Derived()]])
    #expect(
      try JSONCoder().encode(Derived())
        == Data(#"{"inner":{"base":1,"derived":2},"list":[1,2],"after":true}"#.utf8))
  }

  /// Keeps containers and encoders, and writes into them when their values have ended or others have begun.
  final class Keeper: Encodable {
    enum Kept: CaseIterable { case object, array, encoder, single, nested, outer }
    struct Child: Encodable {
      let keeper: Keeper
      func encode(to encoder: any Encoder) throws { try keeper.encodeChild(to: encoder) }
    }

    let kept: Kept
    let isInArray: Bool
    private var object: KeyedEncodingContainer<AnyKey>?
    private var array: (any UnkeyedEncodingContainer)?
    private var encoder: (any Encoder)?
    private var single: (any SingleValueEncodingContainer)?
    private(set) var isDone = false

    init(_ kept: Kept, isInArray: Bool) {
      self.kept = kept
      self.isInArray = isInArray
    }

    fileprivate func encodeChild(to encoder: any Encoder) throws {
      switch kept {
      case .object, .nested: object = encoder.container(keyedBy: AnyKey.self)
      case .array: array = encoder.unkeyedContainer()
      case .encoder:
        var container = encoder.singleValueContainer()
        try container.encode([String: Int]())
        self.encoder = encoder
      case .single: single = encoder.singleValueContainer()
      case .outer: try write()
      }
    }

    /// Writes by what was kept.
    func write() throws {
      try object?.encode(1, forKey: "late")
      try array?.encode("late")
      try single?.encode("late")
      if kept == .nested { _ = object?.nestedContainer(keyedBy: AnyKey.self, forKey: "late") }
      var late = encoder?.container(keyedBy: AnyKey.self)
      try late?.encode(1, forKey: "late")
      isDone = true
    }

    func encode(to encoder: any Encoder) throws {
      if isInArray {
        var container = encoder.unkeyedContainer()
        if kept == .outer { array = container }
        try container.encode(Child(keeper: self))
        try? write()
        try container.encode(2)
      } else {
        var container = encoder.container(keyedBy: AnyKey.self)
        if kept == .outer { object = container }
        try container.encode(Child(keeper: self), forKey: "child")
        try? write()
        try container.encode(2, forKey: "last")
      }
    }
  }

  @Test(arguments: Keeper.Kept.allCases, [true, false])
  func `what is written out of turn is an error, and never damages the text`(kept: Keeper.Kept, isInArray: Bool) throws
  {
    let keeper = Keeper(kept, isInArray: isInArray)
    if let text = try? JSONCoder().encode(["a": [keeper]]) {
      let value = try JSONValue(json: text.bytes)
      #expect(value["a"]?.arrayValue?.count == 1)
      #expect(!String(decoding: text, as: UTF8.self).contains("late"))
    }
    // After the end there is nothing to write into either.
    #expect(!keeper.isDone || kept == .nested)
    try? keeper.write()
  }

  /// Asks for two kinds of containers, and writes into both.
  struct Confused: Encodable {
    let isFirstArray: Bool
    func encode(to encoder: any Encoder) throws {
      if isFirstArray {
        var array = encoder.unkeyedContainer()
        try array.encode(1)
        var object = encoder.container(keyedBy: AnyKey.self)
        try object.encode(1, forKey: "a")
      } else {
        var single = encoder.singleValueContainer()
        try single.encode("text")
        _ = encoder.container(keyedBy: AnyKey.self)
      }
    }
  }

  @Test(arguments: [true, false]) func `a value of two kinds is an error`(isFirstArray: Bool) {
    #expect(throws: EncodingError.self) { try JSONCoder().encode(Confused(isFirstArray: isFirstArray)) }
    #expect(throws: EncodingError.self) { try JSONCoder().encode([["a": Confused(isFirstArray: isFirstArray)]]) }
  }

  /// Passes over values that cannot be written.
  struct Tolerant: Encodable {
    let count: Int
    let isNested: Bool

    struct Bad: Encodable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        var inner = container.nestedContainer(keyedBy: AnyKey.self, forKey: "a")
        try inner.encode(1, forKey: "b")
        try container.encode(Double.nan, forKey: "c")
      }
    }

    func encode(to encoder: any Encoder) throws {
      if isNested {
        var container = encoder.container(keyedBy: AnyKey.self)
        for index in 0..<count {
          let key = AnyKey(stringValue: "k\(index)")
          var nested = container.nestedContainer(keyedBy: AnyKey.self, forKey: key)
          try nested.encode(index, forKey: "i")
          try? container.encode(Bad(), forKey: "bad")
        }
      } else {
        var container = encoder.unkeyedContainer()
        for index in 0..<count {
          try container.encode(index)
          try? container.encode(Date(timeIntervalSince1970: 1e18))
          try? container.encode([1.5, .infinity])
          try? container.encode(RawJSON(json: "1"))
        }
      }
    }
  }

  @Test(.timeLimit(.minutes(1)), arguments: [(200_000, false), (60_000, true)])
  func `failures that are passed over cost no more for what was written before`(count: Int, isNested: Bool) throws {
    let text = try JSONCoder().encode(Tolerant(count: count, isNested: isNested))
    let value = try JSONValue(json: text.bytes)
    if isNested {
      #expect(value["k\(count - 1)"] == ["i": .integer(Int64(count - 1))])
      #expect(value["bad"] == nil)
    } else {
      #expect(value.arrayValue?.count == 2 * count)
    }
  }

  @Test func `an error names its path, whatever was written and passed over before`() throws {
    struct Late: Encodable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        try? container.encode([Double.nan], forKey: "first")
        try container.encode([["x": [1.5, -.infinity]]], forKey: "second")
      }
    }
    let error = #expect(throws: EncodingError.self) { try JSONCoder().encode([["a": Late()]]) }
    guard case .invalidValue(_, let context) = error else { return }
    #expect(context.codingPath.map(\.stringValue) == ["Index 0", "a", "second", "Index 0", "x", "Index 1"])
    let path = (context.underlyingError as? JSONError)?.pathText
    #expect(path == "[0].a.second[0].x[1]")
  }
}
