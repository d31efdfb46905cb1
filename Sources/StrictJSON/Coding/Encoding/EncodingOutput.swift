import SystemBase

/// What one or more encoders write to, from front to back.
///
/// Values are written as they come. Nested containers may be written to in turns, so each has an output of its own,
/// which is inserted at its place at the end.
final class EncodingOutput {
  // A pointer, to avoid exclusivity checks at run time: encoders are used by one thread, and accesses do not overlap.
  let writer: UnsafeMutablePointer<JSONWriter>
  let options: JSONCoder.Options
  /// The encoder of the innermost value that is not complete: only this one may write. `nil` once all is written.
  private(set) var current: ObjectIdentifier?
  /// Why nothing can become of this output, noted where nothing can be thrown.
  private(set) var refusal: EncodingError?
  private var nested: [Nested] = []
  /// How many are nested, without a check for exclusive access at each mark.
  private var nestedCount = 0
  /// The indices in `nested` of those containers that can be requested again by name.
  private var nestedMembers: [Member: Int] = [:]
  private var room: StackRoom
  private let strategies: JSONCoder.StrategyCache
  private var knownStrategies: TypeTable<EncodingStrategy>

  init(
    options: JSONCoder.Options, strategies: JSONCoder.StrategyCache, depth: Int = 0, room: StackRoom = StackRoom()
  ) {
    self.options = options
    self.strategies = strategies
    self.room = room
    knownStrategies = strategies.encoding
    writer = .allocate(capacity: 1)
    writer.initialize(to: JSONWriter(capacity: depth == 0 ? 1024 : 64))
    writer.pointee.depth = depth
  }

  deinit {
    writer.deinitialize(count: 1)
    writer.deallocate()
  }

  /// How to write values of a type.
  @inline(__always)
  func strategy<Value: Encodable>(of type: Value.Type) -> EncodingStrategy {
    knownStrategies[type] ?? learnStrategy(of: type)
  }

  private func learnStrategy(of type: Any.Type) -> EncodingStrategy {
    defer { knownStrategies = strategies.encoding }
    return strategies.encoding(of: type)
  }

  /// A separate output for a nested value.
  func inside() -> EncodingOutput {
    EncodingOutput(options: options, strategies: strategies, depth: writer.pointee.depth, room: room)
  }

  /// Says whose turn it is to write.
  @inline(__always)
  func setCurrent(_ encoder: StreamEncoder) { current = ObjectIdentifier(encoder) }

  /// Whether the stack has room for one value more.
  @inline(__always)
  func hasRoom() -> Bool {
    let here = StackRoom.here
    return room.contains(here) || lookForRoom(at: here)
  }

  @inline(never)
  private func lookForRoom(at address: UInt) -> Bool {
    guard let room = StackRoom.ofThread(at: address) else { return true }
    self.room = room
    return room.contains(address)
  }

  /// Notes that nothing can become of this output.
  func refuse(_ error: EncodingError) {
    guard refusal == nil, writer.pointee.failure == nil else { return }
    refusal = error
    writer.pointee.failure = JSONError(.invalid, path: [], offset: writer.pointee.count, expected: "another value")
  }

  /// A nested value, which has an output of its own.
  private struct Nested {
    /// The place in this output at which it will be inserted.
    let offset: Int
    let encoder: StreamEncoder
    /// What it is a member of, if it can be requested again.
    let member: Member?
  }

  /// A member of an object.
  struct Member: Hashable {
    /// Where the object begins, which no other object of this output does.
    let object: Int
    let name: MemberName
  }

  /// Reserves the place at which the output of an encoder will be inserted.
  func nest(_ encoder: StreamEncoder, as member: Member?) {
    writer.pointee.separate()
    if let member { nestedMembers[member] = nested.count }
    nested.append(Nested(offset: writer.pointee.count, encoder: encoder, member: member))
    nestedCount += 1
  }

  /// The encoder that was nested as this member last, if any.
  func nestedEncoder(of member: Member) -> StreamEncoder? { nestedMembers[member].map { nested[$0].encoder } }

  /// A state to go back to if what follows fails.
  struct Mark {
    fileprivate let writer: JSONWriter.Mark
    fileprivate let nested: Int
    /// Where the next value begins, after its comma.
    var start: Int { writer.count + (writer.needsComma ? 1 : 0) }
  }

  var mark: Mark { Mark(writer: writer.pointee.mark, nested: nestedCount) }

  func goBack(to mark: Mark) {
    writer.pointee.goBack(to: mark.writer)
    if writer.pointee.failure == nil { refusal = nil }
    while nestedCount > mark.nested, let last = nested.popLast() {
      nestedCount -= 1
      last.encoder.output.discardNested()
      if let member = last.member { nestedMembers[member] = nil }
    }
  }

