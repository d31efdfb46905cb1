import StrictJSON
import SystemBase

/// Records as bytes, for a journal: a sequence of statements, each of which says what something is from there on. The
/// article <doc:DiskFormat> has the bytes.
///
/// Numbers are LEB128. A name or an entity is written once in a section, which is what one change has brought, and
/// has the next number from then on; 0 says that a new one follows.
enum RecordStatement: UInt8 {
  /// What follows numbers its names and entities from 1 again.
  case section
  /// The entity, by its type and key, that the next statements are about.
  case entity
  /// The entity has no fields but those that follow.
  case cleared
  /// A field of the entity, by its name with its arguments, and its value.
  case field
  /// What is known of an operation: its digest, when its latest response came, and whether it is out of date.
  case operation
  /// When the oldest record may have been written, and which keys the types had then.
  case beginning
  /// When the server said what a field of the entity has.
  case date
  /// That the server has refused what a field of the entity had, which is missing.
  case refused
  /// That the account was signed out before, and the random number of that.
  case signedOut
}

/// Bytes that are no records, of this version at least.
struct UnreadableRecords: Error {
  /// Whether the types had other keys than the schema gives them.
  var hasOtherKeys = false
}

extension [UInt8] {
  /// What all records begin with after a sign-out; nothing, if there was none.
  init(signOut number: UInt64) {
    self = []
    if number == 0 { return }
    append(.signedOut)
    append(fixed: number)
  }

  /// The number of the sign-out with which they begin; 0 if they do not.
  var signOut: UInt64 {
    guard first == RecordStatement.signedOut.rawValue, count > 8 else { return 0 }
    return self[1...8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  mutating func append(_ statement: RecordStatement) { append(statement.rawValue) }

  mutating func append(number: UInt64) {
    var rest = number
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(truncatingIfNeeded: rest))
  }

  mutating func append(text: some Collection<UInt8>) {
    append(number: UInt64(text.count))
    append(contentsOf: text)
  }

  mutating func append<Number: FixedWidthInteger>(fixed number: Number) {
    Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
  }
}

// MARK: - Writing

/// The names and entities of a section that have numbers.
struct RecordNumbers {
  var names: [UInt64: UInt64] = [:]
  var entities: [UInt32: UInt64] = [:]
}

extension RecordCache {
  /// Appends what the server has answered for some fields.
  func encode(_ changes: [RecordChange], into bytes: inout [UInt8]) {
    var (numbers, entity) = (RecordNumbers(), UInt32?.none)
    bytes.append(.section)
    for change in changes {
      if change.entity != entity {
        bytes.append(.entity)
        encode(entity: change.entity, &numbers, into: &bytes)
        entity = change.entity
      }
      encode(change.field, answered(change.entity, change.field, at: change.place), &numbers, into: &bytes)
    }
  }

  /// Appends that the server has refused some fields.
  func encodeRefusal(of fields: [RecordChange], into bytes: inout [UInt8]) {
    if fields.isEmpty { return }
    var numbers = RecordNumbers()
    bytes.append(.section)
    for field in fields {
      bytes.append(.entity)
      encode(entity: field.entity, &numbers, into: &bytes)
      bytes.append(.refused)
      encode(field: field.field, &numbers, into: &bytes)
    }
  }

  /// Appends all that the server has answered for an entity, in the place of what was there.
  func encodeAll(of entity: UInt32, into bytes: inout [UInt8]) {
    var numbers = RecordNumbers()
    bytes.append(.section)
    encodeAll(of: entity, layered: layeredFields(), &numbers, into: &bytes)
  }

  /// Appends all that the server has answered.
  func encodeAll(into bytes: inout [UInt8]) {
    var numbers = RecordNumbers()
    let layered = layeredFields()
    bytes.append(.section)
    for entity in entities.indices where entities[entity].isUsed {
      encodeAll(of: UInt32(truncatingIfNeeded: entity), layered: layered, &numbers, into: &bytes)
    }
  }

  /// The fields of each entity that layers have which are not optimistic.
  private func layeredFields() -> [UInt32: Set<UInt32>] {
    var fields: [UInt32: Set<UInt32>] = [:]
    for layer in layers where !layer.isOptimistic {
      for key in layer.slots.keys { fields[key.entity, default: []].insert(key.field) }
    }
    return fields
  }

  private func encodeAll(
    of entity: UInt32, layered: [UInt32: Set<UInt32>], _ numbers: inout RecordNumbers, into bytes: inout [UInt8]
  ) {
    let record = entities[Int(entity)]
    let plain = layouts[Int(record.type)].fields
    let layered = layered[entity] ?? []
    let extras = extras[entity]?.keys.map { $0 } ?? []
    bytes.append(.entity)
    encode(entity: entity, &numbers, into: &bytes)
    bytes.append(.cleared)
    var fields = plain.prefix(Int(record.count)) + extras
    if !layered.isEmpty { fields += layered.subtracting(fields) }
    for field in fields {
      let slot = answered(entity, field, at: knownPlace(of: field, in: record.type))
      if slot.kind != .missing { encode(field, slot, &numbers, into: &bytes) }
    }
    for (field, date) in dates.dates(of: entity) { encode(date, of: field, &numbers, into: &bytes) }
  }

