import Platform

/// What one or more encoders write to, from front to back.
///
/// Values are written as they come. Nested containers may be written to in turns, so each has an output of its own,
/// which is inserted at its place at the end.
final class EncodingOutput {
  // A pointer, to avoid exclusivity checks at run time: encoders are used by one thread, and accesses do not overlap.
  let writer: UnsafeMutablePointer<JSONWriter>
  let options: JSONCoder.Options
  private var nested: [(offset: Int, encoder: StreamEncoder)] = []
  /// The indices in `nested` of those containers that can be requested again by name.
  private var nestedMembers: [Member: Int] = [:]
  private let strategies: JSONCoder.StrategyCache
  private var knownStrategies: TypeTable<EncodingStrategy>

  init(options: JSONCoder.Options, strategies: JSONCoder.StrategyCache, depth: Int = 0) {
    self.options = options
    self.strategies = strategies
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
    EncodingOutput(options: options, strategies: strategies, depth: writer.pointee.depth)
  }

  /// Reserves the place at which the output of an encoder will be inserted.
  func nest(_ encoder: StreamEncoder) {
    writer.pointee.separate()
    nested.append((writer.pointee.count, encoder))
  }

  /// A member of the object that an encoder writes.
  private struct Member: Hashable {
    let object: ObjectIdentifier
    let name: MemberName

    init(_ name: String, of object: StreamEncoder) {
      self.object = ObjectIdentifier(object)
      self.name = MemberName(name)
    }
  }

  /// Notes the name of the encoder that was nested last.
  func remember(_ name: String, of object: StreamEncoder) {
    nestedMembers[Member(name, of: object)] = nested.count - 1
  }

  /// The encoder that was nested as a member with this name, if any.
  func nestedMember(_ name: String, of object: StreamEncoder) -> StreamEncoder? {
    nestedMembers[Member(name, of: object)].map { nested[$0].encoder }
  }

  /// A state to go back to if what follows fails.
  struct Mark {
    fileprivate let writer: JSONWriter.Mark
    fileprivate let nested: Int
    /// Where the next value begins, after its comma.
    var start: Int { writer.count + (writer.needsComma ? 1 : 0) }
  }

  var mark: Mark { Mark(writer: writer.pointee.mark, nested: nested.count) }

  func goBack(to mark: Mark) {
    writer.pointee.goBack(to: mark.writer)
    guard nested.count > mark.nested else { return }
    nested[mark.nested...].forEach { $0.encoder.output.discardNested() }
    nested.removeSubrange(mark.nested...)
    nestedMembers = nestedMembers.filter { $0.value < mark.nested }
  }

  /// Releases the nested encoders, which hold this output through their parents.
  func discardNested() {
    nested.forEach { $0.encoder.output.discardNested() }
    nested = []
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
    let isEmpty = text.count == 1 && nested.last?.offset != range.lowerBound + 1
    writer.pointee.reopen(isEmpty: isEmpty)
    return isEmpty ? 0 : JSONPath.commas(in: text) + 1
  }

  /// The whole text, once everything is written.
  func finish() throws(JSONError) -> Data {
    guard !nested.isEmpty else { return try writer.move().finishAndRefill(writer) }
    var whole = JSONWriter(capacity: writer.pointee.count * 2)
    try append(to: &whole)
    return try whole.finish()
  }

  private func append(to whole: inout JSONWriter) throws(JSONError) {
    if let failure = writer.pointee.failure { throw failure }
    var start = 0
    for (offset, encoder) in nested {
      whole.append(writer.pointee.buffer + start, count: offset - start)
      encoder.close()
      try encoder.output.append(to: &whole)
      start = offset
    }
    whole.append(writer.pointee.buffer + start, count: writer.pointee.count - start)
    nested = []
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
      for (key, value) in unsafeBitCast(self, to: [String: Value].self).sorted(by: { $0.key < $1.key }) {
        try encoder.encodeMember(value, name: key, key: JSONKey(stringValue: key))
      }
      return
    }
    let members = compactMap { key, value in (key as? any CodingKeyRepresentable).map { (key: $0.codingKey, value) } }
    for (key, value) in members.sorted(by: { $0.key.stringValue < $1.key.stringValue }) {
      try encoder.encodeMember(value, name: encoder.name(of: key), key: key)
    }
  }
}
