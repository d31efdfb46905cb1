import GraphQLLanguage

/// `OverlappingFieldsCanBeMerged`: fields with one name in the response must be the same field with the same arguments,
/// unless they are of different objects; and have types of the same shape, in any case (section 5.3.2).
///
/// It is decided in about linear time: instead of comparing fields in pairs, all fields that end up under one name in one
/// place of the response are compared with the first of them, and then what they select is merged and checked in the same
/// way. (Simon Adeimat's algorithm, in "Near-linear time overlapping fields can be merged validation", XING, 2019.)
/// Only if there is a conflict, `FieldConflicts` looks for the pairs that graphql-js reports.
struct OverlappingFields {
  private let context: ValidationContext
  private let tables: SchemaTables

  /// What is still to be compared of merged selections.
  private struct Aspects: OptionSet {
    let rawValue: UInt8
    /// That their types have one shape.
    static let shape = Aspects(rawValue: 1)
    /// That they are the same field, with the same arguments.
    static let field = Aspects(rawValue: 2)
  }

  /// Selections that end up in one object of the response: each number is that of the selection that has them.
  private struct Merged: Hashable {
    let owners: [Int]
    let aspects: UInt8
  }

  private var pending: [Merged] = []
  /// For selections that are not merged with others, the aspects that were checked.
  private var checkedAlone: [Aspects]
  private var checkedTogether: Set<Merged> = []

  /// For each fragment, the round in which it was last looked at; and for each name, and the field that it had then.
  private var fragmentRounds: [Int32]
  private var nameRounds: [Int32]
  private var round: Int32 = 0
  /// The fragments whose fields were checked where they are spread.
  private var isCovered: [Bool]
  private var work = 0
  private var keys: FieldKeys

  static func check(_ context: ValidationContext) {
    var rule = OverlappingFields(context)
    defer { context.steps += rule.work }
    guard let conflict = rule.findConflict(), !context.isStopped else { return }
    if !FieldConflicts.report(context) {
      // What graphql-js would compare is too much; this pair is in conflict in any case.
      context.report(
        .overlappingFieldsCanBeMerged, FieldConflicts.message(context, conflict.0, conflict.1),
        at: [conflict.0, conflict.1].map { context.node(context.selections[$0].node).location })
    }
  }

  private init(_ context: ValidationContext) {
    self.context = context
    tables = context.tables
    checkedAlone = Array(repeating: [], count: context.selections.count)
    isCovered = Array(repeating: false, count: context.definitions.count)
    fragmentRounds = Array(repeating: 0, count: context.definitions.count)
    nameRounds = Array(repeating: 0, count: context.names.count)
    keys = FieldKeys(context)
  }

  /// A pair of fields that cannot be merged, if there is one.
  private mutating func findConflict() -> (Int, Int)? {
    for root in roots() {
      // What was merged into a larger whole, and checked there, is no conflict alone.
      if let fragment = root.fragment, isCovered[fragment] { continue }
      add([root.selection], [.shape, .field])
      if let conflict = checkPending() { return conflict }
      if context.isStopped { return nil }
    }
    return nil
  }

  /// The definitions, in an order in which few of them have to be checked alone: operations, fragments that nothing
  /// spreads, and then the others.
  private func roots() -> [(selection: Int, fragment: Int?)] {
    var isSpread = Array(repeating: false, count: context.definitions.count)
    for selection in context.selections where selection.kind == .spread {
      if let fragment = selection.fragment { isSpread[fragment] = true }
    }
    let definitions = context.definitions.enumerated().map { index, definition in
      (selection: definition.root, fragment: definition.operation == nil ? index : nil)
    }
    let later = definitions.filter { $0.fragment.map { isSpread[$0] } ?? false }
    return definitions.filter { $0.fragment == nil } + definitions.filter { $0.fragment.map { !isSpread[$0] } ?? false }
      + later
  }

  private mutating func checkPending() -> (Int, Int)? {
    while let merged = pending.popLast() {
      let fields = fields(of: merged.owners, isWhole: Aspects(rawValue: merged.aspects) == [.shape, .field])
      work += fields.count
      if work > Self.workLimit {
        context.stop("the fragments depend on each other too much to be checked")
        return nil
      }
      if let conflict = check(fields, Aspects(rawValue: merged.aspects)) { return conflict }
    }
    return nil
  }