  private func encode(_ field: UInt32, _ slot: Slot, _ numbers: inout RecordNumbers, into bytes: inout [UInt8]) {
    bytes.append(.field)
    encode(field: field, &numbers, into: &bytes)
    encode(slot, &numbers, into: &bytes)
  }

  private func encode(_ slot: Slot, _ numbers: inout RecordNumbers, into bytes: inout [UInt8]) {
    bytes.append(slot.kind.rawValue)
    switch slot.kind {
    case .missing, .error: break
    case .null:
      bytes.append(number: UInt64(slot.offset))
      bytes.append(number: UInt64(slot.count))
    case .scalar: bytes.append(text: self.bytes(of: slot))
    case .reference: encode(entity: slot.offset, &numbers, into: &bytes)
    case .list, .object, .pages:
      let cells = slot.kind == .pages ? lastingCells(of: slot) : cells(of: slot)
      bytes.append(number: UInt64(cells.count))
      for cell in cells {
        if slot.kind != .list { encode(field: cell.field, &numbers, into: &bytes) }
        encode(cell.isFingerprint ? .missing : cell, &numbers, into: &bytes)
      }
    }
  }

  func encode(entity: UInt32, _ numbers: inout RecordNumbers, into bytes: inout [UInt8]) {
    if let number = numbers.entities[entity] { return bytes.append(number: number) }
    numbers.entities[entity] = UInt64(numbers.entities.count + 1)
    let type = entities[Int(entity)].type
    bytes.append(number: 0)
    encode(name: typeNames[Int(type)], of: UInt64(type) | 1 << 32, &numbers, into: &bytes)
    bytes.append(text: key(of: entity))
  }

  func encode(field: UInt32, _ numbers: inout RecordNumbers, into bytes: inout [UInt8]) {
    encode(name: fieldKeys[Int(field)], of: UInt64(field), &numbers, into: &bytes)
  }

  private func encode(
    name: @autoclosure () -> String, of key: UInt64, _ numbers: inout RecordNumbers, into bytes: inout [UInt8]
  ) {
    if let number = numbers.names[key] { return bytes.append(number: number) }
    numbers.names[key] = UInt64(numbers.names.count + 1)
    bytes.append(number: 0)
    bytes.append(text: name().utf8)
  }
}

// MARK: - Reading

/// What bytes say beside records.
struct RecordNotes {
  /// When the oldest record may have been written.
  var beginning: StoreTime?
  var operations: [(digest: UInt128, writtenAt: StoreTime, isInvalidated: Bool)] = []
  /// The fields that the server has refused.
  var refused: [RecordChange] = []
}

/// Where records go that others have encoded, and what that changes.
struct RecordReceipt {
  /// The number of the layer; `nil` for the base.
  let layer: UInt64?
  /// The fields whose visible values may have changed.
  var changes: [RecordChange] = []
  /// The fields that have other dates.
  var dated: [RecordChange] = []
  /// The entities that have no fields but those that followed.
  var cleared: Set<UInt32> = []
  fileprivate var keys: [SlotKey] = []
  private let now: StoreTime

  init(layer: UInt64?, now: StoreTime) { (self.layer, self.now) = (layer, now) }

  /// How much the clock of another machine may be ahead.
  private static let skew = Duration.seconds(60)

  /// When something was said by the clock here, of which another process has a date: not later than now.
  func date(_ date: StoreTime) -> StoreTime { date > now && date - now <= Self.skew ? now : date }
}

extension RecordCache {
  /// Takes what was encoded into the base. Anything may be in the bytes; if it throws, some of them may have been
  /// taken.
  mutating func decode(_ bytes: ArraySlice<UInt8>) throws(UnreadableRecords) -> RecordNotes {
    var (notes, receipt) = (RecordNotes(), RecordReceipt?.none)
    try decode(bytes, &notes, &receipt)
    return notes
  }

  /// Takes what others have encoded, at a level. Anything may be in the bytes; if it throws, the receipt and the notes have
  /// what was taken until then.
  mutating func receive(
    _ bytes: ArraySlice<UInt8>, _ notes: inout RecordNotes, _ receipt: inout RecordReceipt
  ) throws(UnreadableRecords) {
    var taken: RecordReceipt? = receipt
    defer {
      receipt = taken ?? receipt
      if let top = place(ofLayer: receipt.layer) { receipt.changes += rewritePages(of: receipt.keys, above: top) }
      receipt.keys = []
    }
    try decode(bytes, &notes, &taken)
  }

