import GraphQLLanguage

/// The pairs of fields that cannot be merged, in the way and in the order in which graphql-js finds and reports them.
///
/// `OverlappingFields` finds one pair, in about linear time: it compares fields with the first of their name only, and merges
/// what they select across fragments. graphql-js names every pair, inside of the fields and for the pairs of fragments in
/// which it meets it; findings are to be the same, so the pairs are looked for as it does it. That takes long for many fields
/// of one name; so it runs only if there is a conflict, and stops after a number of comparisons.
struct FieldConflicts {
  private let context: ValidationContext
  private let tables: SchemaTables
  private var keys: FieldKeys
  private var collected: [Int: Collected] = [:]
  private var comparedFragments: [Pair: Bool] = [:]
  private var comparedFieldsAndFragments: [Pair: Bool] = [:]
  private var work = 0
  private var depth = 0

  /// How deep merged selections are compared. Below that, a conflict is found, too, but reported as one pair of fields.
  private static let deepest = 40

  /// What selections select, without what is in fragments that they spread.
  private struct Collected {
    var names: [Int] = []
    var fields: [Int: [Int]] = [:]
    var fragments: [Int] = []
  }

  private struct Pair: Hashable {
    let first: Int
    let second: Int
  }

  private struct Conflict {
    let reason: String
    let first: [Int]
    let second: [Int]
  }

  /// Reports the conflicts, and returns whether it came to an end and found some.
  static func report(_ context: ValidationContext) -> Bool {
    var search = FieldConflicts(context)
    var hasFound = false
    for owner in context.selections.indices where context.selections[owner].hasSelections {
      for conflict in search.conflicts(within: owner) {
        hasFound = true
        let fields = conflict.first + conflict.second
        context.report(
          .overlappingFieldsCanBeMerged, conflict.reason,
          at: fields.map { context.node(context.selections[$0].node).location })
      }
      if search.isExhausted || context.isStopped { break }
    }
    return hasFound
  }

  /// Why two fields are in conflict.
  static func message(_ context: ValidationContext, _ a: Int, _ b: Int) -> String {
    var search = FieldConflicts(context)
    return search.message(a, b, isExclusive: false)
      ?? "\"\(context.text(context.selections[a].responseName))\" conflicts"
  }

  static func haveDifferentShapes(_ a: TypeRef, _ b: TypeRef, _ tables: SchemaTables) -> Bool {
    var (a, b) = (a, b)
    while true {
      if a.isNonNull != b.isNonNull || a.isList != b.isList { return true }
      if !a.isList { break }
      (a, b) = (a.item, b.item)
    }
    return a.named != b.named && (tables.kind(a.named).isLeaf || tables.kind(b.named).isLeaf)
  }

  private init(_ context: ValidationContext) {
    self.context = context
    tables = context.tables
    keys = FieldKeys(context)
  }

  private var isExhausted: Bool { work > 100_000 }

  private mutating func collect(_ owner: Int) -> Collected {
    if let known = collected[owner] { return known }
    var result = Collected()
    var known: Set<Int> = []
    var index = owner + 1
    while index < context.selections[owner].end {
      let selection = context.selections[index]
      switch selection.kind {
      case .field:
        if result.fields[selection.responseName] == nil { result.names.append(selection.responseName) }
        result.fields[selection.responseName, default: []].append(index)
        index = selection.end
      case .spread:
        if let fragment = selection.fragment, known.insert(fragment).inserted {
          result.fragments.append(fragment)
        }
        index = selection.end
      case .inlineFragment, .definition: index += 1
      }
    }
    collected[owner] = result
    return result
  }

  private mutating func conflicts(within owner: Int) -> [Conflict] {
    // Inline fragments are part of the selections around them.
    guard context.selections[owner].kind != .inlineFragment else { return [] }
    var conflicts: [Conflict] = []
    let own = collect(owner)
    for name in own.names {
      let fields = own.fields[name] ?? []
      for (index, first) in fields.enumerated() {
        for second in fields[(index + 1)...] {
          if isExhausted { return conflicts }
          if let conflict = compare(first, second, isExclusive: false) { conflicts.append(conflict) }
        }
      }
    }
    for (index, fragment) in own.fragments.enumerated() {
      compare(owner, fragment: fragment, isExclusive: false, &conflicts)
      for other in own.fragments[(index + 1)...] where !isExhausted {
        compare(fragments: fragment, other, isExclusive: false, &conflicts)
      }
    }
    return conflicts
  }

