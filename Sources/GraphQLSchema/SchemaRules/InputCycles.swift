import GraphQLLanguage

/// Input objects that could only be written without end (section 3.10): their fields, or their defaults, need themselves.
extension SchemaRules {
  func checkInputCycles() {
    let inputs = tables.types.indices.filter { tables.types[$0].kind == .inputObject }
    checkFinite(inputs)
    checkDefaults(inputs)
  }

  /// An input object is finite if all that it requires are; with `@oneOf`, if one of its fields is.
  private func checkFinite(_ inputs: [Int]) {
    var needs: [Int: [(field: SchemaTables.InputRecord, type: Int)]] = [:]
    var neededBy: [Int: [Int]] = [:]
    var missing: [Int: Int] = [:]
    var pending: [Int] = []
    for type in inputs {
      let record = tables.types[type]
      let fields = record.inputFields.map { tables.inputs[Int($0)] }
      let needed = fields.compactMap { field -> (field: SchemaTables.InputRecord, type: Int)? in
        let target = Int(field.type.named.rawValue)
        let isNeeded = record.isOneOf ? !field.type.isList : field.type.isNonNull && !field.type.nullable.isList
        return isNeeded && tables.types[target].kind == .inputObject ? (field, target) : nil
      }
      needs[type] = needed
      for need in needed { neededBy[need.type, default: []].append(type) }
      missing[type] = needed.count
      if record.isOneOf ? fields.isEmpty || needed.count < fields.count : needed.isEmpty { pending.append(type) }
    }
    var isFinite = Set(pending)
    while let type = pending.popLast() {
      for dependent in neededBy[type] ?? [] where !isFinite.contains(dependent) {
        missing[dependent, default: 0] -= 1
        if tables.types[dependent].isOneOf || missing[dependent] == 0 {
          isFinite.insert(dependent)
          pending.append(dependent)
        }
      }
    }
    for type in inputs where !isFinite.contains(type) && !isStopped {
      let names = (needs[type] ?? []).lazy.filter { !isFinite.contains($0.type) }.prefix(5).map {
        "\"\(tables.names[$0.field.name])\""
      }
      report(
        "InputCycles",
        "\"\(tables.names[tables.types[type].name])\" can never be written, as it would have to hold itself through "
          + names.joined(separator: ", "), at: tables.types[type].source)
    }
  }

  /// A default that is used where it is written itself would have no end.
  private func checkDefaults(_ inputs: [Int]) {
    var states: [Int32: Bool] = [:]
    for type in inputs {
      for field in tables.types[type].inputFields where tables.inputs[Int(field)].hasDefault && states[field] == nil {
        followDefault(of: field, &states)
      }
    }
  }

  /// Follows the defaults that a field's default brings with it, in depth, without recursion.
  private func followDefault(of start: Int32, _ states: inout [Int32: Bool]) {
    var path: [(field: Int32, next: [Int32])] = [(start, fieldsFilled(byDefaultOf: start))]
    // A field is true while it is on the path, and false later.
    states[start] = true
    while let last = path.indices.last {
      guard let field = path[last].next.popLast() else {
        states[path[last].field] = false
        path.removeLast()
        continue
      }
      switch states[field] {
      case false?: break
      case true?:
        let input = tables.inputs[Int(field)]
        report(
          "InputCycles", "the default of the field \"\(tables.names[input.name])\" needs itself", at: input.source)
      case nil:
        states[field] = true
        path.append((field, fieldsFilled(byDefaultOf: field)))
      }
    }
  }

  /// The fields whose defaults are used when a field's default is.
  private func fieldsFilled(byDefaultOf field: Int32) -> [Int32] {
    let input = tables.inputs[Int(field)]
    guard let value = InputValueDefinitionSyntax(tables.node(input.source))?.defaultValue else { return [] }
    var result: [Int32] = []
    var pending: [(SyntaxNode, TypeID)] = [(value.node, input.type.named)]
    while let (node, type) = pending.popLast() {
      if node.kind == .list { pending += node.children.map { ($0, type) } }
      guard node.kind == .object, tables.kind(type) == .inputObject else { continue }
      var given: [NameTable.ID: SyntaxNode] = [:]
      for field in node.children.lazy.compactMap({ ObjectFieldSyntax($0) }) {
        given[field.name.withBytes { tables.names.find($0) }] = field.value.node
      }
      for index in tables[type].inputFields {
        let field = tables.inputs[Int(index)]
        if let value = given[field.name] {
          pending.append((value, field.type.named))
        } else if field.hasDefault, tables.kind(field.type.named) == .inputObject {
          result.append(index)
        }
      }
    }
    return result
  }
}
