import SystemBase

/// A field of an entity.
struct SlotKey: Hashable, Sendable {
  private let value: UInt64

  init(_ entity: UInt32, _ field: UInt32) { value = UInt64(entity) << 32 | UInt64(field) }

  var entity: UInt32 { UInt32(truncatingIfNeeded: value >> 32) }
  var field: UInt32 { UInt32(truncatingIfNeeded: value) }
}

/// Values that are shown in place of those below, until a server's answer replaces them: those of an optimistic
/// mutation, for example.
struct RecordLayer: Sendable {
  let number: UInt64
  /// The first number of the layers that are optimistic: they are above all that a server has answered.
  static var firstOptimistic: UInt64 { 1 << 63 }
  /// A missing slot hides what is below.
  var slots: [SlotKey: Slot] = [:]
  /// The fields that are of another kind than the rest, in a layer that others have become a part of: what the server has
  /// said among edits, or edits among that.
  var others: Set<SlotKey> = []

  var isOptimistic: Bool { number >= Self.firstOptimistic }
}

extension RecordCache {
  /// Adds an empty layer. Layers are ordered by their numbers, however they are added; one that is there stays.
  package mutating func addLayer(_ number: UInt64) {
    let place = layers.firstIndex { $0.number >= number } ?? layers.count
    if place < layers.count, layers[place].number == number { return }
    layers.insert(RecordLayer(number: number), at: place)
  }

  /// The numbers of the layers, the lowest first.
  package var layerNumbers: [UInt64] { layers.map(\.number) }

  /// Removes a layer, and returns the fields whose visible values changed.
  package mutating func removeLayer(_ number: UInt64) -> [RecordChange] {
    guard let place = layers.firstIndex(where: { $0.number == number }) else { return [] }
    let slots = layers[place].slots
    let changes = slots.compactMap { key, slot -> RecordChange? in
      let change = RecordChange(entity: key.entity, field: key.field, place: self.place(of: key))
      touched?.append(change)
      let isHidden = isHidden(key.entity, key.field, above: place)
      if isHidden, altered == nil { return nil }
      if areEqual(visible(key.entity, key.field, at: change.place, upTo: place - 1), slot) { return nil }
      noteAltered(change, at: place)
      return isHidden ? nil : change
    }
    // What was removed, or null, may have been below pages, too.
    let removed = layers.remove(at: place)
    return changes + (place < layers.count ? rewritePages(of: Array(removed.slots.keys), above: place - 1) : [])
  }

  /// Removes from a layer what is visible below it, too, so that it hides nothing that comes there.
  mutating func dropRepetitions(in number: UInt64?) {
    guard let place = layers.firstIndex(where: { $0.number == number }) else { return }
    let news = layers[place].slots.filter { key, slot in
      slot.kind == .pages
        || !areEqual(visible(key.entity, key.field, at: self.place(of: key), upTo: place - 1), slot)
    }
    layers[place].slots = news
  }

  /// Runs a closure in which a layer has what is to take its place, if there is such a layer.
  mutating func withStaged<Result>(
    _ number: UInt64, _ body: (inout RecordCache) throws(RecordError) -> Result
  ) throws(RecordError) -> Result? {
    guard let place = layers.firstIndex(where: { $0.number == number }) else { return nil }
    layers[place].slots = staged.updateValue(layers[place].slots, forKey: number) ?? [:]
    defer { layers[place].slots = staged.updateValue(layers[place].slots, forKey: number) ?? [:] }
    return try body(&self)
  }

  /// Lets a layer have what was to take its place, and returns the fields whose visible values changed.
  mutating func showStaged(_ number: UInt64) -> [RecordChange] {
    let new = staged.removeValue(forKey: number) ?? [:]
    guard let place = layers.firstIndex(where: { $0.number == number }) else { return [] }
    let old = exchange(&layers[place].slots, with: new)
    let keys = Set(old.keys).union(new.keys)
    let changes = keys.compactMap { key -> RecordChange? in
      let change = RecordChange(entity: key.entity, field: key.field, place: self.place(of: key))
      touched?.append(change)
      let below = visible(key.entity, key.field, at: change.place, upTo: place - 1)
      if areEqual(old[key] ?? below, new[key] ?? below) { return nil }
      noteAltered(change, at: place)
      return isHidden(key.entity, key.field, above: place) ? nil : change
    }
    return changes + rewritePages(of: Array(keys), above: place)
  }

