import SystemBase

/// The number of an entity: an object with a key, or the root of an operation. It is good as long as the entity is
/// kept, which a watcher or a retained read takes care of.
package struct RecordID: Hashable, Sendable {
  package let number: UInt32

  package init(number: UInt32) { self.number = number }
}

/// The field of an entity whose value changed.
package struct RecordChange: Hashable, Sendable, BitwiseCopyable {
  package let entity: UInt32
  /// The number of the field's key.
  package let field: UInt32
  /// The place in the entity; -1 for a field with arguments.
  let place: Int32
}

/// A field that has another value at a level than before, for what is read at that level or above it, up to the next
/// layer that has the field itself.
struct RecordAlteration: Sendable {
  let field: RecordChange
  /// The number of the layer; 0 for the base.
  let level: UInt64
}

/// A normalised cache: each object that has a key is kept once, as slots that point into the bytes of responses.
///
/// It is a value without locks, for one thread at a time, and not meant to be copied: prepared plans would take a copy
/// that has changed for the original. Numbers for types, fields and entities are dense, so that what is read often is
/// an index into an array.
package struct RecordCache: Sendable {
  /// The fields of a type that have no arguments, in the order in which they were first met: the place in it is the
  /// place in each entity of the type. `__typename` is the first.
  struct Layout: Sendable {
    var fields: [UInt32] = [0]
    var places: [UInt32: Int32] = [0: 0]
  }

  struct Entity: Sendable {
    var type: UInt32
    /// Its slots. Those of fields that its layout got later are missing.
    var start: UInt32 = 0
    var count: UInt32 = 0
    var keyStart: UInt32 = 0
    var keyCount: UInt32 = 0
    var hash: UInt32 = 0
    /// Whether the number is in use.
    var isUsed = true
  }

  package let schema: RecordSchema

  /// Tells this cache's numbers from those of others, and from those before fields were forgotten.
  private(set) var identity: UInt64

  // Names. Type 0 is that of an object whose type is not known, field 0 is `__typename`.
  private(set) var typeNames: [String] = [""]
  private var typeNumbers: [ExactText: UInt32] = [:]
  private(set) var fieldKeys = ["__typename"] + PageField.names
  private var fieldNumbers = [ExactText("__typename"): 0].merging(PageField.numbers) { known, _ in known }
  private var freeFields: [UInt32] = []
  private(set) var layouts: [Layout] = [Layout()]

  // Entities, by number and by key.
  private(set) var entities: ContiguousArray<Entity> = []
  private var freeEntities: [UInt32] = []
  private var keys: ContiguousArray<UInt8> = []
  private var deadKeyBytes = 0
  /// Entities by hash, plus one, open addressing; 0 is an empty place.
  private var table: ContiguousArray<UInt32> = ContiguousArray(repeating: 0, count: 64)
  private let seed = UInt64.random(in: 0 ... .max)

  // Slots of fields without arguments, each entity's side by side; those of fields with arguments.
  var slots: ContiguousArray<Slot> = []
  private var freeRanges: [UInt32: [UInt32]] = [:]
  private var freeSlots = 0
  var extras: [UInt32: [UInt32: Slot]] = [:]

  /// By number; number 0 is none.
  private(set) var chunks: ContiguousArray<Chunk?> = [nil]
  /// Where the bytes of each are.
  private(set) var starts: ContiguousArray<ChunkStart> = [ChunkStart(bytes: UnsafePointer(Chunk.none.bytes))]
  private var freeChunks: [UInt32] = []
  /// How many bytes the chunks take.
  package private(set) var chunkBytes = 0

  var layers: [RecordLayer] = []
  /// What is to take the place of a layer's slots, and is not shown yet, by the layer's number.
  var staged: [UInt64: [SlotKey: Slot]] = [:]
  /// The fields of the latest write that a layer above it has otherwise, optimistic ones aside.
  var overruled: [RecordChange] = []
  var collection: RecordCollection?
  /// The fields that writes and removals have touched since somebody took them, also where nothing visible has changed;
  /// `nil` if nobody does.
  var touched: [RecordChange]?
  /// Those of them that have another value at their level now; `nil` if nobody takes them.
  var altered: [RecordAlteration]?

  /// The dates of fields that become stale by times of their own.
  var dates: RecordDates
  /// The fields with such times that the latest write has brought.
  var dated: [RecordChange] = []

  package init(_ schema: RecordSchema = RecordSchema()) { self.init(schema, RecordDates()) }

  init(_ schema: RecordSchema, _ dates: RecordDates) {
    self.schema = schema
    self.dates = dates
    identity = UInt64.random(in: 1 ... .max)
  }
}

