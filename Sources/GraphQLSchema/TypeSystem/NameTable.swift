/// The names of a schema, each stored once and known by a small number, so that everything else compares numbers.
struct NameTable: Sendable {
  /// A name's number.
  struct ID: Hashable, Comparable, Sendable {
    let rawValue: UInt32

    /// A name that the table does not hold.
    static let unknown = ID(rawValue: .max)

    static func < (a: ID, b: ID) -> Bool { a.rawValue < b.rawValue }
  }

  /// The names that rules look for. They have the same numbers in every schema, those below.
  private static let known = [
    "deprecated", "oneOf", "skip", "include", "defer", "stream", "label", "if", "fields", "interfaces", "possibleTypes",
    "inputFields", "__schema", "__type", "__typename", "Int", "Float", "String", "Boolean", "ID",
  ]

  /// A table that begins with the names that rules look for.
  static func withKnownNames() -> NameTable {
    var table = NameTable()
    for name in known { _ = table.insert(name) }
    return table
  }

  private var bytes: [UInt8] = []
  /// Where each name ends in `bytes`; it begins where the one before it ends.
  private var ends: [UInt32] = []
  private var index = HashIndex()

  var count: Int { ends.count }

  /// The number of a name, which is added if it is new.
  mutating func insert(_ name: UnsafeBufferPointer<UInt8>) -> ID {
    let hash = HashIndex.hash(name)
    if let number = index.find(hash, where: { equals($0, name) }) { return ID(rawValue: number) }
    let number = UInt32(ends.count)
    bytes.append(contentsOf: name)
    ends.append(UInt32(bytes.count))
    index.insert(number, hash: hash)
    return ID(rawValue: number)
  }

  mutating func insert(_ name: String) -> ID {
    var name = name
    return name.withUTF8 { insert($0) }
  }

  /// The number of a name that is in the table, or else `unknown`.
  func find(_ name: UnsafeBufferPointer<UInt8>) -> ID {
    index.find(HashIndex.hash(name), where: { equals($0, name) }).map { ID(rawValue: $0) } ?? .unknown
  }

  func find(_ name: String) -> ID {
    var name = name
    return name.withUTF8 { find($0) }
  }

  subscript(id: ID) -> String {
    String(decoding: bytes[range(id.rawValue)], as: UTF8.self)
  }

  /// Whether a name begins with two underscores, which the specification reserves (section 2.1.9).
  func isReserved(_ id: ID) -> Bool {
    bytes[range(id.rawValue)].starts(with: [UInt8(ascii: "_"), UInt8(ascii: "_")])
  }

  private func range(_ number: UInt32) -> Range<Int> {
    (number == 0 ? 0 : Int(ends[Int(number) - 1]))..<Int(ends[Int(number)])
  }

  private func equals(_ number: UInt32, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
    let range = range(number)
    guard range.count == name.count else { return false }
    for index in 0..<name.count where bytes[range.lowerBound + index] != name[index] { return false }
    return true
  }
}

extension NameTable.ID {
  static let deprecated = NameTable.ID(rawValue: 0)
  static let oneOf = NameTable.ID(rawValue: 1)
  static let skip = NameTable.ID(rawValue: 2)
  static let include = NameTable.ID(rawValue: 3)
  static let `defer` = NameTable.ID(rawValue: 4)
  static let stream = NameTable.ID(rawValue: 5)
  static let label = NameTable.ID(rawValue: 6)
  static let `if` = NameTable.ID(rawValue: 7)
  static let fields = NameTable.ID(rawValue: 8)
  static let interfaces = NameTable.ID(rawValue: 9)
  static let possibleTypes = NameTable.ID(rawValue: 10)
  static let inputFields = NameTable.ID(rawValue: 11)
  static let schema = NameTable.ID(rawValue: 12)
  static let type = NameTable.ID(rawValue: 13)
  static let typename = NameTable.ID(rawValue: 14)
  static let int = NameTable.ID(rawValue: 15)
  static let float = NameTable.ID(rawValue: 16)
  static let string = NameTable.ID(rawValue: 17)
  static let boolean = NameTable.ID(rawValue: 18)
  static let id = NameTable.ID(rawValue: 19)
}

/// Where numbered things are found again by their hash: open addressing, at most half full.
///
/// Hashes depend on a seed that is new in each process, so that nobody can choose names that collide.
struct HashIndex: Sendable {
  private struct Slot {
    var hash: UInt32
    /// The number of the thing, plus one; 0 if the slot is free.
    var entry: UInt32
  }

  private var slots: [Slot] = Array(repeating: Slot(hash: 0, entry: 0), count: 16)
  private var count = 0

  private static let seed = UInt64.random(in: .min ... .max)

  init(minimumCapacity: Int = 0) {
    if minimumCapacity > 8 { grow(to: minimumCapacity * 2) }
  }

  /// The hash of bytes.
  @inline(__always)
  static func hash(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt32 {
    var state = seed ^ UInt64(truncatingIfNeeded: bytes.count)
    var rest = UnsafeRawBufferPointer(bytes)
    while rest.count >= 8 {
      state = mix(state ^ rest.loadUnaligned(as: UInt64.self))
      rest = UnsafeRawBufferPointer(rebasing: rest[8...])
    }
    var last: UInt64 = 0
    for byte in rest { last = last << 8 | UInt64(byte) }
    return UInt32(truncatingIfNeeded: mix(state ^ last))
  }

  /// The hash of a pair of numbers.
  @inline(__always)
  static func hash(_ pair: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: mix(seed ^ pair)) }

  @inline(__always)
  private static func mix(_ value: UInt64) -> UInt64 {
    let product = value.multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
    return product.high ^ product.low
  }

  /// The number with this hash of which the closure says that it is the one.
  @inline(__always)
  func find(_ hash: UInt32, where isMatch: (UInt32) -> Bool) -> UInt32? {
    let mask = slots.count - 1
    var position = Int(hash) & mask
    while slots[position].entry != 0 {
      if slots[position].hash == hash, isMatch(slots[position].entry - 1) { return slots[position].entry - 1 }
      position = (position + 1) & mask
    }
    return nil
  }

  /// Adds a number that is not in the index.
  mutating func insert(_ number: UInt32, hash: UInt32) {
    if (count + 1) * 2 > slots.count { grow(to: slots.count * 2) }
    place(Slot(hash: hash, entry: number + 1))
    count += 1
  }

  private mutating func grow(to minimum: Int) {
    let old = slots
    var size = slots.count
    while size < minimum { size *= 2 }
    slots = Array(repeating: Slot(hash: 0, entry: 0), count: size)
    for slot in old where slot.entry != 0 { place(slot) }
  }

  private mutating func place(_ slot: Slot) {
    let mask = slots.count - 1
    var position = Int(slot.hash) & mask
    while slots[position].entry != 0 { position = (position + 1) & mask }
    slots[position] = slot
  }
}
