package import StrictJSON
import SystemBase

/// A value that has been read for a field, before it is known which object it belongs to.
struct PendingSlot: BitwiseCopyable {
  /// With the number of the field.
  let slot: Slot
  /// The number of the field in the plan.
  let planned: Int32
  /// The place of the field in an entity; -1 for one with arguments.
  let place: Int32
}

/// What one write has done so far.
struct WriteState: ~Copyable {
  /// The new chunk, whose number also marks slots that the write has changed.
  let number: UInt32
  let chunk: Chunk
  var json: ResponseScanner
  let errors: ErrorTree
  /// The place of the layer that is written; -1 for the base.
  let layer: Int
  /// Whether the fields are noted that become stale by times of their own.
  var notesDated = false
  var dated: [RecordChange] = []
  var elements = SlotStack<Slot>()
  var pending = SlotStack<PendingSlot>()
  var journal = WriteJournal()
  var key: [UInt8] = []

  /// Reads a value without subfields, which is next.
  @inline(__always)
  mutating func scalar() throws(RecordError) -> Slot {
    let start = json.offset
    try json.skipValue()
    return Slot(.scalar, chunk: number, offset: start, count: json.offset - start)
  }

  /// Keeps the last elements as the cells of a list or object.
  mutating func append(_ kind: Slot.Kind, from first: Int) -> Slot {
    let slot = append(kind, elements.elements(from: first))
    elements.cut(to: first)
    return slot
  }

  /// Keeps the cells of a list or object.
  mutating func append(_ kind: Slot.Kind, _ cells: UnsafeBufferPointer<Slot>) -> Slot {
    let isPartial = cells.contains { $0.isPartial }
    return Slot(kind, isPartial: isPartial, chunk: number, offset: chunk.add(cells), count: cells.count)
  }

  /// Keeps the cells of a list or object.
  mutating func append(_ kind: Slot.Kind, _ cells: [Slot]) -> Slot {
    cells.withUnsafeBufferPointer { append(kind, $0) }
  }
}

extension RecordCache {
  /// How many bytes a response may have.
  package static var responseLimit: Int { 1 << 30 }

  /// Writes the `data` of a response, and returns the fields whose visible values changed. If it throws, nothing has.
  /// - Parameters:
  ///   - data: JSON: an object with what the plan selects. It is checked on the way. What is not in it stays as it is.
  ///   - entity: What a fragment's data is of; `nil` for an operation, or for a fragment on a type with one object.
  ///   - errors: The paths of the response's errors.
  ///   - layer: The number of the layer to write to, which must be there; `nil` for the base.
  ///   - date: When the server has said this; `nil` if it has not.
  package mutating func write(
    _ data: PaddedBytes, of plan: inout PreparedPlan, at entity: RecordID? = nil, errors: [RecordErrorPath] = [],
    in layer: UInt64? = nil, saidAt date: StoreTime? = nil
  ) throws(RecordError) -> [RecordChange] {
    dated = []
    guard data.count <= Self.responseLimit else { throw .tooLarge(limit: Self.responseLimit) }
    guard let place = self.place(ofLayer: layer) else { return [] }
    try plan.attach(to: self)
    let chunk = Chunk(data)
    var state = WriteState(
      number: add(chunk), chunk: chunk, json: ResponseScanner(chunk), errors: ErrorTree(errors), layer: place,
      notesDated: date != nil)
    do throws(RecordError) {
      guard state.json.next() == UInt8(ascii: "{") else {
        try state.json.skipValue()
        throw .mismatch(field: "data")
      }
      let target = try target(of: plan, entity)
      _ = try writeObject(0, of: target, at: state.errors.root, &plan, &state)
      try state.json.finish()
    } catch {
      undo(state)
      throw data.read { error.completed(by: $0) }
    }
    if !state.dated.isEmpty, !layers.isEmpty {
      // What is hidden was said before what is shown.
      state.dated.removeAll { answeringLayer(of: $0)?.number ?? 0 > layer ?? 0 }
    }
    if let date { self.date(state.dated, date) }
    dated = state.dated
    let changes = finish(&state)
    if layers.count <= place + 1 { return changes }
    let keys = state.journal.fields.map { SlotKey($0.entity, $0.field) }
    return changes + rewritePages(of: keys, above: place)
  }