// MARK: - Names

extension RecordCache {
  mutating func type(named name: String) -> UInt32 {
    if let number = typeNumbers[ExactText(name)] { return number }
    // No schema has as many; a server that makes them up must not fill the memory.
    if name.isEmpty || typeNames.count >= 1 << 16 { return 0 }
    let number = UInt32(truncatingIfNeeded: typeNames.count)
    typeNames.append(name)
    layouts.append(Layout())
    typeNumbers[ExactText(name)] = number
    return number
  }

  /// The number of a field's key; `nil` if there are too many already.
  mutating func field(_ key: String) -> UInt32? {
    let number: UInt32
    if let known = fieldNumber(key) {
      number = known
    } else if let free = freeFields.popLast() {
      number = free
      fieldKeys[Int(free)] = key
    } else {
      guard fieldKeys.count < Slot.fieldLimit else { return nil }
      number = UInt32(truncatingIfNeeded: fieldKeys.count)
      fieldKeys.append(key)
    }
    fieldNumbers[ExactText(key)] = number
    collection?.use(number)
    return number
  }

  /// Gives up the numbers of fields with arguments that a collection has found nowhere. Those that prepared plans have
  /// are no longer good then, which they find out by the identity.
  mutating func forgetUnusedFields(_ collection: RecordCollection) {
    var forgotten: Set<UInt32> = []
    for (key, number) in fieldNumbers where hasArguments(number) && !collection.isUsed(number) {
      fieldNumbers[key] = nil
      fieldKeys[Int(number)] = ""
      freeFields.append(number)
      forgotten.insert(number)
    }
    if forgotten.isEmpty { return }
    identity = UInt64.random(in: 1 ... .max)
    dates.forgetFields { forgotten.contains($0) }
  }

  /// The number of a field's key, if it has been met.
  package func fieldNumber(_ key: String) -> UInt32? { fieldNumbers[ExactText(key)] }

  /// Whether a field has arguments.
  func hasArguments(_ field: UInt32) -> Bool { fieldKeys[Int(field)].utf8.last == UInt8(ascii: ")") }

  /// The place of a field in the entities of a type; -1 for one with arguments, which are kept apart: there may be any
  /// number of these.
  mutating func place(of field: UInt32, in type: UInt32) -> Int32 {
    if let place = layouts[Int(type)].places[field] { return place }
    if hasArguments(field) { return -1 }
    let place = Int32(truncatingIfNeeded: layouts[Int(type)].fields.count)
    layouts[Int(type)].fields.append(field)
    layouts[Int(type)].places[field] = place
    return place
  }

  /// The place of a field that may not have one yet.
  func knownPlace(of field: UInt32, in type: UInt32) -> Int32 { layouts[Int(type)].places[field] ?? -1 }

  /// A field of an entity.
  func change(_ entity: RecordID, _ field: UInt32) -> RecordChange {
    let place = knownPlace(of: field, in: entities[Int(entity.number)].type)
    return RecordChange(entity: entity.number, field: field, place: place)
  }
}

// MARK: - Entities

extension RecordCache {
  /// The entity of a type with a key, if there is one. The parts of a key are those of the type's key fields, in order.
  package func entity(_ type: String, key parts: [String]) -> RecordID? {
    guard let number = typeNumbers[ExactText(type)] else { return nil }
    let key = Self.key(parts)
    return key.withUnsafeBufferPointer { find(number, $0).entity.map { RecordID(number: $0) } }
  }

