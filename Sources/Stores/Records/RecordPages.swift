import GraphQLLanguage
import SystemBase

// The pages of a list are kept as one slot, of the kind `pages`: what the connection has beside its elements, and runs of
// elements. A run is a part of the list without a gap. The pages that have come make one run as a rule; one that came
// before what is between makes another, and the two are joined as soon as an element, or a cursor, is in both.

/// The numbers of the fields that pages have, in all caches. Those that begin with a space are the cache's own.
enum PageField {
  static let names = [
    "edges", "nodes", "node", "cursor", "pageInfo", "hasNextPage", "hasPreviousPage", "startCursor", "endCursor",
    " runs", " start", " end", " cursors", " edit", " limit", " numbered", " log", " passed",
    " passedBackward",
  ]
  static let numbers = Dictionary(
    uniqueKeysWithValues: names.enumerated().map { (ExactText($1), UInt32(truncatingIfNeeded: $0 + 1)) })

  static let edges: UInt32 = 1
  static let nodes: UInt32 = 2
  static let node: UInt32 = 3
  static let cursor: UInt32 = 4
  static let pageInfo: UInt32 = 5
  static let hasNextPage: UInt32 = 6
  static let hasPreviousPage: UInt32 = 7
  static let startCursor: UInt32 = 8
  static let endCursor: UInt32 = 9
  static let runs: UInt32 = 10
  static let start: UInt32 = 11
  static let end: UInt32 = 12
  static let cursors: UInt32 = 13
  /// How many elements an edit replaces.
  static let edit: UInt32 = 14
  /// How many elements the server gives at most.
  static let limit: UInt32 = 15
  /// Says that a list has no cursors.
  static let isNumbered: UInt32 = 16
  /// The pages that were written to a layer.
  static let log: UInt32 = 17
  /// The cursor at the other end of a page that has no elements, though the list does not end there; of one that was asked
  /// for backwards.
  static let passed: UInt32 = 18
  static let passedBackward: UInt32 = 19
}

/// What is at an end of a page or a run.
enum PageEdge: Hashable, Sendable {
  /// There may be more.
  case open
  /// The list begins or ends there.
  case limit
  /// The element with this cursor, by its fingerprint; or as many elements before it, in a list without cursors.
  case cursor(UInt64)

  init(_ slot: Slot?) {
    guard let slot, slot.kind == .null else {
      self = .open
      return
    }
    let value = UInt64(slot.offset) << 32 | UInt64(slot.count)
    self = value == 0 ? .limit : .cursor(value)
  }

  /// An element by its number.
  init(number: Int) { self = number == 0 ? .limit : .cursor(UInt64(number)) }

  /// The number of an element.
  var number: Int { if case .cursor(let number) = self { Int(truncatingIfNeeded: number) } else { 0 } }

  var slot: Slot {
    switch self {
    case .open: .missing
    case .limit: Slot(.null)
    case .cursor(let value): Slot(.null, offset: Int(value >> 32), count: Int(value & 0xFFFF_FFFF))
    }
  }
}

/// Which page a field's arguments mean.
struct PageArguments: Sendable {
  let isConnection: Bool
  var start = PageEdge.limit
  var end = PageEdge.open
  /// How many elements at most; `nil` if the server says how many.
  var count: Int?
  /// Whether it is counted from its end.
  var isBackward = false

  /// Takes a field's arguments; `nil` if they may mean a part of a page, between two cursors.
  init?(
    of field: FieldSyntax, _ paging: FieldPaging, _ variables: RecordVariables, _ cache: borrowing RecordCache
  ) {
    isConnection = paging == .connection
    func number(_ name: String) -> Int? { variables.text(of: name, of: field).flatMap(Int.init).map { max($0, 0) } }
    switch paging {
    case .connection:
      let (after, before) = (variables.text(of: "after", of: field), variables.text(of: "before", of: field))
      let (first, last) = (number("first"), number("last"))
      guard after == nil || before == nil, first == nil || last == nil else { return nil }
      guard last == nil || after == nil, first == nil || before == nil else { return nil }
      isBackward = before != nil || last != nil
      count = isBackward ? last : first
      let edge = (isBackward ? before : after).map { PageEdge.cursor(cache.fingerprint($0)) } ?? .limit
      (start, end) = isBackward ? (.open, edge) : (edge, .open)
    case .offset(let offset, let limit):
      start = PageEdge(number: min(number(offset) ?? 0, Int(Int32.max)))
      count = number(limit)
    }
  }

