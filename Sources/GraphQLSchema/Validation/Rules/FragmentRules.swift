import GraphQLLanguage

/// The rules about fragments: `KnownTypeNames`, `FragmentsOnCompositeTypes`, `KnownFragmentNames`,
/// `PossibleFragmentSpreads`, `NoFragmentCycles` and `NoUnusedFragments`.
extension ValidationContext {
  /// Returns the type that a fragment is on, if it is composite.
  func checkTypeCondition(_ condition: TypeSyntax, of fragment: NameSyntax?) -> TypeID? {
    guard let type = type(condition.node)?.named else {
      reportUnknownType(condition)
      return nil
    }
    guard schema.storage.tables.kind(type).isComposite else {
      let subject = fragment.map { "the fragment \"\($0)\"" } ?? "a fragment"
      report(
        .fragmentsOnCompositeTypes,
        "\(subject) cannot be on \(tables.name(type)), which is \(tables.kind(type).phrase)", at: condition.location)
      return nil
    }
    return type
  }

  func reportUnknownType(_ type: TypeSyntax) {
    var named = type.node
    while named.kind == .listType, let item = named.children.first { named = item }
    let name = type.name.text
    report(
      .knownTypeNames,
      "the schema has no type \"\(name)\"."
        + question(name, among: (schema.types + schema.builtInTypes).map(\.name)), at: named.location)
  }

  func checkSpread(_ spread: FragmentSpreadSyntax, of index: Int?, on parentType: TypeID?) {
    guard let index, let fragment = FragmentSyntax(definitions[index].node) else {
      report(
        .knownFragmentNames,
        "there is no fragment \"\(spread.name)\"."
          + question(spread.name.text, among: document.fragments.map(\.name.text)), at: spread.name.location)
      return
    }
    guard let parentType, let type = type(fragment.typeCondition.node)?.named, tables.kind(type).isComposite,
      !schema.storage.tables.overlap(type, parentType)
    else { return }
    report(
      .possibleFragmentSpreads,
      "the fragment \"\(spread.name)\" on \(tables.name(type)) never applies here, as no \(tables.name(parentType)) is one",
      at: spread.location)
  }

  func checkInlineFragment(_ fragment: InlineFragmentSyntax, _ type: TypeID, on parentType: TypeID) {
    guard !schema.storage.tables.overlap(type, parentType) else { return }
    report(
      .possibleFragmentSpreads,
      "the fragment on \(tables.name(type)) never applies here, as no \(tables.name(parentType)) is one",
      at: fragment.location)
  }

  /// Finds the cycles of fragments, and those that no operation reaches.
  func checkFragmentGraph() {
    guard definitions.contains(where: { $0.operation == nil }), !isStopped else { return }
    // Of fragments with one name all count as used if one is.
    for definition in definitions {
      guard let fragment = definition.counting, !isReached[fragment] else { continue }
      report(
        .noUnusedFragments, "the fragment \"\(text(definition.name))\" is never used", at: definition.node.location)
    }
    var search = CycleSearch(self)
    for index in definitions.indices where definitions[index].operation == nil && isChecked(.noFragmentCycles) {
      search.run(from: index)
    }
  }

  /// The spreads in a definition, as indices of selections: those of a selection set before those of the sets in it, and
  /// of these the last first. (It is the order in which graphql-js looks at them, and it decides which cycles it reports.)
  func spreads(of index: Int) -> [Int] {
    var result: [Int] = []
    var pending = [definitions[index].root]
    while let owner = pending.popLast() {
      var child = owner + 1
      while child < selections[owner].end {
        steps += 1
        if selections[child].kind == .spread {
          result.append(child)
        } else if selections[child].hasSelections {
          pending.append(child)
        }
        child = selections[child].end
      }
    }
    return result
  }
}

/// A search in depth for cycles of fragments, without recursion.
private struct CycleSearch {
  enum State {
    case new, onPath, done
  }

  let context: ValidationContext
  /// For each fragment; those of one name share that of the one that counts.
  private var states: [State]

  private struct Step {
    /// The fragment whose state it is.
    let fragment: Int
    let spreads: [Int]
    var next = 0
  }

  init(_ context: ValidationContext) {
    self.context = context
    states = Array(repeating: .new, count: context.definitions.count)
  }

  mutating func run(from start: Int) {
    guard let fragment = context.definitions[start].counting, states[fragment] == .new else { return }
    states[fragment] = .onPath
    var path = [Step(fragment: fragment, spreads: context.spreads(of: start))]
    while let last = path.indices.last, context.isChecked(.noFragmentCycles) {
      guard path[last].next < path[last].spreads.count else {
        states[path[last].fragment] = .done
        path.removeLast()
        continue
      }
      context.steps += 1
      let spread = path[last].spreads[path[last].next]
      path[last].next += 1
      guard let fragment = context.selections[spread].fragment else { continue }
      switch states[fragment] {
      case .done: break
      case .new:
        states[fragment] = .onPath
        path.append(Step(fragment: fragment, spreads: context.spreads(of: fragment)))
      case .onPath:
        let first = path.firstIndex { $0.fragment == fragment } ?? 0
        report(path[first...].map { $0.spreads[$0.next - 1] })
      }
    }
  }

  /// How many fragments of a cycle a message names, and of how many the places are given.
  private static let longestWay = 10
  private static let mostPlaces = 100

  private func report(_ cycle: [Int]) {
    let name = { (spread: Int) in "\"\(context.text(context.selections[spread].name))\"" }
    let way = cycle.dropLast().prefix(Self.longestWay).map(name).joined(separator: ", ")
    let rest = cycle.count > Self.longestWay + 1 ? " and others" : ""
    context.report(
      .noFragmentCycles,
      "the fragment \(cycle.last.map(name) ?? "") spreads itself" + (way.isEmpty ? "" : " through \(way)\(rest)"),
      at: cycle.prefix(Self.mostPlaces).map { context.node(context.selections[$0].node).location })
  }
}