  /// The entity that a plan is written to or read of.
  mutating func target(of plan: borrowing PreparedPlan, _ entity: RecordID?) throws(RecordError) -> UInt32 {
    guard let entity else {
      return findOrInsert(type(named: plan.plan.rootType), UnsafeBufferPointer(start: nil, count: 0))
    }
    guard isKept(entity) else { throw .noEntity }
    return entity.number
  }

  // MARK: Values

  private mutating func writeValue(
    _ planned: Int32, at place: Int, _ plan: inout PreparedPlan, _ state: inout WriteState
  ) throws(RecordError) -> Slot {
    let byte = state.json.next()
    let node = plan.fields[Int(planned)].node
    if byte == UInt8(ascii: "n") {
      try state.json.skip("null")
      return Slot(ErrorTree.explainsNull(place) ? .error : .null, chunk: state.number)
    }
    if node < 0 { return try state.scalar() }
    let slot: Slot
    switch byte {
    case UInt8(ascii: "{"): slot = try writeObject(node, of: nil, at: place, &plan, &state)
    case UInt8(ascii: "["): slot = try writeList(planned, at: place, &plan, &state)
    default: throw .mismatch(field: plan.responseName(planned))
    }
    let page = plan.fields[Int(planned)].page
    return page < 0 ? slot : pages(slot, plan.pages[Int(page)], isEdit: plan.replacesPages, &state)
  }

  private mutating func writeList(
    _ planned: Int32, at place: Int, _ plan: inout PreparedPlan, _ state: inout WriteState
  ) throws(RecordError) -> Slot {
    let first = state.elements.count
    if try state.json.enter(until: UInt8(ascii: "]")) {
      repeat {
        let inner = place >= 0 ? state.errors.place(.index(state.elements.count - first), below: place) : place
        let slot = try writeValue(planned, at: inner, &plan, &state)
        state.elements.append(slot)
      } while try state.json.passComma(until: UInt8(ascii: "]"))
    }
    return state.append(.list, from: first)
  }

  /// Reads an object. Its fields are kept aside until its end, when it is known whether it has a key.
  private mutating func writeObject(
    _ node: Int32, of entity: UInt32?, at place: Int, _ plan: inout PreparedPlan, _ state: inout WriteState
  ) throws(RecordError) -> Slot {
    var isEmpty = try !state.json.enter(until: UInt8(ascii: "}"))
    let first = state.pending.count
    let number: Int32
    var expected: Int32
    if let entity {
      number = try plan.typed(node, entities[Int(entity)].type, in: &self)
      expected = plan.typed[Int(number)].fields.lowerBound
    } else if isEmpty {
      number = try plan.typed(node, 0, in: &self)
      expected = 0
    } else {
      (number, expected, isEmpty) = try typed(node, &plan, &state)
    }
    let typed = plan.typed[Int(number)]
    var isInOrder = true
    while !isEmpty {
      let index = try plan.passKey(&state.json, expected: expected, in: typed.fields)
      if index >= 0 {
        if index < expected { isInOrder = false }
        expected = index + 1
        let field = plan.fields[Int(index)]
        var slot: Slot
        if field.node < 0, state.json.next() != UInt8(ascii: "n") {
          slot = try state.scalar()
        } else {
          let inner = place >= 0 ? state.errors.place(.key(plan.responseName(index)), below: place) : place
          slot = try writeValue(index, at: inner, &plan, &state)
        }
        slot.field = field.field
        state.pending.append(PendingSlot(slot: slot, planned: index, place: field.place))
      } else {
        try state.json.skipValue()
      }
      isEmpty = try !state.json.passComma(until: UInt8(ascii: "}"))
    }
    guard let entity = entity ?? self.entity(typed, pendingFrom: first, &plan, &state) else {
      return embedded(pendingFrom: first, isMerged: typed.hasTwins || !isInOrder, &state)
    }
    if state.notesDated, !typed.staleTimes.isEmpty { noteDated(entity, typed, pendingFrom: first, plan, &state) }
    let isPlain = state.layer < 0 && !isCollecting
    if isPlain, entities[Int(entity)].count == 0 { widen(entity) }
    var index = first
    while index < state.pending.count {
      if isPlain { index = passPlain(from: index, entity, &state) }
      guard index < state.pending.count else { break }
      let pending = state.pending[index]
      put(pending.slot, entity, pending.slot.field, at: pending.place, &state)
      index += 1
    }
    state.pending.cut(to: first)
    return Slot(.reference, chunk: state.number, offset: Int(entity))
  }