  /// The entity of a type with a key, which is made if there is none: so it can be watched before it is written.
  package mutating func insert(_ type: String, key parts: [String]) -> RecordID {
    let type = self.type(named: type)
    let number = Self.key(parts).withUnsafeBufferPointer { findOrInsert(type, $0) }
    return RecordID(number: number)
  }

  /// The entity of a type with a key of one field.
  package func entity(_ type: String, id: String) -> RecordID? { entity(type, key: [id]) }

  /// The root of the operations that begin with a type, if anything has been written there.
  package func root(_ type: String) -> RecordID? { entity(type, key: []) }

  /// Whether an entity's number is in use.
  func isKept(_ entity: RecordID) -> Bool {
    Int(entity.number) < entities.count && entities[Int(entity.number)].isUsed
  }

  /// The name of an entity's type.
  package func typeName(of entity: RecordID) -> String? {
    guard isKept(entity) else { return nil }
    return typeNames[Int(entities[Int(entity.number)].type)]
  }

  /// The type and the key of an entity, as `User:1`, for messages.
  package func name(of entity: UInt32) -> String {
    guard entity < entities.count else { return "" }
    let record = entities[Int(entity)]
    let key = keys[Int(record.keyStart)..<Int(record.keyStart + record.keyCount)]
    let type = typeNames[Int(record.type)]
    return key.isEmpty ? type : "\(type):\(String(decoding: key, as: UTF8.self))"
  }

  /// The bytes of an entity's key.
  func key(of entity: UInt32) -> ArraySlice<UInt8> {
    let record = entities[Int(entity)]
    return keys[Int(record.keyStart)..<Int(record.keyStart + record.keyCount)][...]
  }

  /// The bytes of a key. One part stands as it is. Several are separated by `+`, and escaped by a backslash.
  static func key(_ parts: [String]) -> [UInt8] {
    guard parts.count > 1 else { return parts.first.map { Array($0.utf8) } ?? [] }
    var key: [UInt8] = []
    for (index, part) in parts.enumerated() {
      if index > 0 { key.append(UInt8(ascii: "+")) }
      part.utf8.withContiguousStorageIfAvailable { append($0, to: &key) } ?? append(Array(part.utf8), to: &key)
    }
    return key
  }