  private static let workLimit = 2_000_000

  private mutating func add(_ selections: [Int], _ aspects: Aspects) {
    var owners = selections.map(fragmentAlone)
    if owners.count > 1, owners != selections {
      var known: Set<Int> = []
      owners.removeAll { !known.insert($0).inserted }
    }
    if owners.count == 1 {
      guard !checkedAlone[owners[0]].isSuperset(of: aspects) else { return }
      checkedAlone[owners[0]].formUnion(aspects)
      pending.append(Merged(owners: owners, aspects: aspects.rawValue))
    } else {
      let merged = Merged(owners: owners, aspects: aspects.rawValue)
      if checkedTogether.insert(merged).inserted { pending.append(merged) }
    }
  }

  /// The fragment that is all that an owner selects, so that it is checked once, wherever it is spread; or else the owner.
  private func fragmentAlone(_ owner: Int) -> Int {
    let first = owner + 1
    guard context.selections[owner].end == first + 1, context.selections[first].kind == .spread,
      let fragment = context.selections[first].fragment
    else { return owner }
    return context.definitions[fragment].root
  }

  /// The fields that the owners select, also through fragments.
  /// - Parameter isWhole: Whether all aspects of them are checked.
  private mutating func fields(of owners: [Int], isWhole: Bool) -> [Int] {
    round += 1
    var result: [Int] = []
    var next = owners.reversed().map { ($0 + 1, context.selections[$0].end) }
    while var (index, end) = next.popLast() {
      while index < end {
        let selection = context.selections[index]
        switch selection.kind {
        case .field:
          result.append(index)
          index = selection.end
        case .spread:
          index = selection.end
          if let fragment = selection.fragment, fragmentRounds[fragment] != round {
            fragmentRounds[fragment] = round
            if isWhole { isCovered[fragment] = true }
            work += 1
            let root = context.definitions[fragment].root
            next.append((index, end))
            (index, end) = (root + 1, context.selections[root].end)
          }
        case .inlineFragment, .definition:
          // Its selections follow.
          index += 1
        }
      }
    }
    return result
  }

  private mutating func check(_ fields: [Int], _ aspects: Aspects) -> (Int, Int)? {
    var hasRepeated = false
    for field in fields {
      let name = context.selections[field].responseName
      if nameRounds[name] == round { hasRepeated = true }
      nameRounds[name] = round
    }
    guard hasRepeated else {
      for field in fields where context.selections[field].hasSelections { add([field], aspects) }
      return nil
    }
    let sorted = fields.sorted { a, b in
      let (first, second) = (context.selections[a].responseName, context.selections[b].responseName)
      return first != second ? first < second : a < b
    }
    var start = 0
    while start < sorted.count {
      let name = context.selections[sorted[start]].responseName
      var end = start + 1
      while end < sorted.count, context.selections[sorted[end]].responseName == name { end += 1 }
      if let conflict = check(group: sorted[start..<end], aspects) { return conflict }
      start = end
    }
    return nil
  }

  /// Checks fields with one name in one place of the response.
  private mutating func check(group: ArraySlice<Int>, _ aspects: Aspects) -> (Int, Int)? {
    let owners = group.filter { context.selections[$0].hasSelections }
    guard group.count > 1 else {
      if !owners.isEmpty { add(owners, aspects) }
      return nil
    }
    if aspects.contains(.shape) {
      if let conflict = checkShapes(group) { return conflict }
      if let streamed = group.first(where: keys.isStreamed), let other = group.first(where: { $0 != streamed }) {
        return (min(streamed, other), max(streamed, other))
      }
    }
    guard aspects.contains(.field) else {
      if !owners.isEmpty { add(owners, .shape) }
      return nil
    }
    // Fields of different objects never meet; those of interfaces and unions, and of unknown types, meet with all.
    var shared: [Int] = []
    var byObject: [TypeID: [Int]] = [:]
    var objects: [TypeID] = []
    for field in group {
      if let type = context.selections[field].parentType, tables.kind(type) == .object {
        if byObject[type] == nil { objects.append(type) }
        byObject[type, default: []].append(field)
      } else {
        shared.append(field)
      }
    }
    if objects.count <= 1 {
      if let conflict = checkFields(group) { return conflict }
      if !owners.isEmpty { add(owners, aspects) }
      return nil
    }
    if !owners.isEmpty, aspects.contains(.shape) { add(owners, .shape) }
    if let conflict = checkFields(shared[...]) { return conflict }
    for object in objects {
      let own = byObject[object] ?? []
      if let conflict = checkFields((shared.prefix(1) + own)[...]) { return conflict }
      let meeting = (shared + own).filter { context.selections[$0].hasSelections }
      work += meeting.count
      if !meeting.isEmpty { add(meeting, .field) }
    }
    return nil
  }

