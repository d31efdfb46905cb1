// How pages get into a list: what a response has is made one run, which is then put to those that there are.

extension RecordCache {
  /// What a response has of a list, as one page.
  mutating func pages(
    _ value: Slot, _ page: PageArguments, isEdit: Bool, _ state: inout WriteState
  ) -> Slot {
    var run = PageRun(start: page.start, end: page.end)
    var others: [Slot] = []
    var count: Int?
    switch (page.isConnection, value.kind) {
    case (false, .list):
      run.rows = cells(of: value).map { PageRow(node: $0) }
      count = run.rows.count
      others.append(named(Slot(.null), PageField.isNumbered))
      if let wanted = page.count, run.rows.count < wanted { run.end = .limit }
    case (true, .object):
      let cells = Array(cells(of: value))
      let edges = cells.first { $0.field == PageField.edges && $0.kind == .list }
      let nodes = cells.first { $0.field == PageField.nodes && $0.kind == .list }
      let isRows = { (cell: Slot) in cell.field == edges?.field || cell.field == nodes?.field }
      others = cells.filter { !isRows($0) }
      guard edges != nil || nodes != nil else { break }
      run.rows = rows(edges, nodes, state.layer)
      count = run.rows.count
      if let place = others.firstIndex(where: { $0.field == PageField.pageInfo && $0.kind == .object }) {
        let info = self.cells(of: others[place])
        complete(&run, page, info, isEdit: isEdit)
        let passed = page.isBackward ? PageField.startCursor : PageField.endCursor
        if run.rows.isEmpty, !isEdit, let cursor = info.first(where: { $0.field == passed && $0.kind == .scalar }) {
          others.append(named(cursor, page.isBackward ? PageField.passedBackward : PageField.passed))
        }
        // What it says of the page is in the run.
        let names = PageField.hasNextPage...PageField.endCursor
        let rest = info.filter { !names.contains($0.field) }
        others[place] = named(state.append(.object, rest), PageField.pageInfo)
      } else {
        complete(&run, page, [], isEdit: isEdit)
      }
      let isShort = page.count.map { $0 > run.rows.count } ?? false
      if !isEdit, isShort, !run.rows.isEmpty, (page.isBackward ? run.start : run.end) == .open {
        others.append(named(Slot(.null, count: run.rows.count), PageField.limit))
      }
    default: return value
    }
    if isEdit, count != nil {
      let replaced = Slot(.null, offset: page.isBackward ? 1 : 0, count: min(page.count ?? .max, Int(Int32.max)))
      others.append(named(replaced, PageField.edit))
    }
    return append(count == nil ? [] : [run], others, &state)
  }

  private func rows(_ edges: Slot?, _ nodes: Slot?, _ layer: Int) -> [PageRow] {
    let (edges, nodes) = (edges.map { Array(cells(of: $0)) } ?? [], nodes.map { Array(cells(of: $0)) } ?? [])
    return (0..<max(edges.count, nodes.count)).map { index in
      var row = PageRow()
      if index < edges.count { row.edge = edges[index] }
      if index < nodes.count { row.node = nodes[index] }
      row.cursor = member(PageField.cursor, of: row.edge, layer) ?? .missing
      row.cursor.field = 0
      return row
    }
  }

  /// Adds what `pageInfo` says: whether the list begins or ends here, and the cursors of the first and the last element.
  private func complete(_ run: inout PageRun, _ page: PageArguments, _ info: ArraySlice<Slot>, isEdit: Bool) {
    func cell(_ field: UInt32) -> Slot { info.first { $0.field == field && $0.kind == .scalar } ?? .missing }
    if isEdit {
      // Those of elements that were there before are known.
      for index in run.rows.indices where run.rows[index].cursor.kind != .scalar {
        run.rows[index].cursor = Slot(.null)
      }
    } else if let last = run.rows.indices.last {
      for (index, field) in [(0, PageField.startCursor), (last, PageField.endCursor)]
      where run.rows[index].cursor.kind != .scalar {
        run.rows[index].cursor = cell(field)
        run.rows[index].cursor.field = 0
      }
    }
    let more = cell(page.isBackward ? PageField.hasPreviousPage : PageField.hasNextPage)
    // A count says nothing of a server that gives less than it was asked for, but for one that says nothing else.
    let isEnd =
      more.kind == .scalar
      ? bytes(of: more).first == UInt8(ascii: "f") : page.count.map { run.rows.count < $0 } ?? false
    guard isEnd else { return }
    if page.isBackward { run.start = .limit } else { run.end = .limit }
  }

