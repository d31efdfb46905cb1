/// The members of an object.
struct TapeKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  private let decoder: TapeDecoder
  /// The values by their keys as Swift has them, where those differ from the text's or are too many to be searched.
  private let index: [String: Int]?

  private static var greatestSearch: UInt32 { 16 }

  init(_ decoder: TapeDecoder) {
    self.decoder = decoder
    guard decoder.document.options.keys == .snakeCase || decoder.token.count > Self.greatestSearch else {
      index = nil
      return
    }
    var index: [String: Int] = [:]
    for place in decoder.members {
      let name = decoder.document.string(decoder.document.tape[place])
      index[decoder.document.options.keys == .snakeCase ? name.fromSnakeCase : name] = place + 1
    }
    self.index = index
  }

  var codingPath: [any CodingKey] { decoder.codingPath }

  var allKeys: [Key] {
    let names = index.map { Array($0.keys) } ?? decoder.uniqueNames
    return names.compactMap { Key(stringValue: $0) }
  }

  @inline(__always)
  private func place(of key: Key) -> Int? {
    if let index { return index[key.stringValue] }
    return decoder.document.value(of: key.stringValue, in: decoder.place)
  }

  private func required(_ key: Key) throws -> Int {
    guard let place = place(of: key) else {
      throw DecodingError.keyNotFound(key, decoder.context("The member '\(key.stringValue)' is missing.", step: nil))
    }
    return place
  }

  func contains(_ key: Key) -> Bool { place(of: key) != nil }

  func decodeNil(forKey key: Key) throws -> Bool {
    decoder.document.tape[try required(key)].kind == .null
  }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    let place = try required(key)
    return try decoder.decodeValue(type, at: place, step: .member(place - 1))
  }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    guard let place = place(of: key), decoder.document.tape[place].kind != .null else { return nil }
    return try decoder.decodeValue(type, at: place, step: .member(place - 1))
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try nested(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try nested(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder {
    guard let place = index?["super"] ?? decoder.document.value(of: "super", in: decoder.place) else {
      throw DecodingError.keyNotFound(
        JSONKey(stringValue: "super"), decoder.context("The member 'super' is missing.", step: nil))
    }
    return decoder.decoder(at: place, step: .superclass)
  }

  func superDecoder(forKey key: Key) throws -> any Decoder { try nested(key) }

  private func nested(_ key: Key) throws -> TapeDecoder {
    let place = try required(key)
    return decoder.decoder(at: place, step: .member(place - 1))
  }
}

extension TapeDecoder {
  /// The keys of an object in the text's order, each once.
  fileprivate var uniqueNames: [String] {
    var seen: Set<String> = []
    return members.map { document.string(document.tape[$0]) }.filter { seen.insert($0).inserted }
  }
}
