import Foundation
import StrictJSON
import Testing

/// Decoders are used again for the next value, unless somebody has kept them.
@Suite struct KeptDecoderTests {
  /// Unchecked, as each test uses one on its own thread alone.
  fileprivate final class Keeper: @unchecked Sendable {
    var decoders: [any Decoder] = []
    var container: KeyedDecodingContainer<AnyKey>?
  }

  private struct Refusal: Error {}

  /// Gives its decoder to the keeper in `userInfo`, and fails for odd numbers.
  private struct Kept: Decodable {
    init(from decoder: any Decoder) throws {
      decoder.keeper?.decoders.append(decoder)
      if try decoder.container(keyedBy: AnyKey.self).decode(Int.self, forKey: "n") % 2 == 1 { throw Refusal() }
    }
  }

  /// An array that continues where an element fails.
  private struct Patient: Decodable {
    init(from decoder: any Decoder) throws {
      var elements = try decoder.container(keyedBy: AnyKey.self).nestedUnkeyedContainer(forKey: "list")
      while !elements.isAtEnd {
        if (try? elements.decode(Kept.self)) == nil { _ = try elements.decode(Numbered.self) }
      }
    }
  }

  private struct Numbered: Decodable, Equatable {
    let n: Int
  }

  private func decode<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Keeper {
    let keeper = Keeper()
    let key = try #require(Keeper.key)
    _ = try JSONCoder(userInfo: [key: keeper]).decode(type, from: Data(text.utf8))
    return keeper
  }

  @Test func `decoders that are kept stay where they were, also where decoding failed`() throws {
    let objects = (0..<6).map { #"{"n":\#($0)}"# }.joined(separator: ",")
    let keeper = try decode(Patient.self, #"{"list":[\#(objects)]}"#)
    #expect(keeper.decoders.count == 6)
    for (index, decoder) in keeper.decoders.enumerated() {
      #expect(decoder.codingPath.map(\.stringValue) == ["list", "Index \(index)"])
      #expect(decoder.codingPath.map(\.intValue) == [nil, index])
      #expect(try Numbered(from: decoder) == Numbered(n: index))
    }
  }

  @Test func `decoders that are kept know the path of their parents`() throws {
    struct Outer: Decodable {
      let inner: [String: [Kept]]
    }
    let text = #"[{"inner":{}},{"inner":{"a":[{"n":0},{"n":2}],"b":[{"n":4}]}},{"inner":{}}]"#
    let keeper = try decode([Outer].self, text)
    let paths = keeper.decoders.map { $0.codingPath.map(\.stringValue) }
    let ends = [["a", "Index 0"], ["a", "Index 1"], ["b", "Index 0"]]
    #expect(Set(paths) == Set(ends.map { ["Index 1", "inner"] + $0 }))
    let container = try keeper.decoders[0].singleValueContainer()
    let error = try #require(throws: DecodingError.self) { try container.decode(Int.self) }
    guard case .typeMismatch(_, let context) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(context.codingPath.map(\.stringValue) == paths[0])
  }

  @Test func `a value can be read while another of the same object is being read`() throws {
    struct Outer: Decodable {
      let a: Inner
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        decoder.keeper?.container = container
        a = try container.decode(Inner.self, forKey: "a")
      }
    }
    struct Inner: Decodable {
      init(from decoder: any Decoder) throws {
        let outer = try #require(decoder.keeper?.container)
        let own = try decoder.container(keyedBy: AnyKey.self)
        for _ in 0..<3 {
          #expect(try outer.decode(Numbered.self, forKey: "b") == Numbered(n: 2))
          #expect(try own.decode(Numbered.self, forKey: "c") == Numbered(n: 3))
          #expect(try own.decode(Int.self, forKey: "n") == 1)
          #expect(decoder.codingPath.map(\.stringValue) == ["a"])
        }
      }
    }
    let keeper = try decode(Outer.self, #"{"a":{"n":1,"c":{"n":3}},"b":{"n":2}}"#)
    let container = try #require(keeper.container)
    #expect(try container.decode(Numbered.self, forKey: "b") == Numbered(n: 2))
  }
}

extension KeptDecoderTests.Keeper {
  fileprivate static let key = CodingUserInfoKey(rawValue: "keeper")
}

extension Decoder {
  fileprivate var keeper: KeptDecoderTests.Keeper? {
    KeptDecoderTests.Keeper.key.flatMap { userInfo[$0] as? KeptDecoderTests.Keeper }
  }
}