  static func append(_ part: some Sequence<UInt8>, to key: inout [UInt8]) {
    for byte in part {
      if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "\\") { key.append(UInt8(ascii: "\\")) }
      key.append(byte)
    }
  }

  /// The entity of a type with a key, which is made if there is none. A collection in progress keeps it: it may be
  /// pointed to from now on.
  mutating func findOrInsert(_ type: UInt32, _ key: UnsafeBufferPointer<UInt8>) -> UInt32 {
    let (found, place, hash) = find(type, key)
    if let found {
      collection?.retain(found)
      return found
    }
    let entity = Entity(
      type: type, keyStart: UInt32(truncatingIfNeeded: keys.count), keyCount: UInt32(truncatingIfNeeded: key.count),
      hash: hash)
    keys.append(contentsOf: key)
    let number: UInt32
    if let free = freeEntities.popLast() {
      number = free
      entities[Int(free)] = entity
    } else {
      number = UInt32(truncatingIfNeeded: entities.count)
      entities.append(entity)
    }
    table[place] = number + 1
    collection?.retain(number)
    if (entities.count - freeEntities.count) * 2 > table.count { growTable() }
    return number
  }

  /// Inlined, since the whole cache would be copied for a call of it from where it may change.
  @inline(__always)
  private func find(
    _ type: UInt32, _ key: UnsafeBufferPointer<UInt8>
  ) -> (entity: UInt32?, place: Int, hash: UInt32) {
    let hash = UInt32(truncatingIfNeeded: Self.hash(key, seed &+ UInt64(type) &* 0x9E37_79B9_7F4A_7C15))
    let mask = table.count - 1
    var place = Int(hash) & mask
    while table[place] != 0 {
      let number = table[place] - 1
      let entity = entities[Int(number)]
      if entity.hash == hash, entity.type == type, Int(entity.keyCount) == key.count, isKey(of: entity, key) {
        return (number, place, hash)
      }
      place = (place + 1) & mask
    }
    return (nil, place, hash)
  }

  private func isKey(of entity: Entity, _ key: UnsafeBufferPointer<UInt8>) -> Bool {
    keys.withUnsafeBufferPointer { keys in
      guard let own = keys.baseAddress, let other = key.baseAddress else { return key.isEmpty }
      return memcmp(own + Int(entity.keyStart), other, key.count) == 0
    }
  }

  private mutating func growTable() { fillTable(count: table.count * 2) }

  private mutating func fillTable(count: Int) {
    table = ContiguousArray(repeating: 0, count: count)
    for number in entities.indices where entities[number].isUsed {
      var place = Int(entities[number].hash) & (count - 1)
      while table[place] != 0 { place = (place + 1) & (count - 1) }
      table[place] = UInt32(truncatingIfNeeded: number) + 1
    }
  }

  /// A hash with a seed of its own for each cache, so that no server can choose keys that collide.
  private static func hash(_ bytes: UnsafeBufferPointer<UInt8>, _ seed: UInt64) -> UInt64 {
    func mix(_ left: UInt64, _ right: UInt64) -> UInt64 {
      let (high, low) = left.multipliedFullWidth(by: right)
      return high ^ low
    }
    let raw = UnsafeRawBufferPointer(bytes)
    var state = seed ^ UInt64(truncatingIfNeeded: bytes.count)
    var index = 0
    while index + 8 <= bytes.count {
      state = mix(state ^ raw.loadUnaligned(fromByteOffset: index, as: UInt64.self), 0xA076_1D64_78BD_642F ^ seed)
      index += 8
    }
    var rest: UInt64 = 0
    while index < bytes.count {
      rest = rest << 8 | UInt64(bytes[index])
      index += 1
    }
    state = mix(state ^ rest, 0xE703_7ED1_A0B4_28DB ^ seed)
    return state ^ state >> 32
  }

  /// A hash of bytes that are compared by it alone: 64 bits with a seed that nobody knows.
  func fingerprint(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt64 { Self.hash(bytes, seed) }

  func fingerprint(_ bytes: [UInt8]) -> UInt64 { bytes.withUnsafeBufferPointer { fingerprint($0) } }

  /// Gives up an entity that nothing points to any more; its number is used again.
  mutating func free(_ number: UInt32) {
    guard entities[Int(number)].isUsed else { return }
    clear(number)
    entities[Int(number)].isUsed = false
    let entity = entities[Int(number)]
    deadKeyBytes += Int(entity.keyCount)
    freeEntities.append(number)
    // What follows in the table moves up, so that no search ends too early.
    let mask = table.count - 1
    var hole = Int(entity.hash) & mask
    while table[hole] != number + 1 { hole = (hole + 1) & mask }
    var next = (hole + 1) & mask
    while table[next] != 0 {
      let home = Int(entities[Int(table[next] - 1)].hash) & mask
      if (next &- home) & mask >= (next &- hole) & mask {
        table[hole] = table[next]
        hole = next
      }
      next = (next + 1) & mask
    }
    table[hole] = 0
  }

  /// How many entities are kept.
  package var entityCount: Int { entities.count - freeEntities.count }

  /// Copies the keys that are in use, if others take most of the memory.
  mutating func compactKeys() {
    guard deadKeyBytes > 4096, deadKeyBytes * 2 > keys.count else { return }
    var kept: ContiguousArray<UInt8> = []
    kept.reserveCapacity(keys.count - deadKeyBytes)
    for number in entities.indices where entities[number].isUsed {
      let start = Int(entities[number].keyStart)
      entities[number].keyStart = UInt32(truncatingIfNeeded: kept.count)
      kept.append(contentsOf: keys[start..<start + Int(entities[number].keyCount)])
    }
    keys = kept
    deadKeyBytes = 0
  }
}

// MARK: - Slots

