// What two slots have in common, and what results from both.

extension RecordCache {
  /// Whether two slots say the same to a reader. Fields of objects may be in any order.
  func areEqual(_ left: Slot, _ right: Slot) -> Bool {
    guard left.kind == right.kind else { return left.isUnanswered && right.isUnanswered }
    switch left.kind {
    case .missing, .error: return true
    // One that stands for the edge of a page has more to say.
    case .null: return left.offset == right.offset && left.count == right.count
    case .reference: return left.offset == right.offset
    case .scalar: return isSameText(left, right)
    case .list:
      guard left.count == right.count else { return false }
      if isSamePlace(left, right) { return true }
      let (lefts, rights) = (cells(of: left), cells(of: right))
      return zip(lefts, rights).allSatisfy { areEqual($0, $1) }
    case .object, .pages:
      guard left.count == right.count else { return false }
      if isSamePlace(left, right) { return true }
      let (lefts, rights) = (cells(of: left), cells(of: right))
      for (index, cell) in lefts.enumerated() {
        guard let other = Self.cell(cell.field, in: rights, expectedAt: index), areEqual(cell, other) else {
          return false
        }
      }
      return true
    }
  }

  @inline(__always)
  private func isSamePlace(_ left: Slot, _ right: Slot) -> Bool {
    left.chunk == right.chunk && left.offset == right.offset
  }

  @inline(__always)
  func isSameText(_ left: Slot, _ right: Slot) -> Bool {
    guard left.count == right.count else { return false }
    guard let one = bytes(of: left).baseAddress, let other = bytes(of: right).baseAddress else { return false }
    return Stores.areEqual(one, other, Int(left.count))
  }

  /// The cell of a field in an object.
  @inline(__always)
  static func cell(_ field: UInt32, in cells: ArraySlice<Slot>, expectedAt index: Int) -> Slot? {
    let expected = cells.startIndex + index
    if expected < cells.endIndex, cells[expected].field == field { return cells[expected] }
    return cells.first { $0.field == field }
  }

  /// What a slot becomes when another is written to it; `nil` if it stays as it is.
  ///
  /// Null with an error never replaces a value, nor does a list with such a null in it. A list replaces another, except
  /// for one that the same write has made: that is the same list under another alias, or in another place. Of embedded
  /// objects of one type, the fields are put together.
  mutating func combined(_ old: Slot, _ new: Slot, _ state: inout WriteState) -> Slot? {
    switch new.kind {
    case .missing: return old.kind == .missing ? nil : new
    case .error: return old.kind == .missing ? new : nil
    case .null: return old.kind == .null ? nil : new
    case .scalar: return old.kind == .scalar && isSameText(old, new) ? nil : new
    case .reference: return old.kind == .reference && old.offset == new.offset ? nil : new
    case .object:
      guard old.kind == .object, isSameType(old, new) else { return new }
      return combinedObjects(old, new, &state)
    case .pages: return old.kind == .pages ? combinedPages(old, new, &state) : new
    case .list:
      guard old.kind == .list else { return new }
      if old.chunk == state.number, old.count == new.count { return combinedLists(old, new, &state) }
      if new.isPartial, !old.isPartial { return nil }
      return areEqual(old, new) ? nil : new
    }
  }

  private func isSameType(_ left: Slot, _ right: Slot) -> Bool {
    let one = Self.cell(0, in: cells(of: left), expectedAt: 0)
    let other = Self.cell(0, in: cells(of: right), expectedAt: 0)
    return areEqual(one ?? .missing, other ?? .missing)
  }

  private mutating func combinedObjects(_ old: Slot, _ new: Slot, _ state: inout WriteState) -> Slot? {
    var result = Array(cells(of: old))
    var isChanged = false
    for (index, cell) in cells(of: new).enumerated() {
      let place =
        index < result.count && result[index].field == cell.field
        ? index : result.firstIndex { $0.field == cell.field }
      if let place {
        guard var slot = combined(result[place], cell, &state) else { continue }
        slot.field = cell.field
        result[place] = slot
      } else {
        result.append(cell)
      }
      isChanged = true
    }
    return isChanged ? state.append(.object, result) : nil
  }

  private mutating func combinedLists(_ old: Slot, _ new: Slot, _ state: inout WriteState) -> Slot? {
    var result = Array(cells(of: old))
    var isChanged = false
    for (index, cell) in cells(of: new).enumerated() {
      guard let slot = combined(result[index], cell, &state) else { continue }
      result[index] = slot
      isChanged = true
    }
    return isChanged ? state.append(.list, result) : nil
  }
}

// MARK: - Moving

extension RecordCache {
  /// The memory that what a slot holds takes in a chunk. Mutating like what calls it, though it changes nothing: the whole
  /// cache would be copied for it.
  @inline(__always)
  mutating func size(of slot: Slot, in chunk: UInt32) -> Int {
    switch slot.kind {
    case .missing, .null, .error, .reference: 0
    case .scalar: slot.chunk == chunk ? Int(slot.count) : 0
    case .list, .object, .pages: cellSize(of: slot, in: chunk)
    }
  }

  @inline(never)
  private mutating func cellSize(of slot: Slot, in chunk: UInt32) -> Int {
    var size = 0
    visitChunks(of: slot) { size += $0 == chunk ? $1 : 0 }
    return size
  }

  /// Calls a closure with each chunk that a slot and its cells are in, and how many bytes of it they take.
  func visitChunks(of slot: Slot, _ body: (UInt32, Int) -> Void) {
    switch slot.kind {
    case .missing, .null, .error, .reference: break
    case .scalar: body(slot.chunk, Int(slot.count))
    case .list, .object, .pages:
      body(slot.chunk, Int(slot.count) * MemoryLayout<Slot>.stride)
      for cell in cells(of: slot) { visitChunks(of: cell, body) }
    }
  }

  /// A slot with all that it has in some chunks copied to the end of another, which has room for the bytes.
  func moved(
    _ slot: Slot, from isLeft: (UInt32) -> Bool, to number: UInt32, _ chunk: Chunk, at offset: inout Int
  ) -> Slot {
    var result = slot
    switch slot.kind {
    case .missing, .null, .error, .reference: break
    case .scalar:
      guard isLeft(slot.chunk), let start = bytes(of: slot).baseAddress else { break }
      (chunk.bytes + offset).update(from: start, count: Int(slot.count))
      result.chunk = number
      result.offset = UInt32(truncatingIfNeeded: offset)
      offset += Int(slot.count)
    case .list, .object, .pages:
      let cells = cells(of: slot).map { moved($0, from: isLeft, to: number, chunk, at: &offset) }
      result.chunk = number
      result.offset = UInt32(truncatingIfNeeded: chunk.cells.count)
      chunk.cells.append(contentsOf: cells)
    }
    return result
  }

  /// The bytes that `moved` copies.
  func movedBytes(of slot: Slot, from isLeft: (UInt32) -> Bool) -> Int {
    switch slot.kind {
    case .missing, .null, .error, .reference: 0
    case .scalar: isLeft(slot.chunk) ? Int(slot.count) : 0
    case .list, .object, .pages: cells(of: slot).reduce(0) { $0 + movedBytes(of: $1, from: isLeft) }
    }
  }

  /// Whether anything of a slot is in some chunks.
  func isAnything(of slot: Slot, in isLeft: (UInt32) -> Bool) -> Bool {
    switch slot.kind {
    case .missing, .null, .error, .reference: false
    case .scalar: isLeft(slot.chunk)
    case .list, .object, .pages: isLeft(slot.chunk) || cells(of: slot).contains { isAnything(of: $0, in: isLeft) }
    }
  }
}