  /// Writes pending values to the base where nothing is, or the same, as is usual, until one for which that is not so.
  /// - Returns: The place of that.
  @inline(__always)
  private mutating func passPlain(from first: Int, _ entity: UInt32, _ state: inout WriteState) -> Int {
    let record = entities[Int(entity)]
    var index = first
    while index < state.pending.count {
      let pending = state.pending[index]
      guard UInt32(bitPattern: pending.place) < record.count else { break }
      let old = slots[Int(record.start) + Int(pending.place)]
      if old.kind == .missing {
        index = putFirst(from: index, entity, record, &state)
      } else {
        guard isSame(old, pending.slot, state.chunk) else { break }
        index += 1
      }
    }
    return index
  }

  /// Writes pending values where nothing is.
  /// - Returns: The place of the first that is to be written elsewhere.
  @inline(__always)
  private mutating func putFirst(
    from first: Int, _ entity: UInt32, _ record: Entity, _ state: inout WriteState
  ) -> Int {
    // Once for all, the array is known to be this cache's alone.
    var slots = self.slots.mutableSpan
    for index in first..<state.pending.count {
      let pending = state.pending[index]
      let place = Int(record.start) + Int(pending.place)
      guard UInt32(bitPattern: pending.place) < record.count, slots[place].kind == .missing else { return index }
      var slot = pending.slot
      state.journal.noteFirst(RecordChange(entity: entity, field: slot.field, place: pending.place), slot)
      slot.field = 0
      slots[place] = slot
    }
    return state.pending.count
  }

  /// Whether a value is what the base has, as far as that is soon found out.
  @inline(__always)
  private func isSame(_ old: Slot, _ new: Slot, _ chunk: Chunk) -> Bool {
    guard old.kind == new.kind else { return false }
    switch new.kind {
    case .null: return true
    case .reference: return old.offset == new.offset
    case .scalar:
      guard old.count == new.count else { return false }
      let text = UnsafePointer(chunk.bytes) + Int(new.offset)
      return Stores.areEqual(starts[Int(old.chunk)].bytes + Int(old.offset), text, Int(new.count))
    case .missing, .error, .list, .object, .pages: return false
    }
  }

  /// The type of the object whose members are next, by its `__typename`. If that is the first member, as a rule, it is
  /// passed, too.
  /// - Returns: The number of the typed node, the field that is expected next, and whether the object has ended.
  @inline(__always)
  private mutating func typed(
    _ node: Int32, _ plan: inout PreparedPlan, _ state: inout WriteState
  ) throws(RecordError) -> (Int32, expected: Int32, isEmpty: Bool) {
    let name = plan.nodes[Int(node)].typename
    guard !name.isEmpty, plan.passName(&state.json, name) else {
      let number = try searchTyped(node, &plan, state.json)
      return (number, plan.typed[Int(number)].fields.lowerBound, false)
    }
    // White space before the value does not belong to it.
    _ = state.json.next()
    let start = state.json.offset
    let number = try readTyped(node, &plan, &state.json)
    let first = plan.typed[Int(number)].fields.lowerBound
    // Fragments may select it for some types only.
    let planned = plan.typed[Int(number)].typename
    if planned >= 0 {
      let slot = Slot(.scalar, chunk: state.number, offset: start, count: state.json.offset - start)
      state.pending.append(PendingSlot(slot: slot, planned: planned, place: plan.fields[Int(planned)].place))
    }
    return (number, planned == first ? first + 1 : first, try !state.json.passComma(until: UInt8(ascii: "}")))
  }