  private mutating func decode(
    _ bytes: ArraySlice<UInt8>, _ notes: inout RecordNotes, _ receipt: inout RecordReceipt?
  ) throws(UnreadableRecords) {
    guard bytes.count <= Self.responseLimit else { throw UnreadableRecords() }
    let chunk = Chunk(PaddedBytes(bytes.span.bytes))
    let number = add(chunk)
    // Also after an error, slots may point to the chunk.
    defer { keep(number) }
    var reader = RecordBytes(chunk)
    while !reader.isAtEnd { try decodeStatement(from: &reader, in: number, &notes, &receipt) }
  }

  private mutating func decodeStatement(
    from bytes: inout RecordBytes, in chunk: UInt32, _ notes: inout RecordNotes, _ receipt: inout RecordReceipt?
  ) throws(UnreadableRecords) {
    switch RecordStatement(rawValue: try bytes.byte()) {
    case nil: throw UnreadableRecords()
    case .section: (bytes.names, bytes.entities, bytes.entity) = ([], [], nil)
    case .entity: bytes.entity = try decodeEntity(from: &bytes)
    case .cleared:
      guard let entity = bytes.entity else { throw UnreadableRecords() }
      clear(entity, &receipt)
    case .field:
      guard let entity = bytes.entity else { throw UnreadableRecords() }
      let field = try decodeField(from: &bytes)
      let place = place(of: field, in: entities[Int(entity)].type)
      take(try decodeSlot(from: &bytes, in: chunk, depth: 0), entity, field, at: place, &receipt)
    case .date:
      guard let entity = bytes.entity else { throw UnreadableRecords() }
      let field = try decodeField(from: &bytes)
      let date = StoreTime(microseconds: try bytes.fixed(Int64.self))
      if dates.staleTimes.isEmpty { return }
      dates[entity, field] = receipt?.date(date) ?? date
      receipt?.dated.append(change(RecordID(number: entity), field))
    case .refused:
      guard let entity = bytes.entity else { throw UnreadableRecords() }
      let field = try decodeField(from: &bytes)
      notes.refused.append(change(RecordID(number: entity), field))
    case .operation:
      let digest = try bytes.fixed(UInt128.self)
      let time = StoreTime(microseconds: try bytes.fixed(Int64.self))
      notes.operations.append((digest, receipt?.date(time) ?? time, try bytes.byte() != 0))
    case .signedOut: _ = try bytes.fixed(UInt64.self)
    case .beginning:
      let time = StoreTime(microseconds: try bytes.fixed(Int64.self))
      let keys = String(decoding: try bytes.text(), as: UTF8.self)
      guard keys == schema.keyDescription else { throw UnreadableRecords(hasOtherKeys: true) }
      notes.beginning = time
    }
  }

  private mutating func clear(_ entity: UInt32, _ receipt: inout RecordReceipt?) {
    if receipt == nil { return clear(entity) }
    receipt?.cleared.insert(entity)
    let layer = receipt?.layer
    receipt?.changes += remove(RecordID(number: entity), in: layer)
  }

  private mutating func take(
    _ slot: Slot, _ entity: UInt32, _ field: UInt32, at place: Int32, _ receipt: inout RecordReceipt?
  ) {
    if receipt == nil { return setBase(slot, entity, field, at: place) }
    let layer = receipt?.layer
    guard let top = self.place(ofLayer: layer) else { return }
    // An error in a layer would hide what is below.
    if top >= 0, slot.kind == .error { return }
    retain(slot, entity, field, at: place)
    let key = SlotKey(entity, field)
    let change = RecordChange(entity: entity, field: field, place: place)
    touched?.append(change)
    receipt?.keys.append(key)
    let old = visible(entity, field, at: place, upTo: top)
    if top < 0 { setBase(slot, entity, field, at: place) } else { layers[top].slots[key] = asWhole(slot) }
    if areEqual(old, slot) { return }
    noteAltered(change, at: top)
    if !isHidden(entity, field, above: top) { receipt?.changes.append(change) }
  }

  private mutating func decodeSlot(
    from bytes: inout RecordBytes, in chunk: UInt32, depth: Int
  ) throws(UnreadableRecords) -> Slot {
    switch Slot.Kind(rawValue: try bytes.byte()) {
    case nil: throw UnreadableRecords()
    case .missing: return .missing
    case .null: return Slot(.null, offset: try bytes.offset(), count: try bytes.offset())
    case .error: return Slot(.error)
    case .scalar:
      let text = try bytes.value()
      return Slot(.scalar, chunk: chunk, offset: bytes.position - text.count, count: text.count)
    case .reference: return Slot(.reference, offset: Int(try decodeEntity(from: &bytes)))
    case .list: return try decodeCells(.list, from: &bytes, in: chunk, depth: depth + 1)
    case .object: return try decodeCells(.object, from: &bytes, in: chunk, depth: depth + 1)
    case .pages:
      let pages = try decodeCells(.pages, from: &bytes, in: chunk, depth: depth + 1)
      guard arePages(pages) else { throw UnreadableRecords() }
      return pages
    }
  }