extension RecordCache {
  /// What the base has of a field.
  @inline(__always)
  func base(_ entity: UInt32, _ field: UInt32, at place: Int32) -> Slot {
    guard place >= 0 else { return extras[entity]?[field] ?? .missing }
    let record = entities[Int(entity)]
    return UInt32(place) < record.count ? slots[Int(record.start) + Int(place)] : .missing
  }

  mutating func setBase(_ slot: Slot, _ entity: UInt32, _ field: UInt32, at place: Int32) {
    guard place >= 0 else {
      if slot.kind == .missing {
        extras[entity]?[field] = nil
        if extras[entity]?.isEmpty == true { extras[entity] = nil }
      } else {
        extras[entity, default: [:]][field] = slot
      }
      return
    }
    if UInt32(place) >= entities[Int(entity)].count { widen(entity) }
    slots[Int(entities[Int(entity)].start) + Int(place)] = slot
  }

  /// Gives an entity room for all fields that its type has by now.
  mutating func widen(_ number: UInt32) {
    let entity = entities[Int(number)]
    let count = UInt32(truncatingIfNeeded: layouts[Int(entity.type)].fields.count)
    let start: UInt32
    if freeSlots > 0, let free = freeRanges[count]?.popLast() {
      start = free
      freeSlots -= Int(count)
      for index in 0..<Int(count) { slots[Int(start) + index] = .missing }
    } else {
      start = UInt32(truncatingIfNeeded: slots.count)
      slots.append(contentsOf: repeatElement(.missing, count: Int(count)))
    }
    for index in 0..<Int(entity.count) { slots[Int(start) + index] = slots[Int(entity.start) + index] }
    release(entity)
    entities[Int(number)].start = start
    entities[Int(number)].count = count
  }

  private mutating func release(_ entity: Entity) {
    guard entity.count > 0 else { return }
    freeRanges[entity.count, default: []].append(entity.start)
    freeSlots += Int(entity.count)
  }

  /// Copies the slots that are in use, if others take most of the memory.
  mutating func compactSlots() {
    guard freeSlots > 1024, freeSlots * 2 > slots.count else { return }
    var kept: ContiguousArray<Slot> = []
    kept.reserveCapacity(slots.count - freeSlots)
    for number in entities.indices where entities[number].count > 0 {
      let start = Int(entities[number].start)
      entities[number].start = UInt32(truncatingIfNeeded: kept.count)
      kept.append(contentsOf: slots[start..<start + Int(entities[number].count)])
    }
    slots = kept
    freeRanges = [:]
    freeSlots = 0
  }

  /// Makes all fields of an entity missing in the base.
  mutating func clear(_ number: UInt32) {
    release(entities[Int(number)])
    (entities[Int(number)].start, entities[Int(number)].count) = (0, 0)
    extras[number] = nil
    dates.forget(number)
  }
}

// MARK: - Chunks

extension RecordCache {
  mutating func add(_ chunk: Chunk) -> UInt32 {
    if let number = freeChunks.popLast() {
      chunks[Int(number)] = chunk
      starts[Int(number)] = ChunkStart(bytes: UnsafePointer(chunk.bytes))
      return number
    }
    chunks.append(chunk)
    starts.append(ChunkStart(bytes: UnsafePointer(chunk.bytes)))
    return UInt32(truncatingIfNeeded: chunks.count - 1)
  }

  /// Counts the memory of a chunk that is complete.
  mutating func keep(_ number: UInt32) { chunkBytes += chunks[Int(number)]?.size ?? 0 }

  /// Gives up a chunk that no slot points to.
  mutating func drop(_ number: UInt32, wasKept: Bool) {
    if wasKept { chunkBytes -= chunks[Int(number)]?.size ?? 0 }
    chunks[Int(number)] = nil
    starts[Int(number)] = starts[0]
    freeChunks.append(number)
  }

  @inline(__always)
  func bytes(of slot: Slot) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: starts[Int(slot.chunk)].bytes + Int(slot.offset), count: Int(slot.count))
  }

  @inline(__always)
  func cells(of slot: Slot) -> ArraySlice<Slot> {
    guard slot.count > 0, let chunk = chunks[Int(slot.chunk)] else { return [] }
    return chunk.cells[slot.cells]
  }
}
