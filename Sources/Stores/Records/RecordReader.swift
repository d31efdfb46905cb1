package import StrictJSON
import SystemBase

/// What a read of a cache gives.
package struct RecordResult: Sendable {
  /// The response's `data` as JSON; `nil` if something is missing.
  package let json: PaddedBytes?
  /// The paths of what is missing: the first one of a miss, or all of a partial result, in which they are null.
  package let missing: [[RecordStep]]
  /// Whether nothing is there of a partial result.
  let isEmpty: Bool
  /// What the read looked at.
  package let dependencies: RecordDependencies
  /// The fields it looked at that become stale by times of their own.
  let dated: [DatedField]
}

/// What one read has done so far.
private struct ReadState: ~Copyable {
  var output: OutputBytes
  var dependencies = RecordDependencies()
  var dated: [DatedField] = []
  let isPartial: Bool
  let top: Int
  /// The entity that is read, of which objects without a key are a part.
  var entity: UInt32 = 0
  /// The numbers of planned fields, and the indices of elements, which are negative: -1 is the first.
  var path: [Int] = []
  var missing: [[Int]] = []

  init(expecting expected: PaddedBytes?, isPartial: Bool, top: Int) {
    output = OutputBytes(expecting: expected)
    self.isPartial = isPartial
    self.top = top
    path.reserveCapacity(32)
  }

  /// How far the read has got.
  var mark: (output: (Int, Int), path: Int, missing: Int) { (output.mark, path.count, missing.count) }

  /// Takes back what was read since; what it depends on stays.
  mutating func reset(to mark: (output: (Int, Int), path: Int, missing: Int)) {
    output.mark = mark.output
    path.removeLast(path.count - mark.path)
    missing.removeLast(missing.count - mark.missing)
  }

  /// Notes that something is missing; returns whether the read continues.
  mutating func miss() -> Bool {
    missing.append(path)
    return isPartial
  }
}

extension RecordCache {
  /// How many bytes a result may have.
  package static var resultLimit: Int { 1 << 28 }

  /// Reads what a plan selects, as the server would send it: in the order of the document, under its aliases.
  /// - Parameters:
  ///   - entity: What a fragment is read of; `nil` for an operation, or for a fragment on a type with one object.
  ///   - isPartial: Whether null takes the place of what is missing.
  ///   - layer: The number of the topmost layer that counts; all by default.
  ///   - expected: What the result probably is: if it is, it is given as it is here, without a copy.
  package mutating func read(
    _ plan: inout PreparedPlan, at entity: RecordID? = nil, isPartial: Bool = false, upTo layer: UInt64 = .max,
    expecting expected: PaddedBytes? = nil
  ) throws(RecordError) -> RecordResult {
    try plan.attach(to: self)
    let root = try target(of: plan, entity)
    var state = ReadState(
      expecting: expected, isPartial: isPartial, top: layers.lastIndex { $0.number <= layer } ?? -1)
    let isComplete = try readEntity(root, 0, &plan, &state)
    collection?.retain(state.dependencies)
    let missingAtRoot = state.missing.count { $0.count == 1 }
    return RecordResult(
      json: isComplete ? state.output.text : nil, missing: state.missing.map { plan.steps($0) },
      isEmpty: missingAtRoot > 0 && missingAtRoot == plan.typed[Int(plan.nodes[0].firstTyped)].fields.count,
      dependencies: state.dependencies, dated: state.dated)
  }

  private mutating func readEntity(
    _ entity: UInt32, _ node: Int32, _ plan: inout PreparedPlan, _ state: inout ReadState
  ) throws(RecordError) -> Bool {
    let outer = exchange(&state.entity, with: entity)
    defer { state.entity = outer }
    let number = try plan.typed(node, entities[Int(entity)].type, in: &self)
    let typed = plan.typed[Int(number)]
    if typed.isUndecided, !state.miss() { return false }
    for index in typed.staleTimes {
      let (planned, time) = plan.staleTimes[Int(index)]
      state.dated.append(
        DatedField(entity: entity, field: plan.fields[Int(planned)].field, staleTime: time))
    }
    try state.output.begin(UInt8(ascii: "{"))
    var group = RecordDependencies.Entry(entity: entity, group: 0, mask: 0)
    var next = typed.fields.lowerBound
    while true {
      if state.top < 0 {
        next = readPlain(entities[Int(entity)], next..<typed.fields.upperBound, plan, &group.mask, &state)
      }
      guard next < typed.fields.upperBound else { break }
      let index = next
      next += 1
      let field = plan.fields[Int(index)]
      if field.place >= 0, UInt32(field.place) / 64 == group.group {
        group.mask |= 1 << UInt64(field.place % 64)
      } else {
        state.dependencies.append(RecordDependencies.Entry(entity, field.field, at: field.place))
      }
      let slot =
        state.top < 0
        ? base(entity, field.field, at: field.place) : visible(entity, field.field, at: field.place, upTo: state.top)
      guard try readField(slot, index, field, &plan, &state) else {
        state.dependencies.append(group)
        return false
      }
    }
    state.dependencies.append(group)
    state.output.end(UInt8(ascii: "}"))
    return true
  }

