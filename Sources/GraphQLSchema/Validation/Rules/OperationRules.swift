import GraphQLLanguage

/// The rules that follow fragments: `SingleFieldSubscriptions` and `MaxIntrospectionDepth`.
extension ValidationContext {
  // MARK: SingleFieldSubscriptions

  func checkSingleField(_ definition: Definition) {
    guard definition.operation == .subscription, let type = definition.type, isChecked(.singleFieldSubscriptions) else {
      return
    }
    let name = definition.name < 0 ? "the subscription" : "the subscription \"\(text(definition.name))\""
    var conditions: [SyntaxNode] = []
    var fields: [Int] = []
    collectRootFields(definition, on: type, &fields, &conditions)
    if !conditions.isEmpty {
      report(
        .singleFieldSubscriptions, "\(name) cannot use @skip or @include on its root field",
        at: conditions.map(\.location))
      return
    }
    var groups: [[Int]] = []
    var places: [Int: Int] = [:]
    for field in fields {
      let response = selections[field].responseName
      if let place = places[response] {
        groups[place].append(field)
      } else {
        places[response] = groups.count
        groups.append([field])
      }
    }
    if fields.isEmpty, let set = OperationSyntax(definition.node)?.selectionSet {
      report(.singleFieldSubscriptions, "\(name) must select one field", at: set.location)
    } else if groups.count > 1 {
      report(
        .singleFieldSubscriptions, "\(name) must select only one field",
        at: groups.dropFirst().flatMap { $0 }.map { node(selections[$0].node).location })
    }
    for group in groups where text(selections[group[0]].name).hasPrefix("__") {
      report(
        .singleFieldSubscriptions, "\(name) cannot select a field of introspection",
        at: group.map { node(selections[$0].node).location })
    }
  }

  /// The fields that an operation selects on its root, also through fragments, and the `@skip` and `@include` there.
  private func collectRootFields(
    _ definition: Definition, on type: TypeID, _ fields: inout [Int], _ conditions: inout [SyntaxNode]
  ) {
    var visited: Set<Int> = []
    follow(definition.root, ()) { index, _ in
      let selection = selections[index]
      if let condition = condition(on: node(selection.node)) {
        conditions.append(condition)
        return nil
      }
      switch selection.kind {
      case .field, .definition:
        fields.append(index)
        return nil
      case .inlineFragment:
        let condition = InlineFragmentSyntax(node(selection.node))?.typeCondition
        return condition.map { applies($0, to: type) } ?? true ? () : nil
      case .spread:
        guard let fragment = selection.fragment, visited.insert(fragment).inserted,
          let syntax = FragmentSyntax(definitions[fragment].node)
        else { return nil }
        return applies(syntax.typeCondition, to: type) ? () : nil
      }
    }
  }

  private func condition(on node: SyntaxNode) -> SyntaxNode? {
    guard let directives = SelectionSyntax(node)?.directives, !directives.isEmpty else { return nil }
    return (directives.first { $0.name == "skip" } ?? directives.first { $0.name == "include" })?.node
  }

  private func applies(_ condition: TypeSyntax, to object: TypeID) -> Bool {
    guard let type = type(condition.node)?.named else { return false }
    return type == object || tables.kind(type).isAbstract && tables.isPossible(object, for: type)
  }

  // MARK: MaxIntrospectionDepth

  /// Lists of types, fields and arguments may follow each other twice below `__schema` or `__type`.
  func checkIntrospectionDepth() {
    // For each fragment, the greatest depth at which it was looked at and is not too deep.
    var depths: [Int: Int] = [:]
    var index = 0
    while index < selections.count, isChecked(.maxIntrospectionDepth) {
      let selection = selections[index]
      if selection.kind == .field {
        let name = names.schemaID(selection.name)
        if name == .schema || name == .type, exceedsIntrospectionDepth(index, &depths) {
          report(
            .maxIntrospectionDepth, "the introspection follows too many lists into each other",
            at: node(selection.node).location)
          index = selection.end
          continue
        }
      }
      index += 1
    }
  }

  private func exceedsIntrospectionDepth(_ root: Int, _ depths: inout [Int: Int]) -> Bool {
    struct TooDeep: Error {}
    // What was changed, and what it was.
    var changed: [(fragment: Int, depth: Int?)] = []
    do {
      try follow(root, 0) { (index, depth) throws(TooDeep) in
        let selection = selections[index]
        if let fragment = selection.fragment {
          guard depths[fragment] ?? -1 < depth else { return nil }
          changed.append((fragment, depths[fragment]))
          depths[fragment] = depth
        }
        guard selection.kind == .field else { return depth }
        switch names.schemaID(selection.name) {
        case .fields, .interfaces, .possibleTypes, .inputFields:
          if depth == 2 { throw TooDeep() }
          return depth + 1
        default: return depth
        }
      }
      return false
    } catch {
      for change in changed.reversed() { depths[change.fragment] = change.depth }
      return true
    }
  }
}
