/// The fields that a write has changed, to undo it, or to find out at its end what it has changed.
struct WriteJournal: ~Copyable {
  /// A field, and what it had before.
  struct Entry: BitwiseCopyable {
    let field: RecordChange
    /// What the base or the layer had itself; `nil` if a layer had nothing.
    let old: Slot?
  }

  /// Fields of the base that had nothing before, as most of a first response.
  private(set) var first = SlotStack<RecordChange>()
  /// Those of them that have got values which point to nothing, such as null. The number of the chunk marks in these that
  /// this write has made them, and goes at its end: it may be that of another chunk later.
  private(set) var marked = SlotStack<RecordChange>()
  /// How many bytes of text their values have that are no objects or lists.
  private(set) var textBytes = 0
  /// Whether values were replaced that this write had made.
  private(set) var hasReplaced = false
  /// Whether each of their values is an answer.
  private(set) var areAnswers = true
  /// Others, and fields that were changed once more.
  private(set) var others = SlotStack<Entry>()

  @inline(__always)
  mutating func noteFirst(_ field: RecordChange, _ value: Slot) {
    if value.kind == .scalar {
      textBytes += Int(value.count)
    } else {
      if !value.hasMemory { marked.append(field) }
      if value.isUnanswered { areAnswers = false }
    }
    first.append(field)
  }

  /// Notes that a value takes the place of one that this write has made, which is noted already.
  mutating func noteReplaced(_ field: RecordChange, by value: Slot) {
    hasReplaced = true
    if !value.hasMemory { marked.append(field) }
  }

  mutating func note(_ field: RecordChange, before old: Slot?) { others.append(Entry(field: field, old: old)) }

  var fields: [RecordChange] { Array(first.elements(from: 0)) + others.elements(from: 0).map(\.field) }
}

extension RecordCache {
  /// Takes back what a write has done.
  mutating func undo(_ state: borrowing WriteState) {
    for entry in state.journal.others.elements(from: 0).reversed() { set(entry.old, entry.field, layer: state.layer) }
    for field in state.journal.first.elements(from: 0) { set(.missing, field, layer: -1) }
    drop(state.number, wasKept: false)
  }

  private mutating func set(_ slot: Slot?, _ field: RecordChange, layer: Int) {
    if layer < 0 {
      setBase(slot ?? .missing, field.entity, field.field, at: field.place)
    } else {
      layers[layer].slots[SlotKey(field.entity, field.field)] = slot
    }
  }

  private func slot(_ field: RecordChange, layer: Int) -> Slot {
    layer < 0
      ? base(field.entity, field.field, at: field.place)
      : layers[layer].slots[SlotKey(field.entity, field.field)] ?? .missing
  }

  /// Ends a write: finds what changed, and keeps of the chunk what is needed.
  mutating func finish(_ state: inout WriteState) -> [RecordChange] {
    var changes: [RecordChange] = []
    var used = 0
    overruled = []
    if layers.isEmpty {
      used = finishFirst(&state, &changes)
    } else {
      for field in state.journal.first.elements(from: 0) {
        used += finish(WriteJournal.Entry(field: field, old: .missing), &state, &changes)
      }
    }
    for entry in state.journal.others.elements(from: 0) { used += finish(entry, &state, &changes) }
    if used == 0 {
      drop(state.number, wasKept: false)
    } else if used * 4 < state.chunk.size {
      repack(state)
    } else {
      keep(state.number)
    }
    return changes
  }

  /// Ends the writing of fields that had nothing before, and that no layer has: they have changed if they have a value.
  /// - Returns: How much of the chunk is used, as far as that matters.
  private mutating func finishFirst(_ state: inout WriteState, _ changes: inout [RecordChange]) -> Int {
    let fields = state.journal.first.elements(from: 0)
    touched? += fields
    for field in state.journal.marked.elements(from: 0) {
      var now = slot(field, layer: -1)
      if now.chunk != state.number || now.hasMemory { continue }
      now.chunk = 0
      setBase(now, field.entity, field.field, at: field.place)
    }
    changes = state.journal.areAnswers ? Array(fields) : fields.filter { !slot($0, layer: -1).isUnanswered }
    if !state.journal.hasReplaced, state.journal.textBytes * 4 >= state.chunk.size { return state.journal.textBytes }
    return fields.reduce(0) { $0 + size(of: slot($1, layer: -1), in: state.number) }
  }

  /// Ends the writing of a field.
  /// - Returns: How much of the chunk it uses.
  private mutating func finish(
    _ entry: WriteJournal.Entry, _ state: inout WriteState, _ changes: inout [RecordChange]
  ) -> Int {
    let field = entry.field
    touched?.append(field)
    var now = slot(field, layer: state.layer)
    if layers.isEmpty, let old = entry.old, old.kind == .missing {
      if !now.isUnanswered { changes.append(field) }
    } else {
      let isHidden = isHidden(field.entity, field.field, above: state.layer)
      if !isHidden || altered != nil {
        let old = entry.old ?? visible(field.entity, field.field, at: field.place, upTo: state.layer - 1)
        if !areEqual(old, now) {
          noteAltered(field, at: state.layer)
          if !isHidden { changes.append(field) }
        }
      }
      if isHidden, !areEqual(answered(field.entity, field.field, at: field.place), now) { overruled.append(field) }
    }
    let used = size(of: now, in: state.number)
    if now.chunk == state.number, !now.hasMemory {
      now.chunk = 0
      set(now, field, layer: state.layer)
    }
    return used
  }

  /// Copies what is used of a large chunk to a small one.
  private mutating func repack(_ state: borrowing WriteState) {
    let (left, layer) = (state.number, state.layer)
    let fields = state.journal.fields
    let slots = fields.map { slot($0, layer: layer) }
    let isLeft = { (chunk: UInt32) in chunk == left }
    let chunk = Chunk(count: slots.reduce(0) { $0 + movedBytes(of: $1, from: isLeft) })
    let number = add(chunk)
    var offset = 0
    for (field, slot) in zip(fields, slots) where isAnything(of: slot, in: isLeft) {
      set(moved(slot, from: isLeft, to: number, chunk, at: &offset), field, layer: layer)
    }
    keep(number)
    drop(state.number, wasKept: false)
  }
}
