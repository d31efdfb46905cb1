/// A collection in progress: it drops entities that nobody retains, and moves what is left of responses of which most
/// is no longer used. It follows what layers hide, then goes through all entities twice, in slices, between which the
/// cache may be used.
struct RecordCollection: Sendable {
  /// Whether the entities are gone through for the second time.
  fileprivate var isMoving = false
  /// The next entity to be looked at.
  fileprivate var next = 0

  /// The entities that are retained, and those that are only pointed to: these lose their fields, but keep their
  /// numbers.
  private var retained: [Bool] = []
  private var referenced: [Bool] = []
  /// The retained fields with arguments, of entities and of the objects that are a part of these. Those without stay
  /// with their entity.
  private var fields: Set<SlotKey> = []
  private var embeddedFields: Set<SlotKey> = []
  /// The fields that are in use, by number.
  private var usedFields: [Bool] = []

  /// How many bytes of each chunk are used.
  fileprivate var live: [Int] = []
  /// The chunks that are being emptied.
  fileprivate var leaving: Set<UInt32> = []
  /// The entities that were written after the second pass had begun.
  fileprivate var written: [UInt32] = []
  /// The chunk with the objects of this slice that have lost fields.
  fileprivate var pruned: UInt32?

  /// The entities that may be seen again once layers are gone: those still to be looked at, and all.
  fileprivate var hidden: [UInt32] = []
  private var reached: [Bool] = []

  mutating func retain(_ entity: UInt32) { Self.mark(entity, in: &retained) }

  /// Keeps a field that is being written.
  mutating func retain(_ entity: UInt32, _ field: UInt32, at place: Int32) {
    retain(entity)
    if place < 0 { fields.insert(SlotKey(entity, field)) }
    if isMoving, written.last != entity { written.append(entity) }
  }

  /// Keeps what has been read.
  mutating func retain(_ dependencies: RecordDependencies) {
    for entry in dependencies.entries {
      retain(entry.entity)
      guard let field = entry.field else { continue }
      let key = SlotKey(entry.entity, field)
      if entry.isEmbedded { embeddedFields.insert(key) } else { fields.insert(key) }
      use(field)
    }
  }

  /// Keeps a field of the objects that are a part of an entity.
  fileprivate mutating func retain(embedded field: UInt32, of entity: UInt32) {
    embeddedFields.insert(SlotKey(entity, field))
  }

  /// Keeps an entity with all that it has, and all that it points to.
  fileprivate mutating func reach(_ entity: UInt32) {
    retain(entity)
    if Self.isMarked(entity, in: reached) { return }
    Self.mark(entity, in: &reached)
    hidden.append(entity)
  }

  /// Keeps the number of a field.
  mutating func use(_ field: UInt32) { Self.mark(field, in: &usedFields) }

  fileprivate mutating func refer(to entity: UInt32) { Self.mark(entity, in: &referenced) }

  fileprivate func isRetained(_ entity: UInt32) -> Bool { Self.isMarked(entity, in: retained) }
  fileprivate func isReferenced(_ entity: UInt32) -> Bool { Self.isMarked(entity, in: referenced) }
  fileprivate func isRetained(_ key: SlotKey) -> Bool { fields.contains(key) }
  fileprivate func isRetained(embedded field: UInt32, of entity: UInt32) -> Bool {
    embeddedFields.contains(SlotKey(entity, field))
  }
  func isUsed(_ field: UInt32) -> Bool { Self.isMarked(field, in: usedFields) }

  private static func mark(_ number: UInt32, in marks: inout [Bool]) {
    if Int(number) >= marks.count {
      marks += repeatElement(false, count: max(Int(number) + 1, marks.count * 2) - marks.count)
    }
    marks[Int(number)] = true
  }

  private static func isMarked(_ number: UInt32, in marks: [Bool]) -> Bool {
    Int(number) < marks.count && marks[Int(number)]
  }
}

extension RecordCache {
  /// Begins a collection; one in progress is given up.
  /// - Parameter dependencies: What is kept, by what the reads of it looked at: those of retained operations, and those
  ///   of all watchers, whose numbers would be wrong otherwise. What is read or written from here on is kept, too, as
  ///   is what layers show, and what they hide, with all that can be reached from it: it is seen again without them.
  package mutating func beginCollection(retaining dependencies: [RecordDependencies]) {
    var new = RecordCollection()
    for dependencies in dependencies { new.retain(dependencies) }
    for slots in layers.map(\.slots) + staged.values {
      for (key, slot) in slots {
        new.retain(key.entity, key.field, at: place(of: key))
        visitReferences(of: slot) { new.retain($0) }
      }
    }
    for slots in staged.values { for (key, slot) in slots { reach(slot, of: key.entity, &new) } }
    for (top, layer) in layers.enumerated() {
      for key in layer.slots.keys {
        let below = visible(key.entity, key.field, at: place(of: key), upTo: top - 1)
        reach(below, of: key.entity, &new)
      }
    }
    collection = new
  }