  /// Types have one shape if their lists and non-nulls agree, and leaves are of one type; whatever is not a leaf is of
  /// one shape.
  private func checkShapes(_ group: ArraySlice<Int>) -> (Int, Int)? {
    var first: (field: Int, type: TypeRef)?
    for field in group {
      guard let number = context.selections[field].field else { continue }
      let type = tables.fields[number].type
      if let first {
        if FieldConflicts.haveDifferentShapes(first.type, type, tables) { return (first.field, field) }
      } else {
        first = (field, type)
      }
    }
    return nil
  }

  private mutating func checkFields(_ group: ArraySlice<Int>) -> (Int, Int)? {
    guard let first = group.first else { return nil }
    for field in group.dropFirst() where keys.differ(first, field) { return (first, field) }
    return nil
  }
}

/// What makes two fields the same: their name and arguments.
struct FieldKeys {
  private let context: ValidationContext
  private let hasStream: Bool
  /// For each selection, the number of its arguments' text; made when it is needed.
  private var arguments: [Int: Int] = [:]
  /// By bytes: Swift takes texts for equal that servers do not.
  private var numbers: [[UInt8]: Int] = [:]

  init(_ context: ValidationContext) {
    self.context = context
    hasStream = context.names.contains(.stream)
  }

  mutating func differ(_ a: Int, _ b: Int) -> Bool {
    context.selections[a].name != context.selections[b].name || argumentsDiffer(a, b)
  }

  mutating func argumentsDiffer(_ a: Int, _ b: Int) -> Bool {
    let (first, second) = (context.selections[a], context.selections[b])
    if !first.hasArguments && !second.hasArguments { return false }
    if first.hasArguments && second.hasArguments,
      let one = context.node(first.node).child(.arguments), let other = context.node(second.node).child(.arguments),
      one.isWritten(like: other)
    {
      return false
    }
    return argumentsNumber(a) != argumentsNumber(b)
  }

  /// Whether a field is streamed: then it cannot be merged with any other.
  func isStreamed(_ selection: Int) -> Bool {
    guard hasStream else { return false }
    return FieldSyntax(context.node(context.selections[selection].node))?.directives.contains { $0.name == "stream" }
      ?? false
  }

  private mutating func argumentsNumber(_ selection: Int) -> Int {
    if let number = arguments[selection] { return number }
    let node = context.node(context.selections[selection].node).child(.arguments)
    let text = Array((node.map { Self.text($0, in: context.document) } ?? "").utf8)
    let number = numbers[text] ?? numbers.count
    numbers[text] = number
    arguments[selection] = number
    return number
  }

  /// Arguments in the order of their names, with the fields of objects in that order, too.
  private static func text(_ arguments: SyntaxNode, in document: DocumentSyntax) -> String {
    // What is in a value has greater numbers, so that in this order its text is known when it is needed.
    var texts: [UInt32: String] = [:]
    for id in arguments.subtree.reversed() {
      let node = document.node(id)
      let parts = node.children.compactMap { texts.removeValue(forKey: $0.id) }
      switch node.kind {
      case .argument, .objectField: texts[id] = "\(node.nameText):" + parts.joined()
      case .list: texts[id] = "[" + parts.joined(separator: ",") + "]"
      case .object, .arguments: texts[id] = "{" + parts.sorted().joined(separator: ",") + "}"
      default: texts[id] = node.text
      }
    }
    return texts[arguments.id] ?? ""
  }
}

extension SyntaxNode {
  /// The name of an argument or of an object's field.
  fileprivate var nameText: String { (ArgumentSyntax(self)?.name ?? ObjectFieldSyntax(self)?.name)?.text ?? "" }
}
