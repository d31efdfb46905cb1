import SystemBase

/// Encodes lists of headers into blocks (RFC 7541, section 3), which must be sent in the order in which they are made.
struct HPACKEncoder {
  /// What may be remembered of a field (section 6.2).
  enum Indexing {
    /// It goes into the table, so that a later block has it in a byte or two.
    case incremental
    /// It does not, as it differs from message to message.
    case without
    /// It is secret: no intermediary may put it into a table either, since one who can also add fields could find out what
    /// is in there (section 7.1).
    case never
  }

  private struct Entry: HPACKEntry {
    let hash: UInt64
    let nameHash: UInt64
    let name: [UInt8]
    let value: [UInt8]

    var size: Int { name.count + value.count + HPACK.overhead }

    @inline(__always)
    func hasName(_ other: UnsafeRawBufferPointer) -> Bool { name.equals(other) }
  }

  private var table: DynamicTable<Entry>
  /// The sizes that the next block has to begin with: the least since the last block, and the current one (section 4.2).
  private var leastLimit: Int?
  /// How often the table has changed: as long as it has not, a list of fields is encoded as before.
  private(set) var changeCount = 0
  private let largestTable: Int

  /// `largestTable` is what the table takes at most, whatever the peer allows.
  init(largestTable: Int = HPACK.defaultTableSize) {
    self.largestTable = largestTable
    table = DynamicTable(limit: HPACK.defaultTableSize)
    setTableLimit(HPACK.defaultTableSize)
  }

  /// How many fields are in the table.
  var tableCount: Int { table.count }

  /// Sets what the peer allows (RFC 9113, section 6.5.2: SETTINGS_HEADER_TABLE_SIZE).
  mutating func setTableLimit(_ limit: Int) {
    let limit = min(max(limit, 0), largestTable)
    guard limit != table.limit else { return }
    leastLimit = min(leastLimit ?? limit, limit)
    changeCount += 1
    table.setLimit(limit)
  }

  /// Begins a block; to be called before its first field.
  mutating func begin(_ block: inout [UInt8]) {
    guard let least = leastLimit.take() else { return }
    changeCount += 1
    if least < table.limit { block.append(integer: least, prefix: 5, flags: 0x20) }
    block.append(integer: table.limit, prefix: 5, flags: 0x20)
  }

  /// Appends a field, whose name must be in lower case. How it may be remembered is only asked if no table has it.
  mutating func encode(
    _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, to block: inout [UInt8],
    indexing: () -> Indexing
  ) {
    let nameHash = name.hash(from: 0)
    let hash = value.hash(from: nameHash)
    let found = table.firstIndex {
      $0.hash == hash && $0.hasName(name) && $0.value.equals(value)
    }
    if let found {
      block.append(integer: found + 1 + StaticNames.count, prefix: 7, flags: 0x80)
      return
    }
    var nameIndex = StaticNames.shared.index(of: name, hash: nameHash)
    if let first = nameIndex {
      for index in first...StaticNames.count {
        let entry = StaticNames.shared.entries[index - 1]
        guard entry.nameHash == nameHash else { break }
        if entry.hash == hash, entry.value.equals(value) {
          block.append(integer: index, prefix: 7, flags: 0x80)
          return
        }
      }
    } else {
      let found = table.firstIndex { $0.nameHash == nameHash && $0.hasName(name) }
      nameIndex = found.map { $0 + 1 + StaticNames.count }
    }
    var indexing = indexing()
    // One that would evict most of the others is not worth it.
    let size = name.count + value.count + HPACK.overhead
    if case .incremental = indexing, size > table.limit / 2 { indexing = .without }
    switch indexing {
    case .incremental: block.append(integer: nameIndex ?? 0, prefix: 6, flags: 0x40)
    case .without: block.append(integer: nameIndex ?? 0, prefix: 4, flags: 0)
    case .never: block.append(integer: nameIndex ?? 0, prefix: 4, flags: 0x10)
    }
    if nameIndex == nil { block.append(string: name) }
    block.append(string: value)
    if case .incremental = indexing {
      changeCount += 1
      table.insert(Entry(hash: hash, nameHash: nameHash, name: Array(name), value: Array(value)))
    }
  }

