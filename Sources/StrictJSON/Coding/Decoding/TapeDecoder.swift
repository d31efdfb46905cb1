import SystemBase

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

  /// The enclosing decoder, retained. A lent decoder has `lender` instead, which is safe unretained: only
  /// `lendingDecoder` sets it, on `self`, which its caller keeps alive until it returns, and `takeBack` clears it before
  /// that, also when decoding throws. A decoder that somebody retained meanwhile then gets the lender as its `parent`.
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
    guard document.hasRoom() else { throw outOfRoom(at: place, step: step) }
    guard let step else { return try body(self) }
    guard let inner = lend(at: place, step: step) else { return try body(decoder(at: place, step: step)) }
    defer { takeBack() }
    // The property `inner` retains the decoder throughout: while it is lent, `lend` returns nil, so that no nested call
    // comes to `takeBack`, the only place that clears the property.
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

/// The values of members, by name.
extension TapeDecoder {
  func isNull(of name: String) throws -> Bool {
    document.tape[try requiredValue(of: name)].kind == .null
  }

  @inline(__always)
  func decodeMember<Value: Decodable>(_ type: Value.Type, _ name: String) throws -> Value {
    let place = try requiredValue(of: name)
    return try decodeValue(type, at: place, step: .member(place - 1))
  }

  @inline(__always)
  func decodeMemberIfPresent<Value: Decodable>(_ type: Value.Type, _ name: String) throws -> Value? {
    guard let place = value(of: name), document.tape[place].kind != .null else { return nil }
    return try decodeValue(type, at: place, step: .member(place - 1))
  }

  func string(_ name: String) throws -> String { try decodeMember(String.self, name) }
  func bool(_ name: String) throws -> Bool { try decodeMember(Bool.self, name) }
  func int(_ name: String) throws -> Int { try decodeMember(Int.self, name) }
  func double(_ name: String) throws -> Double { try decodeMember(Double.self, name) }
  func stringIfPresent(_ name: String) throws -> String? { try decodeMemberIfPresent(String.self, name) }
  func boolIfPresent(_ name: String) throws -> Bool? { try decodeMemberIfPresent(Bool.self, name) }
  func intIfPresent(_ name: String) throws -> Int? { try decodeMemberIfPresent(Int.self, name) }
  func doubleIfPresent(_ name: String) throws -> Double? { try decodeMemberIfPresent(Double.self, name) }

  /// The decoder of a member, for a caller that may keep it.
  func decoder(of name: String) throws -> TapeDecoder {
    let place = try requiredValue(of: name)
    return decoder(at: place, step: .member(place - 1))
  }

  /// The super decoder for a name. If there is no such member, it decodes null, as Foundation's does.
  func superDecoder(_ name: String) -> TapeDecoder {
    if let place = value(of: name) { return decoder(at: place, step: .member(place - 1)) }
    document.absentNames.append(name)
    return decoder(at: document.tape.absent, step: .absent(document.absentNames.count - 1))
  }
}

extension TapeDecoder {
  /// Reads the value at a place of the tape. `step` leads there from this decoder's own value; it is nil for that value
  /// itself.
  ///
  /// The compiler resolves the comparisons of types if it knows the type, as for the members of a synthesised
  /// `init(from:)`.
  @inline(__always)
  func decodeValue<Value: Decodable>(_ type: Value.Type, at place: Int, step: Step?) throws -> Value {
    if type == String.self { return unsafeBitCast(try string(at: place, step: step), to: type) }
    if type == Bool.self { return unsafeBitCast(try bool(at: place, step: step), to: type) }
    if type == Int.self { return unsafeBitCast(try integer(Int.self, at: place, step: step), to: type) }
    if type == Double.self { return unsafeBitCast(try double(at: place, step: step), to: type) }
    if type == Float.self { return unsafeBitCast(try float(at: place, step: step), to: type) }
    if type == Int64.self { return unsafeBitCast(try integer(Int64.self, at: place, step: step), to: type) }
    if type == Int32.self { return unsafeBitCast(try integer(Int32.self, at: place, step: step), to: type) }
    if type == Int16.self { return unsafeBitCast(try integer(Int16.self, at: place, step: step), to: type) }
    if type == Int8.self { return unsafeBitCast(try integer(Int8.self, at: place, step: step), to: type) }
    if type == UInt.self { return unsafeBitCast(try integer(UInt.self, at: place, step: step), to: type) }
    if type == UInt64.self { return unsafeBitCast(try integer(UInt64.self, at: place, step: step), to: type) }
    if type == UInt32.self { return unsafeBitCast(try integer(UInt32.self, at: place, step: step), to: type) }
    if type == UInt16.self { return unsafeBitCast(try integer(UInt16.self, at: place, step: step), to: type) }
    if type == UInt8.self { return unsafeBitCast(try integer(UInt8.self, at: place, step: step), to: type) }
    return try decodeOther(type, at: place, step: step)
  }

