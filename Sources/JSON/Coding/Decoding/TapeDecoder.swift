import Foundation

/// Decodes one value of a document.
final class TapeDecoder: Decoder {
  /// The step from the enclosing value to a value.
  enum Step {
    /// The outermost value.
    case root
    /// The member whose key is at this place of the tape.
    case member(Int)
    /// The element of an array.
    case element(Int)
    /// A missing member, by the index of its name in the document's `absentNames`.
    case absent(Int)
  }

  let document: JSONDocument
  /// The place of the value on the tape.
  private(set) var place: Int
  private var step: Step

  /// The enclosing decoder, which is kept as long as this one. A lent decoder refers to it through `lender` alone,
  /// which lives until the decoder is given back.
  private var parent: TapeDecoder?
  private unowned(unsafe) var lender: TapeDecoder?

  /// The decoder of nested values, reused for one after another unless somebody keeps it.
  private var inner: TapeDecoder?

  init(document: JSONDocument, place: Int, parent: TapeDecoder?, step: Step) {
    self.document = document
    self.place = place
    self.parent = parent
    self.step = step
  }

  var token: Tape.Token { document.tape[place] }

  var userInfo: [CodingUserInfoKey: Any] { document.options.userInfo }

  var codingPath: [any CodingKey] { path(to: nil) { document.string($0) } }

  /// The path to the value that `step` leads to, or to this decoder's own value if `step` is nil. `text` reads the
  /// keys.
  func path(to step: Step?, _ text: (Tape.Token) -> String) -> [any CodingKey] {
    var path: [any CodingKey] = []
    var decoder: TapeDecoder? = self
    if let step, let key = key(of: step, text) { path.append(key) }
    while let current = decoder {
      if let key = current.key(of: current.step, text) { path.append(key) }
      decoder = current.parent ?? current.lender
    }
    return path.reversed()
  }

  private func key(of step: Step, _ text: (Tape.Token) -> String) -> JSONKey? {
    switch step {
    case .root: nil
    case .member(let place): JSONKey(stringValue: text(document.tape[place]))
    case .element(let index): JSONKey(intValue: index)
    case .absent(let number): JSONKey(stringValue: document.absentNames[number])
    }
  }

  /// The decoder of a nested value, for a caller that may keep it.
  func decoder(at place: Int, step: Step) -> TapeDecoder {
    TapeDecoder(document: document, place: place, parent: self, step: step)
  }

  /// Lends a decoder for a value: this one if `step` is nil, otherwise one for the nested value.
  @inline(__always)
  func lendingDecoder<Value>(at place: Int, step: Step?, _ body: (TapeDecoder) throws -> Value) throws -> Value {
    guard let step else { return try body(self) }
    guard let inner = lend(at: place, step: step) else { return try body(decoder(at: place, step: step)) }
    defer { takeBack() }
    return try inner._withUnsafeGuaranteedRef { try body($0) }
  }

  /// Lends the inner decoder until it is taken back; nil if it is lent already.
  private func lend(at place: Int, step: Step) -> Unmanaged<TapeDecoder>? {
    guard let inner else {
      let decoder = TapeDecoder(document: document, place: place, parent: nil, step: step)
      decoder.lender = self
      inner = decoder
      return .passUnretained(decoder)
    }
    guard inner.lender == nil else { return nil }
    inner.lender = self
    inner.place = place
    inner.step = step
    return .passUnretained(inner)
  }

  /// Takes the inner decoder back. If somebody keeps it, it keeps this decoder from now on.
  private func takeBack() {
    let isKept = !isKnownUniquelyReferenced(&inner)
    inner?.lender = nil
    guard isKept else { return }
    inner?.parent = self
    inner = nil
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    try prepareMembers()
    return document.containers(keyedBy: type).container(self)
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard token.kind == .array else { throw mismatch([Any].self, "an array", at: place, step: nil) }
    return TapeUnkeyedContainer(self)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

  // MARK: Members

  /// The values by their Swift keys, if those differ from the text's or are too many to search.
  private var index: (place: Int, values: [MemberName: Int])?
  private static let greatestSearch: UInt32 = 16

  private func prepareMembers() throws {
    guard token.kind == .object else { throw mismatch([String: Any].self, "an object", at: place, step: nil) }
    let isSnakeCase = document.options.keys == .snakeCase
    guard isSnakeCase || token.count > Self.greatestSearch, index?.place != place else { return }
    var values: [MemberName: Int] = [:]
    for place in members {
      let name = document.string(document.tape[place])
      values[MemberName(isSnakeCase ? name.fromSnakeCase : name)] = place + 1
    }
    index = (place, values)
  }

  /// The place of a member's value.
  @inline(__always)
  func value(of name: String) -> Int? {
    if let index, index.place == place { return index.values[MemberName(name)] }
    return document.value(of: name, in: place)
  }

  /// The place of a member's value; throws if there is none.
  @inline(__always)
  func requiredValue(of name: String) throws -> Int {
    guard let place = value(of: name) else { throw missing(JSONKey(stringValue: name)) }
    return place
  }

  /// The Swift names of the members, each once.
  var memberNames: [String] {
    if let index, index.place == place { return index.values.keys.map(\.text) }
    var seen: Set<MemberName> = []
    return members.map { document.string(document.tape[$0]) }.filter { seen.insert(MemberName($0)).inserted }
  }

  /// The places of an object's keys, in the text's order; equal keys occur more than once.
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

  func decode(_ type: String.Type) throws -> String { try string(at: place, step: nil) }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try decodeValue(type, at: place, step: nil)
  }

  // The standard library rejects these two types unless a container has its own methods for them.

  func decode(_ type: Int128.Type) throws -> Int128 { try decodeValue(type, at: place, step: nil) }

  func decode(_ type: UInt128.Type) throws -> UInt128 { try decodeValue(type, at: place, step: nil) }
}