  /// Keeps runs, and what is beside them.
  private func append(_ runs: [PageRun], _ others: [Slot], _ state: inout WriteState) -> Slot {
    var cells = others
    if !runs.isEmpty {
      let slots = runs.map { run in
        let lists = [
          (PageField.cursors, run.rows.map(\.cursor)), (PageField.edges, run.rows.map(\.edge)),
          (PageField.nodes, run.rows.map(\.node)),
        ].map { field, cells in
          // Of what no page has, nothing is known, unless there is nothing.
          let isKnown = cells.isEmpty || cells.contains { $0.kind != .missing } || field == PageField.cursors
          return named(isKnown ? state.append(.list, cells) : .missing, field)
        }
        let edges = [named(run.start.slot, PageField.start), named(run.end.slot, PageField.end)]
        return state.append(.object, edges + lists)
      }
      cells.append(named(state.append(.list, slots), PageField.runs))
    }
    return state.append(.pages, cells)
  }

  private func runs(in cells: [Slot]) -> [PageRun] {
    guard let list = cells.first(where: { $0.field == PageField.runs }) else { return [] }
    return self.cells(of: list).enumerated().map { index, cell in
      let view = PageView(self.cells(of: cell), run: index)
      let lists = [view.cursors, view.edges, view.nodes].map { Array(self.cells(of: $0)) }
      func element(_ list: Int, _ index: Int) -> Slot { index < lists[list].count ? lists[list][index] : .missing }
      let rows = (0..<view.count).map { PageRow(cursor: element(0, $0), edge: element(1, $0), node: element(2, $0)) }
      return PageRun(rows: rows, start: view.start, end: view.end)
    }
  }

  /// A field of an edge.
  private func member(_ field: UInt32, of edge: Slot, _ layer: Int) -> Slot? {
    switch edge.kind {
    case .object: return Self.cell(field, in: cells(of: edge), expectedAt: 0)
    case .reference:
      let place = knownPlace(of: field, in: entities[Int(edge.offset)].type)
      return place < 0 ? nil : visible(edge.offset, field, at: place, upTo: layer)
    default: return nil
    }
  }

  private func node(of row: PageRow, _ layer: Int) -> Slot { member(PageField.node, of: row.edge, layer) ?? row.node }

  /// What tells an element from the others: the entity, or the cursor if its node has no key.
  private func key(of row: PageRow, _ layer: Int) -> UInt64? {
    let node = node(of: row, layer)
    return node.kind == .reference ? UInt64(node.offset) : fingerprint(row.cursor)
  }

  // MARK: Merging

