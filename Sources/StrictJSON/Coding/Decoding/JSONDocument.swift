import SystemBase

/// A text that is being decoded: its bytes, its tape, and the options.
final class JSONDocument {
  let tape: Tape
  let options: JSONCoder.Options
  private(set) var bytes: UnsafeBufferPointer<UInt8>
  private var ownsBytes = false
  /// The names under which super decoders were requested that are not in the text.
  var absentNames: [String] = []
  private let strategies: JSONCoder.StrategyCache
  private var knownStrategies: TypeTable<DecodingStrategy>
  private var knownContainers = AnyKeyedContainers.cache.known
  private var room = StackRoom()

  init(tape: consuming Tape, bytes: UnsafeBufferPointer<UInt8>, coder: JSONCoder) {
    self.tape = tape
    self.bytes = bytes
    options = coder.options
    strategies = coder.strategies
    knownStrategies = strategies.decoding
  }

  deinit {
    if ownsBytes { bytes.deallocate() }
  }

  /// Copies the bytes, for decoders that outlive the call that lent the bytes.
  func keepBytes() {
    let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
    _ = copy.initialize(from: bytes)
    bytes = UnsafeBufferPointer(copy)
    ownsBytes = true
  }

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

  /// How to read values of a type.
  @inline(__always)
  func strategy<Value: Decodable>(of type: Value.Type) -> DecodingStrategy {
    knownStrategies[type] ?? learnStrategy(of: type)
  }

  private func learnStrategy(of type: Any.Type) -> DecodingStrategy {
    defer { knownStrategies = strategies.decoding }
    return strategies.decoding(of: type)
  }

  /// The factory of containers for a type of keys.
  @inline(__always)
  func containers<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedContainers<Key> {
    guard let containers = knownContainers[type] else { return learnContainers(keyedBy: type) }
    // The cast is safe: factories are kept under the type of their keys.
    return unsafeDowncast(containers, to: KeyedContainers<Key>.self)
  }

  private func learnContainers<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedContainers<Key> {
    let containers = TapeKeyedContainers<Key, TapeKeyedContainer<Key>>()
    _ = AnyKeyedContainers.cache.value(for: type) { containers }
    knownContainers = AnyKeyedContainers.cache.known
    return containers
  }

  /// The bytes of a string or a number.
  @inline(__always)
  func bytes(of token: Tape.Token) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: bytes.baseAddress.map { $0 + Int(token.offset) }, count: Int(token.count))
  }

  /// The string of a string token.
  @inline(__always)
  func string(_ token: Tape.Token) -> String {
    let bytes = bytes(of: token)
    if token.kind == .escapedString, let start = bytes.baseAddress {
      return Escapes.string(from: start, count: bytes.count)
    }
    return String(copying: UTF8Span(unchecked: bytes.span, isKnownASCII: token.isASCII))
  }

  /// Lends a reader that begins at a token, so that an error looks at nothing before it.
  func reading<Value>(
    _ token: Tape.Token, _ body: (inout JSONReader) throws(JSONError) -> Value
  ) throws(JSONError) -> Value {
    guard token.kind != .null else {
      // The null that stands for an absent value is not in the text, and is read from a literal.
      let null: StaticString = "null"
      var reader = JSONReader(start: null.utf8Start, count: null.utf8CodeUnitCount)
      return try body(&reader)
    }
    guard let start = bytes.baseAddress else { throw .empty }
    let first = token.start
    var reader = JSONReader(start: start + first, count: bytes.count - first)
    return try body(&reader)
  }

  /// The place of a member's value; of equal keys the last counts. `object` is the place of the object on the tape.
  ///
  /// Keys are usually read in their order in the text, so unless two keys are equal, the search continues behind the
  /// key that was found last.
  func value(of key: String, in object: Int) -> Int? {
    if let place = key.utf8.withContiguousStorageIfAvailable({ value(of: $0, in: object) }) { return place }
    var key = key
    return key.withUTF8 { value(of: $0, in: object) }
  }

  @inline(__always)
  private func value(of key: UnsafeBufferPointer<UInt8>, in object: Int) -> Int? {
    let whole = tape[object]
    guard tape.keysDiffer(in: object) else { return lastValue(of: key, in: object) }
    let guess = tape.cursor(of: object)
    guard guess < whole.next, isEqual(tape[guess], key) else { return search(key, in: object, from: guess) }
    tape.setCursor(of: object, to: Int(tape[guess + 1].next))
    return guess + 1
  }

  /// Searches all members once, from `start`, in an object without equal keys.
  private func search(_ key: UnsafeBufferPointer<UInt8>, in object: Int, from start: Int) -> Int? {
    let hash = Tape.hash(key)
    let whole = tape[object]
    var place = start
    for _ in 0..<whole.count {
      if place >= whole.next { place = object + 1 }
      let next = Int(tape[place + 1].next)
      if tape[place].next == hash, isEqual(tape[place], key) {
        tape.setCursor(of: object, to: next)
        return place + 1
      }
      place = next
    }
    return nil
  }

  private func lastValue(of key: UnsafeBufferPointer<UInt8>, in object: Int) -> Int? {
    let hash = Tape.hash(key)
    var place = object + 1
    var found: Int?
    for _ in 0..<tape[object].count {
      if tape[place].next == hash, isEqual(tape[place], key) { found = place + 1 }
      place = Int(tape[place + 1].next)
    }
    return found
  }

  @inline(__always)
  private func isEqual(_ token: Tape.Token, _ key: UnsafeBufferPointer<UInt8>) -> Bool {
    if token.kind == .escapedString { return string(token).utf8.elementsEqual(key) }
    guard Int(token.count) == key.count else { return false }
    guard let left = bytes(of: token).baseAddress, let right = key.baseAddress else { return true }
    return keysAreEqual(left, right, key.count)
  }
}