  /// The fields of an owner with those of a fragment, and of the fragments that it spreads.
  private mutating func compare(_ owner: Int, fragment: Int, isExclusive: Bool, _ conflicts: inout [Conflict]) {
    var pending = [fragment]
    while let fragment = pending.popLast() {
      work += 1
      if isExhausted { return }
      let pair = Pair(first: owner, second: fragment)
      if isCompared(comparedFieldsAndFragments[pair], isExclusive) { continue }
      comparedFieldsAndFragments[pair] = isExclusive
      let root = context.definitions[fragment].root
      guard root != owner else { continue }
      compareFields(owner, root, isExclusive: isExclusive, &conflicts)
      pending += collect(root).fragments.reversed()
    }
  }

  private mutating func compare(fragments a: Int, _ b: Int, isExclusive: Bool, _ conflicts: inout [Conflict]) {
    var pending = [(a, b)]
    while let (a, b) = pending.popLast() {
      work += 1
      if a == b || isExhausted { continue }
      let pair = Pair(first: min(a, b), second: max(a, b))
      if isCompared(comparedFragments[pair], isExclusive) { continue }
      comparedFragments[pair] = isExclusive
      let (first, second) = (context.definitions[a].root, context.definitions[b].root)
      compareFields(first, second, isExclusive: isExclusive, &conflicts)
      let next = collect(second).fragments.map { (a, $0) } + collect(first).fragments.map { ($0, b) }
      pending += next.reversed()
    }
  }

  /// What was compared although fields exclude each other need not be compared again if they do.
  private func isCompared(_ earlier: Bool?, _ isExclusive: Bool) -> Bool {
    earlier.map { isExclusive || !$0 } ?? false
  }

  private mutating func compareFields(_ a: Int, _ b: Int, isExclusive: Bool, _ conflicts: inout [Conflict]) {
    let (first, second) = (collect(a), collect(b))
    for name in first.names {
      guard let others = second.fields[name] else { continue }
      for field in first.fields[name] ?? [] {
        for other in others {
          if isExhausted { return }
          if let conflict = compare(field, other, isExclusive: isExclusive) { conflicts.append(conflict) }
        }
      }
    }
  }

  private mutating func compare(_ a: Int, _ b: Int, isExclusive: Bool) -> Conflict? {
    work += 1
    let isExclusive = isExclusive || neverMeet(a, b)
    if let reason = message(a, b, isExclusive: isExclusive) { return Conflict(reason: reason, first: [a], second: [b]) }
    guard context.selections[a].hasSelections, context.selections[b].hasSelections, depth < Self.deepest else {
      return nil
    }
    depth += 1
    defer { depth -= 1 }
    var conflicts: [Conflict] = []
    compareFields(a, b, isExclusive: isExclusive, &conflicts)
    let (first, second) = (collect(a).fragments, collect(b).fragments)
    for fragment in second { compare(a, fragment: fragment, isExclusive: isExclusive, &conflicts) }
    for fragment in first { compare(b, fragment: fragment, isExclusive: isExclusive, &conflicts) }
    for fragment in first where !isExhausted {
      for other in second where !isExhausted {
        compare(fragments: fragment, other, isExclusive: isExclusive, &conflicts)
      }
    }
    guard let inner = conflicts.first else { return nil }
    return Conflict(
      reason: "the fields selected of \"\(responseName(a))\" conflict: \(inner.reason)",
      first: [a] + conflicts.flatMap(\.first).prefix(20), second: [b] + conflicts.flatMap(\.second).prefix(20))
  }

  private func neverMeet(_ a: Int, _ b: Int) -> Bool {
    guard let first = context.selections[a].parentType, let second = context.selections[b].parentType else {
      return false
    }
    return first != second && tables.kind(first) == .object && tables.kind(second) == .object
  }

  private func responseName(_ selection: Int) -> String { context.text(context.selections[selection].responseName) }

  private mutating func message(_ a: Int, _ b: Int, isExclusive: Bool) -> String? {
    let name = responseName(a)
    if !isExclusive {
      let (first, second) = (context.selections[a].name, context.selections[b].name)
      if first != second {
        return
          "\"\(name)\" is both the field \"\(context.text(first))\" and \"\(context.text(second))\"; give one an alias"
      }
      if keys.argumentsDiffer(a, b) {
        return "\"\(name)\" is selected with different arguments; give one an alias"
      }
    }
    if keys.isStreamed(a) || keys.isStreamed(b) {
      return "\"\(name)\" is streamed, and cannot be merged with another field; give one an alias"
    }
    guard let first = context.selections[a].field, let second = context.selections[b].field else { return nil }
    let (type, other) = (tables.fields[first].type, tables.fields[second].type)
    guard Self.haveDifferentShapes(type, other, tables) else { return nil }
    return "\"\(name)\" is both \(tables.text(type)) and \(tables.text(other)); give one an alias"
  }
}