  var isCollecting: Bool { collection != nil }

  /// Keeps a field that is being written, with all that is now written of the objects in it.
  @inline(never)
  mutating func retain(_ slot: Slot, _ entity: UInt32, _ field: UInt32, at place: Int32) {
    guard var state = collection.take() else { return }
    state.retain(entity, field, at: place)
    visitFields(of: slot) { state.retain(embedded: $0, of: entity) }
    collection = state
  }

  /// Goes on with a collection, and returns whether there is more to do.
  /// - Parameter limit: How many entities are looked at.
  package mutating func continueCollection(entities limit: Int) -> Bool {
    guard var state = collection.take() else { return false }
    if !state.hidden.isEmpty {
      followHidden(entities: limit, &state)
      collection = state
      return true
    }
    let range = state.next..<min(state.next + max(limit, 1), entities.count)
    if state.isMoving {
      for number in range where !state.isRetained(UInt32(number)) && !state.isReferenced(UInt32(number)) {
        free(UInt32(number))
      }
      move(range.map(UInt32.init), &state)
    } else {
      for number in range { sweep(UInt32(number), &state) }
      if let chunk = state.pruned.take() { keep(chunk) }
    }
    state.next = range.upperBound
    if state.next < entities.count {
      collection = state
      return true
    }
    guard !state.isMoving else {
      endCollection(&state)
      return false
    }
    state.isMoving = true
    state.next = 0
    state.leaving = leavingChunks(&state)
    collection = state
    return true
  }

  // MARK: Below layers

  /// Keeps what an entity has in a slot that may be seen again, and what can be reached from it.
  private func reach(_ slot: Slot, of entity: UInt32, _ state: inout RecordCollection) {
    visitReferences(of: slot) { state.reach($0) }
    visitFields(of: slot) { state.retain(embedded: $0, of: entity) }
  }

  private func followHidden(entities limit: Int, _ state: inout RecordCollection) {
    var layered: [UInt32: [Slot]] = [:]
    for layer in layers { for (key, slot) in layer.slots { layered[key.entity, default: []].append(slot) } }
    for _ in 0..<max(limit, 1) {
      guard let entity = state.hidden.popLast() else { return }
      for field in extras[entity]?.keys.map({ $0 }) ?? [] { state.retain(entity, field, at: -1) }
      for slot in base(of: entity) + (layered[entity] ?? []) { reach(slot, of: entity, &state) }
    }
  }

  // MARK: First pass

  /// Drops what is not retained of an entity, and counts what stays.
  private mutating func sweep(_ entity: UInt32, _ state: inout RecordCollection) {
    guard state.isRetained(entity) else { return clear(entity) }
    for field in extras[entity]?.keys.map({ $0 }) ?? [] where !state.isRetained(SlotKey(entity, field)) {
      setBase(.missing, entity, field, at: -1)
    }
    prune(entity, &state)
    for slot in base(of: entity) { count(slot, &state) }
  }

  /// Drops what is not retained of the objects that are a part of an entity.
  private mutating func prune(_ entity: UInt32, _ state: inout RecordCollection) {
    let record = entities[Int(entity)]
    for index in Int(record.start)..<Int(record.start + record.count) where hasUnretained(slots[index], entity, state) {
      slots[index] = pruned(slots[index], entity, &state)
    }
    for (field, slot) in extras[entity] ?? [:] where hasUnretained(slot, entity, state) {
      setBase(pruned(slot, entity, &state), entity, field, at: -1)
    }
  }

  private func hasUnretained(_ slot: Slot, _ entity: UInt32, _ state: borrowing RecordCollection) -> Bool {
    guard slot.kind.hasCells else { return false }
    for cell in cells(of: slot) {
      if isUnretained(cell, in: slot, entity, state) || hasUnretained(cell, entity, state) { return true }
    }
    return false
  }

  private func isUnretained(
    _ cell: Slot, in slot: Slot, _ entity: UInt32, _ state: borrowing RecordCollection
  ) -> Bool {
    slot.kind != .list && hasArguments(cell.field) && !state.isRetained(embedded: cell.field, of: entity)
  }