  /// What pages become when another one is written to them; `nil` if they stay as they are. One with errors is not
  /// written to others.
  mutating func combinedPages(_ old: Slot, _ new: Slot, _ state: inout WriteState) -> Slot? {
    if old.isPartial { return new }
    if new.isPartial { return nil }
    let (oldCells, newCells) = (Array(cells(of: old)), Array(cells(of: new)))
    var runs = runs(in: oldCells)
    let own = [PageField.runs, PageField.edit, PageField.log, PageField.passed, PageField.passedBackward]
    var others = oldCells.filter { !own.contains($0.field) }
    for cell in newCells where !own.contains(cell.field) {
      if let place = others.firstIndex(where: { $0.field == cell.field }) {
        let isLimit = cell.field == PageField.limit
        others[place] = named(isLimit ? cell : combined(others[place], cell, &state) ?? others[place], cell.field)
      } else {
        others.append(cell)
      }
    }
    var passed = PassedCursors(in: oldCells)
    if let page = self.runs(in: newCells).first {
      let edit = newCells.first { $0.field == PageField.edit }
      if newCells.contains(where: { $0.field == PageField.isNumbered }) {
        write(page, edit: edit.map { Int($0.count) }, to: &runs)
      } else if let edit,
        let place = view(of: PageArguments(page, count: Int(edit.count), isBackward: edit.offset == 1), in: oldCells)
      {
        replace(place, by: page, in: &runs, &state)
      } else if page.start == .open || page.end == .open,
        let cursor = PassedCursors(in: newCells)[isBackward: page.end != .open]
      {
        if pass(page, to: cursor, in: &runs, passed, state.layer) { passed[isBackward: page.end != .open] = cursor }
      } else {
        merge(page, into: &runs, passed, &state)
      }
    }
    for isBackward in [false, true] {
      let isPassed = runs.contains { $0.isPassed && (isBackward ? $0.end : $0.start) == .limit }
      if isPassed, let cursor = passed[isBackward: isBackward] { others.append(cursor) }
    }
    let result = append(runs, others, &state)
    return areEqual(old, result) ? nil : result
  }

  /// The elements that an edit replaces.
  private func view(of page: PageArguments, in cells: [Slot]) -> PageView? {
    view(of: page, in: cells[...], readsAll: false) ?? view(of: page, in: cells[...], readsAll: true)
  }

  private mutating func replace(_ view: PageView, by page: PageRun, in runs: inout [PageRun], _ state: inout WriteState)
  {
    var page = page
    let (known, _) = match(&page, runs, &state)
    for index in page.rows.indices where page.rows[index].cursor.kind == .null && page.rows[index].edge.kind == .object
    {
      // Who does not know of cursors adds an edge without one.
      let cells = cells(of: page.rows[index].edge)
      if cells.contains(where: { $0.field == PageField.cursor }) { continue }
      page.rows[index].edge = state.append(.object, cells + [named(Slot(.null), PageField.cursor)])
    }
    for (index, run) in runs.enumerated() {
      let isReplaced = { (row: Int) in index == view.run && view.range.contains(row) }
      let kept = run.rows.indices.filter { !known[index].contains($0) && !isReplaced($0) }
      guard index == view.run else {
        runs[index].rows = kept.map { run.rows[$0] }
        continue
      }
      let before = kept.prefix { $0 < view.range.lowerBound }
      runs[index].rows = before.map { run.rows[$0] } + page.rows + kept.dropFirst(before.count).map { run.rows[$0] }
    }
    runs.removeAll { $0.rows.isEmpty && $0.start != .limit && $0.end != .limit }
  }

  /// Puts together what a page and the runs have of the same elements.
  /// - Returns: The places of these elements in each run, and, of those that a server has given, in the order of the page.
  private mutating func match(
    _ page: inout PageRun, _ runs: [PageRun], _ state: inout WriteState
  ) -> (known: [Set<Int>], matches: [(place: Int, run: Int, row: Int)]) {
    var places: [UInt64: Int] = [:]
    var rows: [PageRow] = []
    for row in page.rows {
      if let key = key(of: row, state.layer) {
        // The page itself may have it twice.
        if places[key] != nil { continue }
        places[key] = rows.count
      }
      rows.append(row)
    }
    var known = [Set<Int>](repeating: [], count: runs.count)
    var matches: [(place: Int, run: Int, row: Int)] = []
    for (index, run) in runs.enumerated() {
      for (number, row) in run.rows.enumerated() {
        guard let place = key(of: row, state.layer).flatMap({ places[$0] }) else { continue }
        known[index].insert(number)
        // What follows an element that an edit has added is what the edit says, not the server.
        if row.cursor.kind != .null { matches.append((place, index, number)) }
        let new = rows[place]
        if new.cursor.kind != .scalar { rows[place].cursor = row.cursor }
        rows[place].edge = combined(row.edge, new.edge, &state).map { $0.kind == .missing ? row.edge : $0 } ?? row.edge
        rows[place].node = combined(row.node, new.node, &state).map { $0.kind == .missing ? row.node : $0 } ?? row.node
      }
    }
    page.rows = rows
    return (known, matches.sorted { $0.place < $1.place })
  }