  private func decodeOther<Value: Decodable>(_ type: Value.Type, at place: Int, step: Step?) throws -> Value {
    let strategy = document.strategy(of: type)
    if case .generic = strategy { return try lendingDecoder(at: place, step: step) { try type.init(from: $0) } }
    return try decode(type, by: strategy, at: place, step: step)
  }

  // Not inlined, so that the values of types that decode themselves take less of the stack.
  @inline(never)
  private func decode<Value: Decodable>(
    _ type: Value.Type, by strategy: DecodingStrategy, at place: Int, step: Step?
  ) throws -> Value {
    switch strategy {
    case .generic: return try lendingDecoder(at: place, step: step) { try type.init(from: $0) }
    case .name:
      try requireName(at: place, step: step)
      return try lendingDecoder(at: place, step: step) { try type.init(from: $0) }
    case .names: return unsafeBitCast(try names(at: place, step: step), to: type)
    case .strings: return unsafeBitCast(try strings(at: place, step: step), to: type)
    case .array(let array): return try decode(array, as: type, at: place, step: step)
    case .dictionary(let map): return try decode(map, as: type, at: place, step: step)
    case .direct(let direct): return try self.direct(direct, as: type, at: place, step: step)
    case .date: return unsafeBitCast(try date(at: place, step: step), to: type)
    case .data: return unsafeBitCast(try data(at: place, step: step), to: type)
    case .url: return unsafeBitCast(try url(at: place, step: step), to: type)
    case .decimal: return unsafeBitCast(try decimal(at: place, step: step), to: type)
    }
  }

  // The cast is safe, though the compiler cannot know: a strategy is kept under its own type, so the two types are the
  // same.

  @inline(never)
  private func decode<Elements: ArrayOfDecodables, Value>(
    _ array: Elements.Type, as type: Value.Type, at place: Int, step: Step?
  ) throws -> Value {
    unsafeBitCast(try lendingDecoder(at: place, step: step) { try array.decode(from: $0) }, to: type)
  }

  @inline(never)
  private func decode<Map: StringKeyedDictionary, Value>(
    _ map: Map.Type, as type: Value.Type, at place: Int, step: Step?
  ) throws -> Value {
    unsafeBitCast(try lendingDecoder(at: place, step: step) { try map.decode(from: $0) }, to: type)
  }

  private func direct<Direct: JSONDecodable, Value>(
    _ direct: Direct.Type, as type: Value.Type, at place: Int, step: Step?
  ) throws -> Value {
    let token = document.tape[place]
    do throws(JSONError) {
      let value = try document.reading(token) { (json: inout JSONReader) throws(JSONError) in
        try Direct(from: &json)
      }
      return unsafeBitCast(value, to: type)
    } catch {
      throw DecodingError(error.inside(path(to: step), from: token.start), type: type)
    }
  }

  /// Throws if the value at a place is a string that is not fit to be compared.
  private func requireName(at place: Int, step: Step?) throws {
    let token = document.tape[place]
    guard token.kind == .string || token.kind == .escapedString, !token.isASCII, !document.string(token).isName else {
      return
    }
    throw corrupted(.invalid, String.expectedOfNames, at: place, step: step)
  }

  @inline(never)
  private func strings(at place: Int, step: Step?) throws -> [String] {
    try lendingDecoder(at: place, step: step) { try [String].decode(from: $0) }
  }

  @inline(never)
  private func names(at place: Int, step: Step?) throws -> Set<String> {
    try lendingDecoder(at: place, step: step) { decoder in
      let names = try [String].decode(from: decoder)
      if let index = names.firstIndex(where: { !$0.isName }) {
        throw decoder.corrupted(.invalid, String.expectedOfNames, at: decoder.place, step: .element(index))
      }
      return Set(names)
    }
  }

  func string(at place: Int, step: Step?) throws -> String {
    let token = document.tape[place]
    guard token.kind == .string || token.kind == .escapedString else {
      throw mismatch(String.self, "a string", at: place, step: step)
    }
    return document.string(token)
  }

  private func bool(at place: Int, step: Step?) throws -> Bool {
    let token = document.tape[place]
    guard token.kind == .boolean else { throw mismatch(Bool.self, "true or false", at: place, step: step) }
    return token.count == 4
  }

  private func integer<Value: FixedWidthInteger>(_ type: Value.Type, at place: Int, step: Step?) throws -> Value {
    let token = document.tape[place]
    guard token.kind == .number else { throw mismatch(type, "a whole number", at: place, step: step) }
    guard let value = try? document.reading(token, { (json) throws(JSONError) in try json.integer(type) }) else {
      throw corrupted(.outOfRange, "a whole number that fits \(type)", at: place, step: step)
    }
    return value
  }

  private func double(at place: Int, step: Step?) throws -> Double {
    let token = document.tape[place]
    guard token.kind == .number else { throw mismatch(Double.self, "a number", at: place, step: step) }
    guard let value = try? document.reading(token, { (json) throws(JSONError) in try json.double() }) else {
      throw corrupted(.outOfRange, "a number that fits Double", at: place, step: step)
    }
    return value
  }

