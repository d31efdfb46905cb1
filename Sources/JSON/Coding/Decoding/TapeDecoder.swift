import Foundation

/// Decodes one value of a document.
final class TapeDecoder: Decoder {
  /// The step from what is around a value to it.
  enum Step {
    /// The whole.
    case root
    /// The member whose key is at a place of the tape.
    case member(Int)
    /// The element of an array.
    case element(Int)
    /// What a superclass is decoded from.
    case superclass
  }

  let document: JSONDocument
  /// Where the value is on the tape.
  let place: Int
  private let parent: TapeDecoder?
  private let step: Step

  init(document: JSONDocument, place: Int, parent: TapeDecoder?, step: Step) {
    self.document = document
    self.place = place
    self.parent = parent
    self.step = step
  }

  var token: Tape.Token { document.tape[place] }

  var userInfo: [CodingUserInfoKey: Any] { document.options.userInfo }

  var codingPath: [any CodingKey] {
    var path: [any CodingKey] = []
    var decoder: TapeDecoder? = self
    while let current = decoder {
      if let key = current.key(of: current.step) { path.append(key) }
      decoder = current.parent
    }
    return path.reversed()
  }

  func key(of step: Step) -> JSONKey? {
    switch step {
    case .root: nil
    case .member(let place): JSONKey(stringValue: document.string(document.tape[place]))
    case .element(let index): JSONKey(intValue: index)
    case .superclass: JSONKey(stringValue: "super")
    }
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard token.kind == .object else { throw mismatch([String: Any].self, "an object", at: place, step: nil) }
    return KeyedDecodingContainer(TapeKeyedContainer(self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard token.kind == .array else { throw mismatch([Any].self, "an array", at: place, step: nil) }
    return TapeUnkeyedContainer(self)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

  /// The places of the keys of an object in the text's order, equal ones more than once.
  func members(for type: Any.Type) throws -> [Int] {
    guard token.kind == .object else { throw mismatch(type, "an object", at: place, step: nil) }
    return members
  }

  var members: [Int] {
    var places: [Int] = []
    places.reserveCapacity(Int(token.count))
    var next = place + 1
    for _ in 0..<token.count {
      places.append(next)
      next = Int(document.tape[next + 1].next)
    }
    return places
  }
}

extension TapeDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool { token.kind == .null }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try decodeValue(type, at: place, step: nil)
  }
}

/// A key of any name.
struct JSONKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(stringValue: String) {
    self.stringValue = stringValue
    intValue = nil
  }

  init(intValue: Int) {
    stringValue = "Index \(intValue)"
    self.intValue = intValue
  }
}