  /// Puts a page where it belongs: after or before the cursor that it was asked by, and in the place of what it has of
  /// the list. What the runs have beyond it stays, if it shares an element with them; else it is a run of its own, until
  /// a page tells what is between.
  private mutating func merge(
    _ new: PageRun, into runs: inout [PageRun], _ passed: PassedCursors, _ state: inout WriteState
  ) {
    if new.rows.isEmpty, new.start == .open || new.end == .open { return }
    var page = new
    let (known, matches) = match(&page, runs, &state)
    func rows(_ run: Int, _ range: Range<Int>) -> [PageRow] {
      range.compactMap { known[run].contains($0) ? nil : runs[run].rows[$0] }
    }
    var left = place(of: page.start, in: runs, isStart: true, passed)
    var right = place(of: page.end, in: runs, isStart: false, passed)
    if left == nil, page.start != .limit {
      left = matches.first { match in
        if let right, right.run == match.run, right.row <= match.row { return false }
        return match.place == 0 || !rows(match.run, 0..<match.row).isEmpty
      }.map { ($0.run, $0.row) }
    }
    if left == nil, page.start != .limit, let cursor = page.rows.first.flatMap({ fingerprint($0.cursor) }) {
      left = runs.firstIndex { $0.end == .cursor(cursor) }.map { ($0, runs[$0].rows.count) }
    }
    if right == nil, page.end != .limit {
      right = matches.last { match in
        if let left, left.run == match.run, left.row > match.row { return false }
        // A page that continues where the run ends is not followed by it.
        return match.place == page.rows.count - 1 || !rows(match.run, match.row..<runs[match.run].rows.count).isEmpty
      }.map { ($0.run, $0.row + 1) }
    }
    if right == nil, page.end != .limit, let cursor = page.rows.last.flatMap({ fingerprint($0.cursor) }) {
      right = runs.firstIndex { $0.start == .cursor(cursor) }.map { ($0, 0) }
    }
    if let begin = left, let end = right, begin.run == end.run, begin.row < end.row {
      let missing = (begin.row..<end.row).filter { !known[begin.run].contains($0) }
      if mayBeMoved(matches.filter { $0.run == begin.run }.map(\.row), past: missing, new) {
        if new.end == .open { right = nil } else if new.start == .open { left = nil }
      }
    }
    var rest: [PageRun] = []
    if let left {
      let run = runs[left.run]
      let before = rows(left.run, 0..<left.row)
      page.rows.insert(contentsOf: before, at: 0)
      let isNews = new.start == .open && run.start == .limit && before.allSatisfy { $0.cursor.kind == .null }
      if page.start != .limit, left.row > 0 || run.start != .open, !isNews { page.start = run.start }
      if left.run != right?.run, new.end != .limit {
        rest.append(PageRun(rows: rows(left.run, left.row..<run.rows.count), end: run.end))
      }
    }
    if let right {
      let run = runs[right.run]
      let behind = rows(right.run, right.row..<run.rows.count)
      page.rows += behind
      // The list ended where the server says now that there is more.
      let isNews = new.end == .open && run.end == .limit && behind.allSatisfy { $0.cursor.kind == .null }
      if page.end != .limit, right.row < run.rows.count || run.end != .open, !isNews { page.end = run.end }
      if right.run != left?.run, new.start != .limit {
        rest.append(PageRun(rows: rows(right.run, 0..<right.row), start: run.start))
      }
    }
    rest.removeAll { $0.rows.isEmpty }
    for (index, run) in runs.enumerated() where index != left?.run && index != right?.run {
      rest.append(PageRun(rows: rows(index, 0..<run.rows.count), start: run.start, end: run.end))
    }
    let isKept = { (run: PageRun) in !run.rows.isEmpty || run.isPassed || run.start == .limit && run.end == .limit }
    runs = Array(([page] + rest).filter(isKept).prefix(PageRun.limit))
  }