  private func float(at place: Int, step: Step?) throws -> Float {
    let token = document.tape[place]
    guard token.kind == .number else { throw mismatch(Float.self, "a number", at: place, step: step) }
    guard let value = Float(document.string(token)), value.isFinite else {
      throw corrupted(.outOfRange, "a number that fits Float", at: place, step: step)
    }
    return value
  }
}

extension TapeDecoder {
  func date(at place: Int, step: Step?) throws -> Date {
    switch document.options.dates {
    case .iso8601:
      guard let date = Date(iso8601: try decodeValue(String.self, at: place, step: step)) else {
        throw corrupted(.invalid, "a date such as 2026-01-31T12:00:00.5+01:00", at: place, step: step)
      }
      return date
    case .lenientISO8601:
      guard let date = Date(lenientISO8601: try decodeValue(String.self, at: place, step: step)) else {
        throw corrupted(.invalid, "a date such as 2026-01-31T12:00:00 or 2026-01-31", at: place, step: step)
      }
      return date
    case .calendarDate:
      guard let date = Date(calendarDate: try decodeValue(String.self, at: place, step: step)) else {
        throw corrupted(.invalid, "a date such as 2026-01-31", at: place, step: step)
      }
      return date
    case .secondsSince1970:
      return Date(timeIntervalSince1970: try decodeValue(Double.self, at: place, step: step))
    case .millisecondsSince1970:
      return Date(timeIntervalSince1970: try decodeValue(Double.self, at: place, step: step) / 1000)
    case .deferredToDate:
      return Date(timeIntervalSinceReferenceDate: try decodeValue(Double.self, at: place, step: step))
    case .custom(let read, _):
      guard let date = read(try decodeValue(String.self, at: place, step: step)) else {
        throw corrupted(.invalid, "a date in the format that was set", at: place, step: step)
      }
      return date
    }
  }

  func data(at place: Int, step: Step?) throws -> Data {
    guard document.options.data == .base64 else {
      return try lendingDecoder(at: place, step: step) { try Data(from: $0) }
    }
    guard let data = Data(paddedBase64: try decodeValue(String.self, at: place, step: step)) else {
      throw corrupted(.invalid, "data in Base64", at: place, step: step)
    }
    return data
  }

  func url(at place: Int, step: Step?) throws -> URL {
    guard let url = URL(string: try decodeValue(String.self, at: place, step: step)) else {
      throw corrupted(.invalid, "a URL", at: place, step: step)
    }
    return url
  }

  func decimal(at place: Int, step: Step?) throws -> Decimal {
    let token = document.tape[place]
    if token.kind == .string, document.options.decimals == .string {
      let text = try decodeValue(String.self, at: place, step: step)
      // `Decimal(string:)` reads the start of a text, whatever follows.
      guard let number = JSONNumber(text), let value = Decimal(jsonNumber: number.text) else {
        throw corrupted(.invalid, "a string with a number that fits Decimal", at: place, step: step)
      }
      return value
    }
    guard token.kind == .number else { throw mismatch(Decimal.self, "a number", at: place, step: step) }
    guard let value = Decimal(jsonNumber: document.string(token)) else {
      throw corrupted(.outOfRange, "a number that fits Decimal", at: place, step: step)
    }
    return value
  }
}

extension TapeDecoder {
  /// The path to a value, as errors report it, with only the start of each key: many errors are caught, so they must be
  /// cheap.
  func path(to step: Step?) -> [any CodingKey] {
    path(to: step) { JSONPath.key(document.bytes(of: $0)) }
  }

  func context(_ description: String, step: Step?) -> DecodingError.Context {
    DecodingError.Context(codingPath: path(to: step), debugDescription: description)
  }

  /// The error for a value of another kind.
  func mismatch(_ type: Any.Type, _ expected: String, at place: Int, step: Step?) -> DecodingError {
    let token = document.tape[place]
    let error = JSONError(.mismatch(token.kind.asRead), path: [], offset: 0, expected: expected)
    return DecodingError(error.inside(path(to: step), from: token.start), type: type)
  }

  /// The error for a missing member.
  func missing(_ key: JSONKey) -> DecodingError {
    .keyNotFound(key, context("The member '\(key.stringValue)' is missing.", step: nil))
  }

  @inline(never)
  private func outOfRoom(at place: Int, step: Step?) -> DecodingError {
    corrupted(.tooDeep, JSONError.expectedRoom, at: place, step: step)
  }

  /// The error for a value of the right kind that its type rejects.
  func corrupted(_ kind: JSONError.Kind, _ expected: String, at place: Int, step: Step?) -> DecodingError {
    let error = JSONError(kind, path: [], offset: 0, expected: expected)
    return DecodingError(error.inside(path(to: step), from: document.tape[place].start), type: Any.self)
  }
}