  /// The page that an edit replaces.
  init(_ run: PageRun, count: Int, isBackward: Bool) {
    isConnection = true
    (start, end, self.count, self.isBackward) = (run.start, run.end, count, isBackward)
  }
}

/// An element with its cursor. A connection has it as an edge, or as a node, or both.
struct PageRow {
  var cursor = Slot.missing
  var edge = Slot.missing
  var node = Slot.missing
}

/// The cursors that the first pages of a list have reached without an element, and the last ones backwards.
struct PassedCursors {
  private var forward, backward: Slot?

  init(in cells: some Sequence<Slot>) {
    for cell in cells where cell.kind == .scalar {
      if cell.field == PageField.passed { forward = cell }
      if cell.field == PageField.passedBackward { backward = cell }
    }
  }

  subscript(isBackward isBackward: Bool) -> Slot? {
    get { isBackward ? backward : forward }
    set { if isBackward { backward = newValue } else { forward = newValue } }
  }
}

/// Elements that follow each other in the list.
struct PageRun {
  var rows: [PageRow] = []
  var start = PageEdge.open
  var end = PageEdge.open

  /// Whether it begins the list, or ends it, and has nothing that a server has given, though the list continues.
  var isPassed: Bool {
    let isAtLimit = start == .limit && end == .open || start == .open && end == .limit
    return isAtLimit && rows.allSatisfy { $0.cursor.kind == .null }
  }

  /// How many runs are kept of a list: those that were last written.
  static var limit: Int { 16 }
}

extension RecordCache {
  func fingerprint(_ text: String) -> UInt64 {
    var text = text
    return text.withUTF8 { max(fingerprint($0), 1) }
  }

  /// The fingerprint of a cursor; `nil` if it is not known.
  func fingerprint(_ cursor: Slot) -> UInt64? {
    guard cursor.kind == .scalar, cursor.count > 0 else { return nil }
    let bytes = bytes(of: cursor)
    guard bytes[0] == UInt8(ascii: "\"") else { return max(fingerprint(bytes), 1) }
    if bytes.contains(UInt8(ascii: "\\")) { return fingerprint(ResponseScanner.unescaped(bytes)) }
    return max(fingerprint(UnsafeBufferPointer(rebasing: bytes[1..<(bytes.count - 1)])), 1)
  }

  // MARK: Reading

  /// The elements of one run.
  struct PageView {
    private(set) var start: PageEdge
    private(set) var end: PageEdge
    let run: Int
    let count: Int
    private(set) var cursors: Slot
    private(set) var edges: Slot
    private(set) var nodes: Slot
    private(set) var range: Range<Int>

    init(_ cells: ArraySlice<Slot>, run: Int) {
      func list(_ field: UInt32, at index: Int) -> Slot {
        RecordCache.cell(field, in: cells, expectedAt: index) ?? .missing
      }
      (start, end) = (PageEdge(list(PageField.start, at: 0)), PageEdge(list(PageField.end, at: 1)))
      cursors = list(PageField.cursors, at: 2)
      (edges, nodes) = (list(PageField.edges, at: 3), list(PageField.nodes, at: 4))
      (self.run, count, range) = (run, Int(cursors.count), 0..<0)
    }

    /// Leaves the elements of the range, and what is at their ends.
    mutating func cut(to range: Range<Int>) {
      self.range = range
      if range.lowerBound > 0 { start = .open }
      if range.upperBound < count { end = .open }
      cursors = Self.part(range, of: cursors)
      edges = Self.part(range, of: edges)
      nodes = Self.part(range, of: nodes)
    }

    /// Leaves the first elements.
    mutating func cut(toFirst count: Int) {
      let range = 0..<count
      (cursors, edges, nodes) = (
        Self.part(range, of: cursors), Self.part(range, of: edges), Self.part(range, of: nodes)
      )
      end = .open
    }

    private static func part(_ range: Range<Int>, of list: Slot) -> Slot {
      guard list.kind == .list else { return list }
      return Slot(.list, chunk: list.chunk, offset: Int(list.offset) + range.lowerBound, count: range.count)
    }
  }