  /// Whether elements of a page may have been moved past others of a run that it lacks. What followed them there does not
  /// follow the page then. In a page that has the elements in their old order, those between two of them were removed.
  /// - Parameters:
  ///   - places: Those that the elements of the page have in the run, in the order of the page.
  ///   - missing: The places of the elements that would be taken out.
  private func mayBeMoved(_ places: [Int], past missing: [Int], _ page: PageRun) -> Bool {
    guard let firstMissing = missing.first, let lastMissing = missing.last else { return false }
    if zip(places, places.dropFirst()).contains(where: { $0 > $1 }) { return true }
    if page.end == .open { return page.start == .limit && places.first.map { $0 > firstMissing } == true }
    return page.end == .limit && places.last.map { $0 < lastMissing } == true
  }

  /// Notes that nothing is between the last element of a run, or its first, and a cursor: the next page is the one behind
  /// that, or before it. An element that only its cursor tells from the others keeps that.
  /// - Returns: Whether the run has no such element.
  private func pass(
    _ page: PageRun, to cursor: Slot, in runs: inout [PageRun], _ passed: PassedCursors, _ layer: Int
  ) -> Bool {
    let isForward = page.end == .open
    let edge = isForward ? page.start : page.end
    guard let (run, row) = place(of: edge, in: runs, isStart: isForward, passed) else {
      if edge == .limit { runs.insert(page, at: 0) }
      return edge == .limit
    }
    guard row == (isForward ? runs[run].rows.count : 0) else { return false }
    if runs[run].rows.isEmpty, edge == .limit { runs[run] = page }
    if runs[run].isPassed || runs[run].rows.isEmpty { return runs[run].isPassed }
    let place = isForward ? row - 1 : row
    if node(of: runs[run].rows[place], layer).kind == .reference { runs[run].rows[place].cursor = named(cursor, 0) }
    return false
  }

  /// The run and the element at which a page begins, or before which it ends.
  private func place(
    of edge: PageEdge, in runs: [PageRun], isStart: Bool, _ passed: PassedCursors
  ) -> (run: Int, row: Int)? {
    guard edge != .open else { return nil }
    if case .cursor(let cursor) = edge {
      for (index, run) in runs.enumerated() {
        guard let row = run.rows.lastIndex(where: { fingerprint($0.cursor) == cursor }) else { continue }
        return (index, isStart ? row + 1 : row)
      }
      let isFirst = { (run: PageRun) in run.isPassed && (isStart ? run.start : run.end) == .limit }
      if passed[isBackward: !isStart].flatMap({ fingerprint($0) }) == cursor, let run = runs.firstIndex(where: isFirst)
      {
        return (run, isStart ? runs[run].rows.count : 0)
      }
    }
    guard let run = runs.firstIndex(where: { (isStart ? $0.start : $0.end) == edge }) else { return nil }
    return (run, isStart ? 0 : runs[run].rows.count)
  }

  /// Puts the elements of a page at their numbers.
  /// - Parameter edit: How many elements an edit replaces; what comes after them follows its own.
  private func write(_ page: PageRun, edit: Int?, to runs: inout [PageRun]) {
    var page = page
    let (first, count, replaced) = (page.start.number, page.rows.count, edit ?? page.rows.count)
    var rest: [PageRun] = []
    for run in runs {
      let start = run.start.number
      let before = run.rows.prefix(max(first - start, 0))
      let after = run.rows.dropFirst(max(first + replaced - start, 0))
      if !before.isEmpty, start + before.count == first {
        page.rows.insert(contentsOf: before, at: 0)
        page.start = run.start
      } else if !before.isEmpty {
        rest.append(
          PageRun(rows: Array(before), start: run.start, end: before.count < run.rows.count ? .open : run.end))
      }
      if page.end == .limit { continue }
      let next = start + run.rows.count - after.count
      // An edit replaces all that there is of its page.
      if edit != nil && (start...start + run.rows.count).contains(first) || !after.isEmpty && next == first + replaced {
        page.rows += after
        page.end = run.end
      } else if !after.isEmpty {
        let number = next + count - replaced
        rest.append(PageRun(rows: Array(after), start: PageEdge(number: number), end: run.end))
      }
    }
    runs = Array(([page] + rest).prefix(PageRun.limit))
  }