  /// The static table, by names.
  private struct StaticNames {
    static let shared = StaticNames()
    static let count = 61

    let entries: [Entry]
    /// For each slot the index of the first entry with a name, or 0; names whose slots are the same are in the next ones.
    private var slots = [UInt8](repeating: 0, count: 256)

    init() {
      entries = HPACK.staticTable.map { name, value in
        let (name, value) = (Array(name.utf8), Array(value.utf8))
        let nameHash = name.withUnsafeBytes { $0.hash(from: 0) }
        return Entry(
          hash: value.withUnsafeBytes { $0.hash(from: nameHash) }, nameHash: nameHash, name: name, value: value)
      }
      for (place, entry) in entries.enumerated() where place == 0 || entries[place - 1].name != entry.name {
        var slot = Int(entry.nameHash & 0xFF)
        while slots[slot] != 0 { slot = (slot + 1) & 0xFF }
        slots[slot] = UInt8(place + 1)
      }
    }

    /// The index of the first entry with a name.
    func index(of name: UnsafeRawBufferPointer, hash: UInt64) -> Int? {
      var slot = Int(hash & 0xFF)
      while slots[slot] != 0 {
        let index = Int(slots[slot])
        if entries[index - 1].nameHash == hash, entries[index - 1].hasName(name) { return index }
        slot = (slot + 1) & 0xFF
      }
      return nil
    }
  }
}

extension [UInt8] {
  /// Appends an integer behind flags (RFC 7541, section 5.1).
  fileprivate mutating func append(integer: Int, prefix: Int, flags: UInt8) {
    let mask = 1 << prefix - 1
    if integer < mask {
      append(flags | UInt8(integer))
      return
    }
    append(flags | UInt8(mask))
    var rest = integer - mask
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(rest))
  }

  /// Appends a string, in the Huffman code if that is shorter (section 5.2).
  fileprivate mutating func append(string: UnsafeRawBufferPointer) {
    withUnsafeTemporaryAllocation(byteCount: string.count, alignment: 1) { buffer in
      if let count = Huffman.encode(string, into: buffer) {
        append(integer: count, prefix: 7, flags: 0x80)
        append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<count]).bindMemory(to: UInt8.self))
      } else {
        append(integer: string.count, prefix: 7, flags: 0)
        append(contentsOf: string.bindMemory(to: UInt8.self))
      }
    }
  }

  @inline(__always)
  func equals(_ other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count, let start = other.baseAddress else { return isEmpty && other.isEmpty }
    return withUnsafeBytes { bytes in bytes.baseAddress.map { memcmp($0, start, other.count) == 0 } ?? true }
  }
}

extension UnsafeRawBufferPointer {
  /// A hash for our own tables, which are searched one entry after the other: to find equal hashes gains nothing.
  func hash(from seed: UInt64) -> UInt64 {
    var hash = seed ^ UInt64(truncatingIfNeeded: count) &* 0x9E37_79B9_7F4A_7C15
    var place = 0
    while place + 8 <= count {
      hash = (hash ^ loadUnaligned(fromByteOffset: place, as: UInt64.self)) &* 0x9FB2_1C65_1E98_DF25
      hash ^= hash &>> 32
      place += 8
    }
    var rest: UInt64 = 0
    if count >= 8, place < count {
      rest = loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
    } else {
      while place < count {
        rest = rest &<< 8 | UInt64(self[place])
        place += 1
      }
    }
    hash = (hash ^ rest) &* 0x9FB2_1C65_1E98_DF25
    return hash ^ hash &>> 29
  }
}
