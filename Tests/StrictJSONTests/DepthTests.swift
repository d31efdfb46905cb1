import Foundation
import StrictJSON
import Testing

/// Values that nest as deep as JSON may, and deeper, on small stacks.
@Suite struct DepthTests {
  final class Chain: Codable, Sendable {
    let number: Int
    let next: Chain?

    init(levels: Int) {
      number = levels
      next = levels > 1 ? Chain(levels: levels - 1) : nil
    }
  }

  struct Tree: Codable, Equatable {
    var children: [Tree]
  }

  enum AnyJSON: Codable, Equatable {
    case plain(Double)
    case array([AnyJSON])
    case object([String: AnyJSON])

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let value = try? container.decode(Double.self) {
        self = .plain(value)
      } else if let value = try? container.decode([AnyJSON].self) {
        self = .array(value)
      } else {
        self = .object(try container.decode([String: AnyJSON].self))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .plain(let value): try container.encode(value)
      case .array(let value): try container.encode(value)
      case .object(let value): try container.encode(value)
      }
    }
  }

  /// Values that contain themselves, so that they have no end.
  enum Endless: String, CaseIterable, Encodable {
    case members, elements, wrapper, dictionary, optional, superclass, containers, array

    func encode(to encoder: any Encoder) throws {
      switch self {
      case .members:
        var container = encoder.container(keyedBy: AnyKey.self)
        try container.encode(self, forKey: "a")
      case .elements:
        var container = encoder.unkeyedContainer()
        try container.encode(self)
      case .wrapper:
        var container = encoder.singleValueContainer()
        try container.encode(self)
      case .dictionary:
        var container = encoder.singleValueContainer()
        try container.encode(["a": self])
      case .optional:
        var container = encoder.container(keyedBy: AnyKey.self)
        try container.encodeIfPresent(Optional(self), forKey: "a")
      case .superclass:
        var container = encoder.container(keyedBy: AnyKey.self)
        var inner = container.superEncoder().singleValueContainer()
        try inner.encode(self)
      case .containers:
        var container = encoder.container(keyedBy: AnyKey.self)
        for _ in 0..<100_000 { container = container.nestedContainer(keyedBy: AnyKey.self, forKey: "a") }
      case .array: try [self].encode(to: encoder)
      }
    }
  }

  /// Values that write themselves and have no end.
  enum EndlessDirect: CaseIterable, JSONEncodable {
    case member, elements, optional, dictionary

    func encode(to json: inout JSONWriter) {
      json.beginObject()
      switch self {
      case .member: json.write("a", self)
      case .elements: json.write("a", [self])
      case .optional: json.write("a", ifPresent: Optional(self))
      case .dictionary: json.write("a", ["a": Optional(self)])
      }
      json.endObject()
    }
  }

  private func text(_ levels: Int, _ open: String, _ inner: String, _ close: String) -> Data {
    Data((String(repeating: open, count: levels) + inner + String(repeating: close, count: levels)).utf8)
  }

  private func isTooDeep(_ error: EncodingError) -> Bool {
    guard case .invalidValue(_, let context) = error else { return false }
    return (context.underlyingError as? JSONError)?.kind == .tooDeep
  }

  @Test func `T4: 128 levels are read and written on a small stack`() throws {
    let chain = text(128, #"{"number":1,"next":"#, "null", "}")
    let chainAgain = try SmallStack.run {
      try JSONCoder().encode(try JSONCoder().decode(Chain.self, from: chain))
    }
    #expect(chainAgain == text(128, #"{"number":1,"next":"#, "", "}").replacing(#","next":}"#, with: "}"))
    let tree = text(64, #"{"children":["#, "", "]}")
    // A type with an array of itself takes a half more: a decoder for each array, and one for each value.
    let treeAgain = try SmallStack.run(size: SmallStack.size * 3 / 2) {
      try JSONCoder().encode(JSONCoder().decode(Tree.self, from: tree))
    }
    #expect(treeAgain == tree)
    let value = text(128, "[", "", "]")
    #expect(try SmallStack.run { try JSONCoder().encode(JSONCoder().decode(JSONValue.self, from: value)) } == value)
  }

  @Test func `T4: a value of 129 levels is an error that names the path`() throws {
    let chain = Chain(levels: 129)
    let error = try SmallStack.run {
      #expect(throws: EncodingError.self) { try JSONCoder().encode(chain) }
    }
    #expect(error.map(isTooDeep) == true)
    guard case .invalidValue(_, let context) = error else { return }
    #expect(context.codingPath.map(\.stringValue) == Array(repeating: "next", count: 128))
    #expect(context.debugDescription == "Cannot be written: arrays and objects nest deeper than 128.")
  }

  @Test(arguments: Endless.allCases)
  func `T4: a value without an end is an error on a small stack`(value: Endless) throws {
    let error = try SmallStack.run { #expect(throws: EncodingError.self) { try JSONCoder().encode(value) } }
    #expect(error.map(isTooDeep) == true)
    let large = try SmallStack.run(size: 8 << 20) {
      #expect(throws: EncodingError.self) { try JSONCoder(keys: .snakeCase).encode([value]) }
    }
    #expect(large.map(isTooDeep) == true)
  }

  @Test(arguments: EndlessDirect.allCases)
  func `T4: a value without an end that writes itself is an error on a small stack`(value: EndlessDirect) throws {
    let error = try SmallStack.run { #expect(throws: JSONError.self) { try value.json() } }
    #expect(error?.kind == .tooDeep)
    #expect(error?.path.count == 128)
  }

  @Test func `T4: any value that is too deep is an error, and has a description`() throws {
    let deep = (0..<500).reduce(JSONValue.null) { inner, level in level % 2 == 0 ? [inner] : ["a": inner] }
    let error = try SmallStack.run { #expect(throws: JSONError.self) { try deep.json() } }
    #expect(error?.kind == .tooDeep)
    #expect(try SmallStack.run { #expect(throws: EncodingError.self) { try JSONCoder().encode(deep) } } != nil)
    #expect(try SmallStack.run { deep.description }.contains("…"))
  }

  @Test func `T4: a type that takes much of the stack is read and written, or an error, whatever the stack`() throws {
    for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
      let deep = text(128, open, "1", close)
      let value = try SmallStack.run(size: 4 << 20) { try JSONCoder().decode(AnyJSON.self, from: deep) }
      for kilobytes in stride(from: 64, through: 1536, by: 64) {
        let outcome = try SmallStack.run(size: kilobytes << 10) { () -> [Bool] in
          [
            (try? JSONCoder().decode(AnyJSON.self, from: deep)) == value,
            (try? JSONCoder().encode(value)) == deep,
          ]
        }
        // All of it fits into the largest one.
        if kilobytes == 1536 { #expect(outcome == [true, true]) }
      }
    }
  }

  @Test func `T4: what the stack has no room for is an error of its own kind`() throws {
    let deep = text(128, #"{"number":1,"next":"#, "null", "}")
    let error = try SmallStack.run(size: SmallStack.size / 4) {
      #expect(throws: DecodingError.self) { try JSONCoder().decode(Chain.self, from: deep) }
    }
    guard case .dataCorrupted(let context) = error else {
      Issue.record("\(error as DecodingError?)")
      return
    }
    #expect((context.underlyingError as? JSONError)?.kind == .tooDeep)
    #expect(context.debugDescription.contains("the stack of this thread has room for"))
    let chain = Chain(levels: 128)
    let refused = try SmallStack.run(size: SmallStack.size / 4) {
      #expect(throws: EncodingError.self) { try JSONCoder().encode(chain) }
    }
    #expect(refused.map(isTooDeep) == true)
  }
}

extension Data {
  fileprivate func replacing(_ text: String, with other: String) -> Data {
    Data(String(decoding: self, as: UTF8.self).replacingOccurrences(of: text, with: other).utf8)
  }
}
