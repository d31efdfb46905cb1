/// The fields of entities that a read looked at, those that were missing among them.
package struct RecordDependencies: Sendable {
  /// Fields of one entity: up to 64 that are side by side in its layout, or one with arguments, which may be that of an
  /// object that is a part of it.
  struct Entry: Hashable, Sendable {
    let entity: UInt32
    /// The place of the first field, divided by 64; or the number of the field, marked by the highest bit, and by the
    /// one after it if it is not the entity's own.
    let group: UInt32
    /// One bit for each of the fields.
    var mask: UInt64

    private static var hasArguments: UInt32 { 1 << 31 }
    private static var isEmbedded: UInt32 { 1 << 30 }

    init(entity: UInt32, group: UInt32, mask: UInt64) {
      self.entity = entity
      self.group = group
      self.mask = mask
    }

    init(_ entity: UInt32, _ field: UInt32, at place: Int32) {
      self.entity = entity
      group = place < 0 ? Self.hasArguments | field : UInt32(place) / 64
      mask = place < 0 ? 1 : 1 << UInt64(place % 64)
    }

    /// A field with arguments of an object that is a part of an entity. Nobody is called for a change of it: who reads it
    /// depends on the entity's own field, too. A collection keeps it.
    init(_ entity: UInt32, embedded field: UInt32) {
      self.init(entity: entity, group: Self.hasArguments | Self.isEmbedded | field, mask: 1)
    }

    /// The field with arguments that it is for.
    var field: UInt32? { group & Self.hasArguments == 0 ? nil : group & ~(Self.hasArguments | Self.isEmbedded) }

    /// Whether the field is that of an object that is a part of the entity.
    var isEmbedded: Bool { group & Self.hasArguments != 0 && group & Self.isEmbedded != 0 }

    /// What entries for the same fields have in common.
    var key: UInt64 { UInt64(entity) << 32 | UInt64(group) }
  }

  /// In the order of the read: several may be of one entity.
  private(set) var entries: [Entry] = []

  package init() {}

  @inline(__always)
  mutating func append(_ entry: Entry) {
    if entry.mask != 0 { entries.append(entry) }
  }

  /// The entries sorted, one for each entity and group.
  var merged: [Entry] {
    var merged: [Entry] = []
    merged.reserveCapacity(entries.count)
    for entry in sorted {
      if merged.last?.key == entry.key {
        merged[merged.count - 1].mask |= entry.mask
      } else {
        merged.append(entry)
      }
    }
    return merged
  }

  /// The entries by their keys. Many are sorted by some bits of these after the others, from the lowest, as far as they
  /// differ.
  private var sorted: [Entry] {
    guard entries.count > 256, let first = entries.first else { return entries.sorted { $0.key < $1.key } }
    var differing = entries.reduce(0) { $0 | ($1.key ^ first.key) }
    var (sorted, other) = (entries, entries)
    while differing != 0 {
      let shift = UInt64(differing.trailingZeroBitCount)
      // Where the entries with each value of the bits begin.
      var places = [Int](repeating: 0, count: 1 << 10 + 1)
      for entry in sorted { places[Int(entry.key &>> shift & 0x3FF) + 1] += 1 }
      for value in 1..<1 << 10 { places[value] += places[value - 1] }
      for entry in sorted {
        let value = Int(entry.key &>> shift & 0x3FF)
        other[places[value]] = entry
        places[value] += 1
      }
      swap(&sorted, &other)
      differing &= ~(0x3FF &<< shift)
    }
    return sorted
  }

  /// Adds those of another read.
  package mutating func formUnion(_ other: RecordDependencies) { entries += other.entries }
}