  private mutating func decodeCells(
    _ kind: Slot.Kind, from bytes: inout RecordBytes, in chunk: UInt32, depth: Int
  ) throws(UnreadableRecords) -> Slot {
    let count = try bytes.number()
    // Each cell takes a byte at least. Pages are deeper than the JSON that they come from, by two for each two.
    guard depth <= 2 * JSONReader.depthLimit, count <= UInt64(bytes.remaining) else { throw UnreadableRecords() }
    var cells: [Slot] = []
    for _ in 0..<count {
      let field = kind == .list ? 0 : try decodeField(from: &bytes)
      var cell = try decodeSlot(from: &bytes, in: chunk, depth: depth)
      cell.field = field
      cells.append(cell)
    }
    let start = bytes.chunk.cells.count
    bytes.chunk.cells.append(contentsOf: cells)
    return Slot(kind, isPartial: cells.contains { $0.isPartial }, chunk: chunk, offset: start, count: cells.count)
  }

  private mutating func decodeEntity(from bytes: inout RecordBytes) throws(UnreadableRecords) -> UInt32 {
    if let known = try bytes.numbered(bytes.entities) { return known }
    let type = type(named: try decodeName(from: &bytes))
    let entity = findOrInsert(type, try bytes.text())
    if type == 0 { throw UnreadableRecords() }
    bytes.entities.append(entity)
    return entity
  }

  private mutating func decodeField(from bytes: inout RecordBytes) throws(UnreadableRecords) -> UInt32 {
    guard let field = field(try decodeName(from: &bytes)) else { throw UnreadableRecords() }
    return field
  }

  private func decodeName(from bytes: inout RecordBytes) throws(UnreadableRecords) -> String {
    if let known = try bytes.numbered(bytes.names) { return known }
    let name = String(decoding: try bytes.text(), as: UTF8.self)
    bytes.names.append(name)
    return name
  }
}

/// Where a reader of encoded records is, and what the section has numbered.
private struct RecordBytes {
  let chunk: Chunk
  private(set) var position = 0
  var names: [String] = []
  var entities: [UInt32] = []
  var entity: UInt32?

  init(_ chunk: Chunk) { self.chunk = chunk }

  var remaining: Int { chunk.count - position }
  var isAtEnd: Bool { position == chunk.count }

  mutating func byte() throws(UnreadableRecords) -> UInt8 {
    if isAtEnd { throw UnreadableRecords() }
    defer { position += 1 }
    return chunk.bytes[position]
  }

  mutating func number() throws(UnreadableRecords) -> UInt64 {
    var number: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 63, by: 7) {
      let byte = try byte()
      number |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return number }
    }
    throw UnreadableRecords()
  }

  /// A number of 32 bits, with more of which a slot could not point.
  mutating func offset() throws(UnreadableRecords) -> Int {
    let number = try number()
    guard number <= UInt64(UInt32.max) else { throw UnreadableRecords() }
    return Int(number)
  }

  mutating func text() throws(UnreadableRecords) -> UnsafeBufferPointer<UInt8> {
    let count = try number()
    guard count <= UInt64(remaining) else { throw UnreadableRecords() }
    defer { position += Int(count) }
    return UnsafeBufferPointer(start: chunk.bytes + position, count: Int(count))
  }

  /// Text that is a value in JSON, without white space around it: who reads it relies on that.
  mutating func value() throws(UnreadableRecords) -> UnsafeBufferPointer<UInt8> {
    let text = try text()
    var json = ResponseScanner(chunk)
    json.position = UnsafePointer(chunk.bytes) + (position - text.count)
    guard let first = text.first, first > UInt8(ascii: " "), (try? json.skipValue()) != nil, json.offset == position
    else { throw UnreadableRecords() }
    return text
  }

  mutating func fixed<Number: FixedWidthInteger>(_ type: Number.Type) throws(UnreadableRecords) -> Number {
    let size = MemoryLayout<Number>.size
    guard size <= remaining else { throw UnreadableRecords() }
    defer { position += size }
    return Number(littleEndian: UnsafeRawPointer(chunk.bytes + position).loadUnaligned(as: Number.self))
  }

  /// What has the next number; `nil` if a new one follows.
  mutating func numbered<Element>(_ known: [Element]) throws(UnreadableRecords) -> Element? {
    let number = try number()
    if number == 0 { return nil }
    guard number <= UInt64(known.count) else { throw UnreadableRecords() }
    return known[Int(number) - 1]
  }
}
