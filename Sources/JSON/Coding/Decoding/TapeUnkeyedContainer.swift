/// The elements of an array, one after another.
struct TapeUnkeyedContainer: UnkeyedDecodingContainer {
  private let decoder: TapeDecoder
  private var place: Int
  private(set) var currentIndex = 0

  init(_ decoder: TapeDecoder) {
    self.decoder = decoder
    place = decoder.place + 1
  }

  var codingPath: [any CodingKey] { decoder.codingPath }
  var count: Int? { Int(decoder.token.count) }
  var isAtEnd: Bool { currentIndex == Int(decoder.token.count) }

  private mutating func advance() {
    place = Int(decoder.document.tape[place].next)
    currentIndex += 1
  }

  private func requireElement(_ type: Any.Type) throws {
    guard isAtEnd else { return }
    throw DecodingError.valueNotFound(
      type, decoder.context("The array has no more than \(currentIndex) elements.", step: .element(currentIndex)))
  }

  mutating func decodeNil() throws -> Bool {
    try requireElement(Any?.self)
    guard decoder.document.tape[place].kind == .null else { return false }
    advance()
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decodeElement(type) }

  // The standard library rejects these two types unless a container has its own methods for them.

  mutating func decode(_ type: Int128.Type) throws -> Int128 { try decodeElement(type) }

  mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try decodeElement(type) }

  private mutating func decodeElement<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try requireElement(type)
    let value = try decoder.decodeValue(type, at: place, step: .element(currentIndex))
    advance()
    return value
  }

  mutating func decodeIfPresent<Value: Decodable>(_ type: Value.Type) throws -> Value? {
    guard !isAtEnd, try !decodeNil() else { return nil }
    return try decode(type)
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    let container = try nested().container(keyedBy: type)
    advance()
    return container
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let container = try nested().unkeyedContainer()
    advance()
    return container
  }

  mutating func superDecoder() throws -> any Decoder {
    let decoder = try nested()
    advance()
    return decoder
  }

  private func nested() throws -> TapeDecoder {
    try requireElement(Any.self)
    return decoder.decoder(at: place, step: .element(currentIndex))
  }
}