  /// Writes fields without subfields as the base has them, until one of which that has no bytes, or whose place is not
  /// among the first.
  /// - Returns: The field that is next.
  @inline(__always)
  private func readPlain(
    _ record: Entity, _ fields: Range<Int32>, _ plan: borrowing PreparedPlan, _ mask: inout UInt64,
    _ state: inout ReadState
  ) -> Int32 {
    let places = min(record.count, 64)
    var index = fields.lowerBound
    while index < fields.upperBound {
      let field = plan.fields[Int(index)]
      guard field.node < 0, UInt32(bitPattern: field.place) < places else { break }
      let slot = slots[Int(record.start) + Int(field.place)]
      guard slot.kind == .scalar else { break }
      mask |= 1 &<< UInt64(truncatingIfNeeded: field.place)
      plan.text.withUnsafeBufferPointer { text in
        guard let start = text.baseAddress else { return }
        state.output.append(
          start + Int(field.name.lowerBound), count: Int(field.name.upperBound &- field.name.lowerBound),
          with: starts[Int(slot.chunk)].bytes + Int(slot.offset), count: Int(slot.count))
      }
      index += 1
    }
    return index
  }

  private mutating func readObject(
    _ slot: Slot, _ node: Int32, _ plan: inout PreparedPlan, _ state: inout ReadState
  ) throws(RecordError) -> Bool {
    try readCells(cells(of: slot), node, &plan, &state)
  }

  private mutating func readCells(
    _ cells: ArraySlice<Slot>, _ node: Int32, _ plan: inout PreparedPlan, _ state: inout ReadState
  ) throws(RecordError) -> Bool {
    let typed = try typed(node, cells, &plan)
    if typed.isUndecided, !state.miss() { return false }
    try state.output.begin(UInt8(ascii: "{"))
    for index in typed.fields {
      let field = plan.fields[Int(index)]
      if field.place < 0 { state.dependencies.append(.init(state.entity, embedded: field.field)) }
      let cell = Self.cell(field.field, in: cells, expectedAt: Int(index - typed.fields.lowerBound)) ?? .missing
      guard try readField(cell, index, field, &plan, &state) else { return false }
    }
    state.output.end(UInt8(ascii: "}"))
    return true
  }

  /// What is selected of an object, by the `__typename` among its cells.
  private mutating func typed(
    _ node: Int32, _ cells: ArraySlice<Slot>, _ plan: inout PreparedPlan
  ) throws(RecordError) -> PreparedPlan.Typed {
    let number: Int32
    if let name = Self.cell(0, in: cells, expectedAt: 0), name.kind == .scalar, name.count >= 2 {
      let bytes = bytes(of: name)
      let inner = UnsafeBufferPointer(rebasing: bytes[1..<(bytes.count - 1)])
      number =
        inner.contains(UInt8(ascii: "\\"))
        ? try plan.typed(node, type(named: ResponseScanner.unescaped(bytes)), in: &self)
        : try plan.typed(node, named: inner, in: &self)
    } else {
      number = try plan.typed(node, 0, in: &self)
    }
    return plan.typed[Int(number)]
  }

  /// Writes a page, or all that follow each other.
  private mutating func readPages(
    _ slot: Slot, _ field: PreparedPlan.Field, _ plan: inout PreparedPlan, _ state: inout ReadState
  ) throws(RecordError) -> Bool {
    let cells = self.cells(of: slot)
    let view = view(of: plan.pages[Int(field.page)], in: cells, readsAll: plan.readsAllPages)
    // A page that is not there is null as a whole, unless its connection has something beside pages.
    if state.isPartial, view == nil, try hasOnlyPages(field, cells, &plan) {
      return try readValue(.missing, field.node, &plan, &state)
    }
    guard plan.readsAllPages, !state.isPartial, let view else {
      return try readPage(view, field, cells, &plan, &state)
    }
    let mark = state.mark
    if try readPage(view, field, cells, &plan, &state) { return true }
    // A row that lacks something ends them: a request for what comes after the row before it gets it again.
    let missing = state.missing
    state.reset(to: mark)
    let count = try readableCount(of: view, field, cells, &plan, &state)
    state.reset(to: mark)
    var part = view
    part.cut(toFirst: count)
    if count > 0, count < view.range.count, try readPage(part, field, cells, &plan, &state) { return true }
    state.missing = missing
    return false
  }

  /// Whether nothing is selected of a connection but its page.
  private mutating func hasOnlyPages(
    _ field: PreparedPlan.Field, _ cells: ArraySlice<Slot>, _ plan: inout PreparedPlan
  ) throws(RecordError) -> Bool {
    guard plan.pages[Int(field.page)].isConnection else { return true }
    let typed = try typed(field.node, cells, &plan)
    // The first number is that of `__typename`.
    let ofPages = [0, PageField.edges, PageField.nodes, PageField.pageInfo]
    return typed.fields.allSatisfy { ofPages.contains(plan.fields[Int($0)].field) }
  }