  /// What there is of a page; `nil` if not all of it, so that a server might give more.
  /// - Parameter readsAll: Whether what follows the page without a gap is a part of it.
  func view(of page: PageArguments, in cells: ArraySlice<Slot>, readsAll: Bool) -> PageView? {
    guard let runs = cells.first(where: { $0.field == PageField.runs }) else { return nil }
    let limit = cells.first { $0.field == PageField.limit }.map { Int($0.count) }
    let wanted = readsAll ? nil : page.count
    let views = self.cells(of: runs).enumerated().map { PageView(self.cells(of: $1), run: $0) }
    guard var (view, range) = place(of: page, in: views) else { return nil }
    let isOpen = (page.isBackward ? view.start : view.end) != .limit
    let isPassed =
      view.count == 0 && (page.isBackward ? page.end : page.start) == .limit
      && PassedCursors(in: cells)[isBackward: page.isBackward] != nil
    switch wanted {
    case nil where range.isEmpty && isOpen && !isPassed: return nil
    case let count? where count < range.count:
      range =
        page.isBackward
        ? range.upperBound - count..<range.upperBound : range.lowerBound..<range.lowerBound + count
    case let count? where count > range.count && isOpen && range.count < limit ?? .max: return nil
    default: break
    }
    view.cut(to: range)
    return view
  }

  /// The run that a page is in, and its elements from where the page begins, or to where it ends.
  private func place(of page: PageArguments, in views: [PageView]) -> (PageView, Range<Int>)? {
    guard page.isConnection else {
      for view in views {
        let first = page.start.number - view.start.number
        if first >= 0, first <= view.count { return (view, first..<view.count) }
      }
      return nil
    }
    let own = page.isBackward ? page.end : page.start
    if case .cursor(let cursor) = own {
      for view in views {
        guard let place = cells(of: view.cursors).lastIndex(where: { fingerprint($0) == cursor }) else { continue }
        let index = place - Int(view.cursors.offset)
        return (view, page.isBackward ? 0..<index : index + 1..<view.count)
      }
    }
    return views.first { own == (page.isBackward ? $0.end : $0.start) }.map { ($0, 0..<$0.count) }
  }

  /// The cells of a view's `pageInfo`: what the server's had beside the four fields that are known.
  func pageInfo(of view: PageView, in cells: ArraySlice<Slot>) -> [Slot] {
    // An element that an edit has added has none.
    let cursors = self.cells(of: view.cursors).filter { $0.kind != .null }
    let passed = PassedCursors(in: cells)
    let (isFirst, isLast) = (view.start == .limit && view.end == .open, view.start == .open && view.end == .limit)
    let info = cells.first { $0.field == PageField.pageInfo }
    return (info.map { Array(self.cells(of: $0)) } ?? []) + [
      named(.boolean(view.end != .limit), PageField.hasNextPage),
      named(.boolean(view.start != .limit), PageField.hasPreviousPage),
      named(cursors.first ?? (isLast ? passed[isBackward: true] : nil) ?? Slot(.null), PageField.startCursor),
      named(cursors.last ?? (isFirst ? passed[isBackward: false] : nil) ?? Slot(.null), PageField.endCursor),
    ]
  }

  func named(_ slot: Slot, _ field: UInt32) -> Slot {
    var slot = slot
    slot.field = field
    return slot
  }

  // MARK: Keeping

  /// The cells of pages without those that say how a layer came to them.
  func lastingCells(of pages: Slot) -> ArraySlice<Slot> {
    cells(of: pages).filter { $0.field != PageField.log && $0.field != PageField.edit }[...]
  }

  /// Whether a slot has the form that is relied on where pages are read.
  func arePages(_ pages: Slot) -> Bool {
    cells(of: pages).allSatisfy { cell in
      switch cell.field {
      case PageField.runs: cell.kind == .list && cells(of: cell).allSatisfy { isRun($0) }
      case PageField.pageInfo: cell.kind == .object || cell.count == 0
      case PageField.log, PageField.edit: false
      default: true
      }
    }
  }

  private func isRun(_ slot: Slot) -> Bool {
    guard slot.kind == .object else { return false }
    let view = PageView(cells(of: slot), run: 0)
    let isList = { (list: Slot) in list.kind == .missing || list.kind == .list && list.count == view.cursors.count }
    // No cursor is known by a fingerprint that another cache has made: what is at an end is the number of an element.
    let areNumbers = [view.start, view.end].allSatisfy { (0...Int(Int32.max)).contains($0.number) }
    return areNumbers && view.cursors.kind == .list && isList(view.edges) && isList(view.nodes)
  }
}

extension Slot {
  /// Whether it is the edge of a page by the fingerprint of a cursor, which no other cache has.
  var isFingerprint: Bool {
    kind == .null && offset != 0 && (field == PageField.start || field == PageField.end)
  }

  /// `true` or `false`, in the chunk of what needs none.
  static func boolean(_ value: Bool) -> Slot {
    value ? Slot(.scalar, offset: 0, count: 4) : Slot(.scalar, offset: 4, count: 5)
  }
}