  /// Notes that a field has another value in a layer, or in the base.
  mutating func noteAltered(_ field: RecordChange, at place: Int) {
    altered?.append(RecordAlteration(field: field, level: place < 0 ? 0 : layers[place].number))
  }

  /// The lowest layer that hides from those above it what a field was altered to; itself, it may have seen that. Pages of
  /// layers are put to those below, and hide none.
  func layerThatHides(_ alteration: RecordAlteration) -> UInt64? {
    let key = SlotKey(alteration.field.entity, alteration.field.field)
    return layers.first { layer in
      layer.number > alteration.level && layer.slots[key].map { $0.kind != .pages } ?? false
    }?.number
  }

  /// Makes the values of a layer a part of the one below it, or of the base if it is the lowest, and removes it.
  /// Nothing that is visible changes.
  /// - Parameter isOther: Whether it is of another kind than the one below.
  package mutating func settleLayer(_ number: UInt64, isOther: Bool = false) {
    guard let place = layers.firstIndex(where: { $0.number == number }) else { return }
    let layer = layers.remove(at: place)
    guard place == 0 else {
      for (key, slot) in layer.slots {
        layers[place - 1].slots[key] = settled(slot, onto: layers[place - 1].slots[key], isBase: false)
        if layer.others.contains(key) != isOther {
          layers[place - 1].others.insert(key)
        } else {
          layers[place - 1].others.remove(key)
        }
      }
      return
    }
    for (key, slot) in layer.slots {
      let slot = settled(slot, onto: nil, isBase: true)
      let place = self.place(of: key)
      retain(slot, key.entity, key.field, at: place)
      setBase(slot, key.entity, key.field, at: place)
    }
  }

  /// Whether an optimistic layer has one of the fields that a read looked at.
  func showsOptimistic(in dependencies: RecordDependencies) -> Bool {
    guard layers.contains(where: { $0.isOptimistic && !$0.slots.isEmpty }) else { return false }
    let entries = dependencies.merged
    return layers.contains { layer in
      layer.isOptimistic
        && layer.slots.keys.contains { key in
          let wanted = RecordDependencies.Entry(key.entity, key.field, at: place(of: key))
          let index = entries.partitioningIndex { $0.key >= wanted.key }
          return index < entries.count && entries[index].key == wanted.key && entries[index].mask & wanted.mask != 0
        }
    }
  }

  /// The place of a layer: -1 for the base; `nil` if there is none of that number.
  func place(ofLayer number: UInt64?) -> Int? {
    guard let number else { return -1 }
    return layers.firstIndex { $0.number == number }
  }

  func place(of key: SlotKey) -> Int32 { knownPlace(of: key.field, in: entities[Int(key.entity)].type) }

  /// The topmost slot of a field, of the layers up to a place and the base.
  func visible(_ entity: UInt32, _ field: UInt32, at place: Int32, upTo top: Int) -> Slot {
    let key = SlotKey(entity, field)
    var layer = top
    while layer >= 0 {
      if let slot = layers[layer].slots[key] { return slot }
      layer -= 1
    }
    return base(entity, field, at: place)
  }

  /// The topmost slot of a field that is not optimistic.
  func answered(_ entity: UInt32, _ field: UInt32, at place: Int32) -> Slot {
    visible(entity, field, at: place, upTo: layers.lastIndex { !$0.isOptimistic } ?? -1)
  }

  /// The number of the topmost layer that is not optimistic and has a field, and whether that is of another kind than the
  /// rest of the layer.
  func answeringLayer(of field: RecordChange) -> (number: UInt64, isOther: Bool)? {
    let key = SlotKey(field.entity, field.field)
    return layers.last { !$0.isOptimistic && $0.slots[key] != nil }.map { ($0.number, $0.others.contains(key)) }
  }

  /// Whether a layer that is not optimistic hides what a lower one has of a field, 0 or `nil` for the base; pages hide
  /// nothing, since they are made of what is below them, too.
  func isAnswered(_ field: RecordChange, above number: UInt64?) -> Bool {
    let key = SlotKey(field.entity, field.field)
    let above = layers.last { !$0.isOptimistic && $0.number > number ?? 0 && $0.slots[key] != nil }
    return above?.slots[key].map { $0.kind != .pages } ?? false
  }

  /// Whether a layer above a place has the field.
  func isHidden(_ entity: UInt32, _ field: UInt32, above place: Int) -> Bool {
    guard place + 1 < layers.count else { return false }
    let key = SlotKey(entity, field)
    return layers[(place + 1)...].contains { $0.slots[key] != nil }
  }
}