  /// Ends this output, and releases the nested encoders, which hold it through their parents.
  func discardNested() {
    current = nil
    nested.forEach { $0.encoder.output.discardNested() }
    nested = []
    nestedCount = 0
    nestedMembers = [:]
  }

  /// Removes the closing bracket of an array or object if nothing was written after it, and returns the number of its
  /// elements or members. `nil` if it has another form, or something was written after it.
  func reopen(_ range: Range<Int>, as form: StreamEncoder.Form) -> Int? {
    let bracket: UInt8
    switch form {
    case .object: bracket = UInt8(ascii: "{")
    case .array: bracket = UInt8(ascii: "[")
    case .plain, .nothing: return nil
    }
    guard range.count > 1, range.upperBound == writer.pointee.count else { return nil }
    let text = UnsafeBufferPointer(start: writer.pointee.buffer + range.lowerBound, count: range.count - 1)
    guard text.first == bracket else { return nil }
    // Raw JSON may have whitespace there; what is nested stands in another output.
    let isEmpty = text.dropFirst().allSatisfy(\.isWhitespace) && (nested.last?.offset ?? 0) <= range.lowerBound
    writer.pointee.reopen(isEmpty: isEmpty)
    return isEmpty ? 0 : JSONPath.commas(in: text) + 1
  }

  /// The whole text, once everything is written. Throws a `JSONError` or an `EncodingError`.
  func finish() throws -> Data {
    current = nil
    if let refusal { throw refusal }
    guard !nested.isEmpty else { return try writer.move().finishAndRefill(writer) }
    var whole = JSONWriter(capacity: writer.pointee.count * 2)
    try append(to: &whole)
    return try whole.finish()
  }

  private func append(to whole: inout JSONWriter) throws {
    current = nil
    if let refusal { throw refusal }
    if let failure = writer.pointee.failure { throw failure }
    var start = 0
    for value in nested {
      whole.append(writer.pointee.buffer + start, count: value.offset - start)
      value.encoder.close()
      try value.encoder.output.append(to: &whole)
      start = value.offset
    }
    whole.append(writer.pointee.buffer + start, count: writer.pointee.count - start)
    nested = []
    nestedCount = 0
  }
}

extension UInt8 {
  fileprivate var isWhitespace: Bool {
    self == UInt8(ascii: " ") || self == UInt8(ascii: "\n") || self == UInt8(ascii: "\r") || self == UInt8(ascii: "\t")
  }
}

extension JSONWriter {
  /// A state to go back to.
  struct Mark {
    fileprivate let count: Int
    fileprivate let depth: Int
    fileprivate let needsComma: Bool
    fileprivate let hasFailed: Bool
  }

  var mark: Mark { Mark(count: count, depth: depth, needsComma: needsComma, hasFailed: failure != nil) }

  mutating func goBack(to mark: Mark) {
    count = mark.count
    depth = mark.depth
    needsComma = mark.needsComma
    // The first failure counts: keep one from before the mark.
    if !mark.hasFailed { failure = nil }
  }

  /// Removes the bracket that closed an array or object.
  fileprivate mutating func reopen(isEmpty: Bool) {
    count -= 1
    depth += 1
    needsComma = !isEmpty
  }

  /// The text. A new, empty writer takes this one's place.
  fileprivate consuming func finishAndRefill(_ place: UnsafeMutablePointer<JSONWriter>) throws(JSONError) -> Data {
    place.initialize(to: JSONWriter(capacity: 16))
    return try finish()
  }
}

/// A dictionary.
protocol SortedMembers {
  /// Whether it is written as an object: if its keys are strings, `Int`s, or `CodingKeyRepresentable`.
  static var areNamed: Bool { get }
  /// Writes the members as an object, sorted by name. The key strategy does not apply to keys that are strings.
  func encode(by encoder: StreamEncoder) throws
}

extension Dictionary: SortedMembers where Key: Encodable, Value: Encodable {
  static var areNamed: Bool {
    Key.self is any CodingKeyRepresentable.Type
  }

  func encode(by encoder: StreamEncoder) throws {
    encoder.begin(.object)
    if Key.self == String.self {
      // The cast is safe: the two types are the same.
      for (key, value) in unsafeBitCast(self, to: [String: Value].self).sorted(by: { $0.key.precedes($1.key) }) {
        try encoder.encodeMember(value, name: key, key: JSONKey(stringValue: key))
      }
      return
    }
    let members = compactMap { key, value in (key as? any CodingKeyRepresentable).map { (key: $0.codingKey, value) } }
    for (key, value) in members.sorted(by: { $0.key.stringValue.precedes($1.key.stringValue) }) {
      try encoder.encodeMember(value, name: encoder.name(of: key), key: key)
    }
  }
}