  /// Reads the value of `__typename`.
  @inline(__always)
  private mutating func readTyped(
    _ node: Int32, _ plan: inout PreparedPlan, _ json: inout ResponseScanner
  ) throws(RecordError) -> Int32 {
    let known = plan.passType(of: node, &json)
    if known >= 0 { return known }
    guard json.next() == UInt8(ascii: "\"") else { throw .mismatch(field: "__typename") }
    let start = json.position
    if try json.skipString() {
      let bytes = UnsafeBufferPointer(start: start + 1, count: json.position - start - 2)
      return try plan.typed(node, named: bytes, in: &self)
    }
    let name = ResponseScanner.unescaped(UnsafeBufferPointer(start: start, count: json.position - start))
    return try plan.typed(node, type(named: name), in: &self)
  }

  /// Looks for `__typename` among all members.
  @inline(never)
  private mutating func searchTyped(
    _ node: Int32, _ plan: inout PreparedPlan, _ scanner: ResponseScanner
  ) throws(RecordError) -> Int32 {
    let name = plan.nodes[Int(node)].typename
    guard !name.isEmpty else { return try plan.typed(node, 0, in: &self) }
    var json = scanner
    repeat {
      if try plan.passKey(&json, named: name) { return try readTyped(node, &plan, &json) }
      try json.skipValue()
    } while try json.passComma(until: UInt8(ascii: "}"))
    return try plan.typed(node, 0, in: &self)
  }

  /// The entity that the fields of an object tell; `nil` for an object without a key.
  /// - Parameter plan: Which stays as it is. What the caller may change would be copied for one who only reads it.
  private mutating func entity(
    _ typed: PreparedPlan.Typed, pendingFrom first: Int, _ plan: inout PreparedPlan, _ state: inout WriteState
  ) -> UInt32? {
    if typed.isRoot { return findOrInsert(typed.type, UnsafeBufferPointer(start: nil, count: 0)) }
    guard !typed.key.isEmpty else { return nil }
    state.key.removeAll(keepingCapacity: true)
    for number in typed.key {
      let planned = plan.keyFields[Int(number)]
      // A key stands where the document has it, as a rule.
      let place = first + Int(planned &- typed.fields.lowerBound)
      let isThere = place < state.pending.count && state.pending[place].planned == planned
      let pending =
        isThere
        ? state.pending[place] : state.pending.elements(from: first).last { $0.planned == planned }
      guard let slot = pending?.slot, slot.kind == .scalar else { return nil }
      let bytes = self.bytes(of: slot)
      var part = bytes
      switch bytes[0] {
      case UInt8(ascii: "\""): part = UnsafeBufferPointer(rebasing: bytes[1..<(bytes.count - 1)])
      case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): break
      default: return nil
      }
      let isEscaped = part.contains(UInt8(ascii: "\\"))
      if typed.key.count == 1, !isEscaped { return findOrInsert(typed.type, part) }
      let text = isEscaped ? Array(ResponseScanner.unescaped(bytes).utf8) : Array(part)
      if number > typed.key.lowerBound { state.key.append(UInt8(ascii: "+")) }
      if typed.key.count == 1 { state.key = text } else { Self.append(text, to: &state.key) }
    }
    return state.key.withUnsafeBufferPointer { findOrInsert(typed.type, $0) }
  }

  private mutating func embedded(pendingFrom first: Int, isMerged: Bool, _ state: inout WriteState) -> Slot {
    let base = state.elements.count
    for index in first..<state.pending.count {
      let slot = state.pending[index].slot
      if isMerged, let twin = state.elements.elements(from: base).firstIndex(where: { $0.field == slot.field }) {
        if var both = combined(state.elements[base + twin], slot, &state) {
          both.field = slot.field
          state.elements[base + twin] = both
        }
      } else {
        state.elements.append(slot)
      }
    }
    state.pending.cut(to: first)
    return state.append(.object, from: base)
  }

  // MARK: Slots

  /// Writes a value to a field of an entity.
  @inline(never)
  mutating func put(_ new: Slot, _ entity: UInt32, _ field: UInt32, at place: Int32, _ state: inout WriteState) {
    if isCollecting { retain(new, entity, field, at: place) }
    guard state.layer < 0 else {
      // An error in a layer would hide what is below.
      if new.kind == .error { return }
      return putInLayer(new, entity, field, at: place, &state)
    }
    let old = base(entity, field, at: place)
    guard var slot = combined(old, new, &state) else { return }
    let change = RecordChange(entity: entity, field: field, place: place)
    if old.chunk != state.number || old.kind == .missing {
      state.journal.note(change, before: old)
    } else {
      state.journal.noteReplaced(change, by: slot)
    }
    slot.field = 0
    setBase(slot, entity, field, at: place)
  }

  private mutating func putInLayer(
    _ new: Slot, _ entity: UInt32, _ field: UInt32, at place: Int32, _ state: inout WriteState
  ) {
    let key = SlotKey(entity, field)
    let own = layers[state.layer].slots[key]
    let old = own ?? visible(entity, field, at: place, upTo: state.layer)
    // A layer keeps what is the same below, since that may change.
    guard var slot = combined(old, new, &state) ?? (own == nil ? old : nil) else { return }
    if new.kind == .pages { slot = logged(slot, own, new, &state) }
    if own?.chunk != state.number || own?.kind == .missing {
      state.journal.note(RecordChange(entity: entity, field: field, place: place), before: own)
    }
    slot.field = 0
    layers[state.layer].slots[key] = slot
  }
}