  private mutating func pruned(_ slot: Slot, _ entity: UInt32, _ state: inout RecordCollection) -> Slot {
    guard hasUnretained(slot, entity, state) else { return slot }
    var kept: [Slot] = []
    for cell in cells(of: slot) where !isUnretained(cell, in: slot, entity, state) {
      kept.append(pruned(cell, entity, &state))
    }
    var result = Slot(slot.kind)
    if !kept.isEmpty {
      let number = state.pruned ?? add(Chunk(count: 0))
      state.pruned = number
      let start = chunks[Int(number)]?.cells.count ?? 0
      chunks[Int(number)]?.cells.append(contentsOf: kept)
      result = Slot(
        slot.kind, isPartial: kept.contains { $0.isPartial }, chunk: number, offset: start, count: kept.count)
    }
    result.field = slot.field
    return result
  }

  private func count(_ slot: Slot, _ state: inout RecordCollection) {
    visitChunks(of: slot) { chunk, size in
      if Int(chunk) >= state.live.count {
        state.live += repeatElement(0, count: chunks.count - state.live.count)
      }
      state.live[Int(chunk)] += size
    }
    visitReferences(of: slot) { state.refer(to: $0) }
  }

  /// The chunks of which less than half is used.
  private func leavingChunks(_ state: inout RecordCollection) -> Set<UInt32> {
    for slots in layers.map(\.slots) + staged.values {
      for slot in slots.values { count(slot, &state) }
    }
    var leaving: Set<UInt32> = []
    for (number, chunk) in chunks.enumerated() {
      guard let chunk else { continue }
      let live = number < state.live.count ? state.live[number] : 0
      if live * 2 < chunk.size { leaving.insert(UInt32(number)) }
    }
    return leaving
  }

  // MARK: Second pass

  /// Moves what entities have in chunks that are being emptied to a new one.
  private mutating func move(_ numbers: [UInt32], _ state: inout RecordCollection) {
    for number in numbers {
      for field in extras[number]?.keys.map({ $0 }) ?? [] { state.use(field) }
      for slot in base(of: number) { visitFields(of: slot) { state.use($0) } }
    }
    guard !state.leaving.isEmpty else { return }
    let leaving = state.leaving
    let isLeft = { (chunk: UInt32) in leaving.contains(chunk) }
    let moving = numbers.filter { number in base(of: number).contains { isAnything(of: $0, in: isLeft) } }
    guard !moving.isEmpty else { return }
    let size = moving.reduce(0) { $0 + base(of: $1).reduce(0) { $0 + movedBytes(of: $1, from: isLeft) } }
    let chunk = Chunk(count: size)
    let target = add(chunk)
    var offset = 0
    for number in moving {
      let entity = entities[Int(number)]
      for index in Int(entity.start)..<Int(entity.start + entity.count) where isAnything(of: slots[index], in: isLeft) {
        slots[index] = moved(slots[index], from: isLeft, to: target, chunk, at: &offset)
      }
      for (field, slot) in extras[number] ?? [:] where isAnything(of: slot, in: isLeft) {
        setBase(moved(slot, from: isLeft, to: target, chunk, at: &offset), number, field, at: -1)
      }
    }
    keep(target)
  }

  private mutating func endCollection(_ state: inout RecordCollection) {
    move(Array(Set(state.written)), &state)
    moveLayers(&state)
    for chunk in state.leaving { drop(chunk, wasKept: true) }
    compactKeys()
    compactSlots()
    forgetUnusedFields(state)
  }

  private mutating func moveLayers(_ state: inout RecordCollection) {
    let leaving = state.leaving
    let isLeft = { (chunk: UInt32) in leaving.contains(chunk) }
    var size = 0
    for slots in layers.map(\.slots) + staged.values {
      for (key, slot) in slots {
        state.use(key.field)
        visitFields(of: slot) { state.use($0) }
        size += movedBytes(of: slot, from: isLeft)
      }
    }
    guard !leaving.isEmpty, !layers.isEmpty else { return }
    let chunk = Chunk(count: size)
    let target = add(chunk)
    var offset = 0
    func moved(_ slots: [SlotKey: Slot]) -> [SlotKey: Slot] {
      slots.mapValues { self.moved($0, from: isLeft, to: target, chunk, at: &offset) }
    }
    for place in layers.indices { layers[place].slots = moved(layers[place].slots) }
    for (number, slots) in staged { staged[number] = moved(slots) }
    keep(target)
  }

  // MARK: Slots

  /// What the base has of an entity.
  private func base(of entity: UInt32) -> ArraySlice<Slot> {
    let record = entities[Int(entity)]
    return slots[Int(record.start)..<Int(record.start + record.count)] + (extras[entity].map { Array($0.values) } ?? [])
  }

  private func visitReferences(of slot: Slot, _ body: (UInt32) -> Void) {
    switch slot.kind {
    case .missing, .null, .error, .scalar: break
    case .reference: body(slot.offset)
    case .list, .object, .pages: for cell in cells(of: slot) { visitReferences(of: cell, body) }
    }
  }