  /// How many rows at the beginning lack nothing.
  private mutating func readableCount(
    of view: PageView, _ field: PreparedPlan.Field, _ cells: ArraySlice<Slot>, _ plan: inout PreparedPlan,
    _ state: inout ReadState
  ) throws(RecordError) -> Int {
    guard plan.pages[Int(field.page)].isConnection else {
      return try readableCount(of: self.cells(of: view.nodes), field.node, &plan, &state)
    }
    var count = view.range.count
    let typed = try typed(field.node, cells, &plan)
    for index in typed.fields {
      let field = plan.fields[Int(index)]
      guard field.field == PageField.edges || field.field == PageField.nodes else { continue }
      let rows = self.cells(of: field.field == PageField.edges ? view.edges : view.nodes)
      count = min(count, try readableCount(of: rows, field.node, &plan, &state))
    }
    return count
  }

  private mutating func readableCount(
    of rows: ArraySlice<Slot>, _ node: Int32, _ plan: inout PreparedPlan, _ state: inout ReadState
  ) throws(RecordError) -> Int {
    for (index, row) in rows.enumerated() where try !readValue(row, node, &plan, &state) { return index }
    return rows.count
  }

  private mutating func readPage(
    _ view: PageView?, _ field: PreparedPlan.Field, _ cells: ArraySlice<Slot>, _ plan: inout PreparedPlan,
    _ state: inout ReadState
  ) throws(RecordError) -> Bool {
    guard plan.pages[Int(field.page)].isConnection else {
      return try readValue(view?.nodes ?? .missing, field.node, &plan, &state)
    }
    let typed = try typed(field.node, cells, &plan)
    if typed.isUndecided, !state.miss() { return false }
    try state.output.begin(UInt8(ascii: "{"))
    for index in typed.fields {
      let field = plan.fields[Int(index)]
      if field.place < 0 { state.dependencies.append(.init(state.entity, embedded: field.field)) }
      if field.field == PageField.pageInfo, field.node >= 0, let view {
        appendName(field, plan, &state)
        state.path.append(Int(index))
        guard try readCells(pageInfo(of: view, in: cells)[...], field.node, &plan, &state) else { return false }
        state.path.removeLast()
        continue
      }
      let slot =
        switch field.field {
        case PageField.edges: view?.edges
        case PageField.nodes: view?.nodes
        case PageField.pageInfo: Slot?.none
        default: Self.cell(field.field, in: cells, expectedAt: Int(index - typed.fields.lowerBound))
        }
      guard try readField(slot ?? .missing, index, field, &plan, &state) else { return false }
    }
    state.output.end(UInt8(ascii: "}"))
    return true
  }

  /// Writes a name and its colon.
  @inline(__always)
  private func appendName(_ field: PreparedPlan.Field, _ plan: borrowing PreparedPlan, _ state: inout ReadState) {
    plan.text.withUnsafeBufferPointer { text in
      guard let start = text.baseAddress else { return }
      state.output.append(
        start + Int(field.name.lowerBound), count: Int(field.name.upperBound &- field.name.lowerBound))
    }
  }

  @inline(__always)
  private mutating func readField(
    _ slot: Slot, _ index: Int32, _ field: PreparedPlan.Field, _ plan: inout PreparedPlan, _ state: inout ReadState
  ) throws(RecordError) -> Bool {
    appendName(field, plan, &state)
    if field.node < 0, slot.kind == .scalar {
      state.output.append(bytes(of: slot), then: UInt8(ascii: ","))
      return true
    }
    state.path.append(Int(index))
    let isRead =
      slot.kind == .pages && field.page >= 0
      ? try readPages(slot, field, &plan, &state) : try readValue(slot, field.node, &plan, &state)
    state.path.removeLast()
    return isRead
  }

  /// Writes a value, and a comma after it.
  private mutating func readValue(
    _ slot: Slot, _ node: Int32, _ plan: inout PreparedPlan, _ state: inout ReadState
  ) throws(RecordError) -> Bool {
    switch slot.kind {
    case .null: state.output.append("null,")
    case .scalar where node < 0: state.output.append(bytes(of: slot), then: UInt8(ascii: ","))
    case .reference where node >= 0: return try readEntity(slot.offset, node, &plan, &state)
    case .object where node >= 0: return try readObject(slot, node, &plan, &state)
    case .list where node >= 0:
      try state.output.begin(UInt8(ascii: "["))
      for (index, cell) in cells(of: slot).enumerated() {
        state.path.append(-1 - index)
        guard try readValue(cell, node, &plan, &state) else { return false }
        state.path.removeLast()
      }
      state.output.end(UInt8(ascii: "]"))
    case .missing, .error, .scalar, .reference, .object, .list, .pages:
      // A field that has subfields in one document and none in another is not of one schema.
      guard state.miss() else { return false }
      state.output.append("null,")
    }
    return true
  }
}

extension PreparedPlan {
  /// The steps of a path.
  fileprivate func steps(_ path: [Int]) -> [RecordStep] {
    path.map { $0 < 0 ? .index(-1 - $0) : .key(responseName(Int32(truncatingIfNeeded: $0))) }
  }
}