// MARK: - Keys of a response

extension PreparedPlan {
  /// Passes a key, and returns the number of its field, or -1 if it is none of them.
  @inline(__always)
  mutating func passKey(
    _ json: inout ResponseScanner, expected: Int32, in fields: Range<Int32>
  ) throws(RecordError) -> Int32 {
    if expected < fields.upperBound, passName(&json, self.fields[Int(expected)].name) { return expected }
    return try searchKey(&json, in: fields)
  }

  /// Mutating like what is around it, though it changes nothing: the plan would be copied for it.
  @inline(never)
  private mutating func searchKey(_ json: inout ResponseScanner, in fields: Range<Int32>) throws(RecordError) -> Int32 {
    let key = try readKey(&json)
    return fields.first { isName(self.fields[Int($0)].name, key) } ?? -1
  }

  /// Passes a key, and returns whether it is this one.
  @inline(never)
  func passKey(_ json: inout ResponseScanner, named name: Range<Int32>) throws(RecordError) -> Bool {
    isName(name, try readKey(&json))
  }

  /// Passes a key and its colon, if they are just these bytes of the plan's text.
  @inline(__always)
  func passName(_ json: inout ResponseScanner, _ name: Range<Int32>) -> Bool {
    // White space may come before a key.
    guard json.next() == UInt8(ascii: "\"") else { return false }
    return text.withUnsafeBufferPointer { text in
      guard let start = text.baseAddress else { return false }
      return json.pass(start + Int(name.lowerBound), count: Int(name.upperBound &- name.lowerBound))
    }
  }

  /// Passes the name of a type, with its quotes, if the node has met it; returns the number of what is selected then, or -1.
  @inline(__always)
  func passType(of node: Int32, _ json: inout ResponseScanner) -> Int32 {
    var number = nodes[Int(node)].firstTyped
    while number >= 0 {
      let (name, isEscaped) = (typed[Int(number)].name, typed[Int(number)].isEscaped)
      if !isEscaped, passName(&json, (name.lowerBound - 1)..<(name.upperBound + 1)) { return number }
      number = typed[Int(number)].next
    }
    return -1
  }

  /// Passes a key, which may have escapes, and white space behind it. Returns it with its quotes.
  @inline(never)
  private func readKey(_ json: inout ResponseScanner) throws(RecordError) -> [UInt8] {
    guard json.next() == UInt8(ascii: "\"") else { throw .malformed(nil) }
    let start = json.position
    try json.skipString()
    let key = UnsafeBufferPointer(start: start, count: json.position - start)
    guard json.next() == UInt8(ascii: ":") else { throw .malformed(nil) }
    json.position += 1
    return key.contains(UInt8(ascii: "\\")) ? Array("\"\(ResponseScanner.unescaped(key))\"".utf8) : Array(key)
  }

  private func isName(_ name: Range<Int32>, _ key: [UInt8]) -> Bool {
    text[Int(name.lowerBound)..<(Int(name.upperBound) - 1)].elementsEqual(key)
  }

  /// The name of a field in the response.
  func responseName(_ planned: Int32) -> String {
    let range = fields[Int(planned)].name
    return String(decoding: text[(Int(range.lowerBound) + 1)..<(Int(range.upperBound) - 2)], as: UTF8.self)
  }
}