  /// Calls a closure with the fields of embedded objects.
  private func visitFields(of slot: Slot, _ body: (UInt32) -> Void) {
    guard slot.kind.hasCells else { return }
    for cell in cells(of: slot) {
      if slot.kind != .list { body(cell.field) }
      visitFields(of: cell, body)
    }
  }
}

// MARK: - Removing

extension RecordCache {
  /// Makes all fields of an entity missing, and returns those whose visible values changed.
  /// - Parameter layer: A layer that hides those that there are now; `nil` to remove them from the base. What layers
  ///   above have brought themselves stays.
  package mutating func remove(_ entity: RecordID, in layer: UInt64? = nil) -> [RecordChange] {
    guard isKept(entity) else { return [] }
    return fields(of: entity.number, withLayers: layer != nil).flatMap { remove($0, of: entity.number, in: layer) }
  }

  /// Makes all fields of all entities missing; see `remove(_:in:)`.
  mutating func removeAll(in layer: UInt64?) -> [RecordChange] {
    entities.indices.flatMap { remove(RecordID(number: UInt32(truncatingIfNeeded: $0)), in: layer) }
  }

  private func fields(of entity: UInt32, withLayers: Bool) -> [UInt32] {
    let layout = layouts[Int(entities[Int(entity)].type)]
    var fields = Set(layout.fields).union(extras[entity]?.keys.map { $0 } ?? [])
    if withLayers { for layer in layers { fields.formUnion(layer.fields(of: entity)) } }
    return fields.sorted()
  }

  /// Makes a field of an entity missing; see `remove(_:in:)`.
  /// - Parameter field: Its name with its arguments, in the form that `RecordPlan` gives them.
  package mutating func remove(_ entity: RecordID, field: String, in layer: UInt64? = nil) -> [RecordChange] {
    guard isKept(entity), let number = fieldNumber(field) else { return [] }
    return remove(number, of: entity.number, in: layer)
  }

  /// Makes what a layer has of an entity, or of one of its fields, missing in another one above it, unless something between,
  /// or above, has it, too; returns the fields that this has hidden. What is optimistic stays.
  mutating func hide(
    _ entity: RecordID, field: String?, of layer: UInt64?, in upper: UInt64
  ) -> [RecordChange] {
    guard isKept(entity), let place = self.place(ofLayer: upper) else { return [] }
    let known = field.map { fieldNumber($0).map { [$0] } ?? [] }
    var hidden: [RecordChange] = []
    for field in known ?? fields(of: entity.number, withLayers: true) {
      let own = knownPlace(of: field, in: entities[Int(entity.number)].type)
      let change = RecordChange(entity: entity.number, field: field, place: own)
      guard answeringLayer(of: change)?.number ?? 0 <= layer ?? 0,
        answered(entity.number, field, at: own).kind != .missing
      else { continue }
      collection?.retain(entity.number, field, at: own)
      layers[place].slots[SlotKey(entity.number, field)] = .missing
      touched?.append(change)
      noteAltered(change, at: place)
      hidden.append(change)
    }
    return hidden + rewritePages(of: hidden.map { SlotKey($0.entity, $0.field) }, above: place)
  }

  /// The fields that a plan selects of the object that it begins with, by their keys.
  package mutating func rootFields(of plan: inout PreparedPlan) throws(RecordError) -> [String] {
    try plan.attach(to: self)
    let number = try plan.typed(0, type(named: plan.plan.rootType), in: &self)
    return plan.typed[Int(number)].fields.map { fieldKeys[Int(plan.fields[Int($0)].field)] }
  }

  private mutating func remove(_ field: UInt32, of entity: UInt32, in layer: UInt64?) -> [RecordChange] {
    let place = knownPlace(of: field, in: entities[Int(entity)].type)
    guard let top = self.place(ofLayer: layer) else { return [] }
    let old = visible(entity, field, at: place, upTo: top)
    let change = RecordChange(entity: entity, field: field, place: place)
    touched?.append(change)
    guard old.kind != .missing else { return [] }
    noteAltered(change, at: top)
    if top < 0 {
      setBase(.missing, entity, field, at: place)
    } else {
      collection?.retain(entity, field, at: place)
      layers[top].slots[SlotKey(entity, field)] = .missing
    }
    // What was put to it above stands by itself then.
    if isHidden(entity, field, above: top) { return rewritePages(of: [SlotKey(entity, field)], above: top) }
    return old.isUnanswered ? [] : [change]
  }
}

extension RecordLayer {
  /// The fields of an entity that it has.
  fileprivate func fields(of entity: UInt32) -> [UInt32] {
    slots.keys.compactMap { $0.entity == entity ? $0.field : nil }
  }
}