  // MARK: Layers

  /// Keeps with what a layer shows which pages were written to it, so that they can be written again to what is below.
  mutating func logged(_ result: Slot, _ own: Slot?, _ page: Slot, _ state: inout WriteState) -> Slot {
    guard result.kind == .pages else { return result }
    return logged(result, log(of: own) + [page], &state)
  }

  private func logged(_ result: Slot, _ log: [Slot], _ state: inout WriteState) -> Slot {
    let cells = cells(of: result).filter { $0.field != PageField.log }
    return state.append(.pages, cells + [named(state.append(.list, log), PageField.log)])
  }

  /// Pages for a layer, in the place of all that is below, as others have them: also when older pages come to what is below.
  mutating func asWhole(_ pages: Slot) -> Slot {
    guard pages.kind == .pages else { return pages }
    let chunk = Chunk(count: 0)
    var state = WriteState(
      number: add(chunk), chunk: chunk, json: ResponseScanner(chunk), errors: ErrorTree([]), layer: -1)
    defer { keep(state.number) }
    return logged(pages, [.missing, pages], &state)
  }

  /// What was written to a layer, in order. What is no list, as what was removed, takes the place of all that is below.
  private func log(of slot: Slot?) -> [Slot] {
    guard let slot else { return [] }
    if slot.kind != .pages { return [slot] }
    return cells(of: slot).first { $0.field == PageField.log }.map { Array(cells(of: $0)) } ?? []
  }

  /// Writes the pages of layers again, since what is below them has changed, and returns the fields whose visible values
  /// changed by that.
  mutating func rewritePages(of keys: [SlotKey], above place: Int) -> [RecordChange] {
    let keys = keys.filter { key in
      layers.indices.contains { $0 > place && layers[$0].slots[key]?.kind == .pages }
    }
    guard !keys.isEmpty else { return [] }
    let chunk = Chunk(count: 0)
    var state = WriteState(
      number: add(chunk), chunk: chunk, json: ResponseScanner(chunk), errors: ErrorTree([]), layer: layers.count - 1)
    var changes: [RecordChange] = []
    for key in keys {
      let own = self.place(of: key)
      let old = visible(key.entity, key.field, at: own, upTo: layers.count - 1)
      for upper in layers.indices where upper > place {
        guard let slot = layers[upper].slots[key], slot.kind == .pages else { continue }
        let log = log(of: slot)
        var result = visible(key.entity, key.field, at: own, upTo: upper - 1)
        for page in log { result = combined(result, page, &state) ?? result }
        result = logged(result, log, &state)
        result.field = 0
        layers[upper].slots[key] = result
      }
      let new = visible(key.entity, key.field, at: own, upTo: layers.count - 1)
      let change = RecordChange(entity: key.entity, field: key.field, place: own)
      touched?.append(change)
      noteAltered(change, at: place)
      if !areEqual(old, new) { changes.append(change) }
    }
    keep(state.number)
    return changes
  }

  /// What a layer leaves to the one below it, or to the base.
  mutating func settled(_ upper: Slot, onto lower: Slot?, isBase: Bool) -> Slot {
    guard upper.kind == .pages, isBase || lower != nil else { return upper }
    let chunk = Chunk(count: 0)
    var state = WriteState(
      number: add(chunk), chunk: chunk, json: ResponseScanner(chunk), errors: ErrorTree([]), layer: -1)
    defer { keep(state.number) }
    if isBase { return state.append(.pages, cells(of: upper).filter { $0.field != PageField.log }) }
    return logged(upper, log(of: lower) + log(of: upper), &state)
  }
}
