import GraphQLLanguage

/// The rules about literals: `ValuesOfCorrectType` and `UniqueInputFieldNames`.
extension ValidationContext {
  /// Checks a literal against the type of its place. Variables in it are left to the rules about variables.
  func checkValue(_ node: SyntaxNode, _ type: TypeRef?) {
    guard let type else { return }
    // The values in it that are still to be checked.
    var pending: [(SyntaxNode, TypeRef)] = []
    check(node, type, &pending)
    while let (inner, type) = pending.popLast() { check(inner, type, &pending) }
  }

  private func check(_ node: SyntaxNode, _ type: TypeRef, _ pending: inout [(SyntaxNode, TypeRef)]) {
    switch node.kind {
    case .variable: return
    case .null:
      if type.isNonNull { reportValue("\(tables.text(type)) cannot be null", at: node) }
    case _ where type.isList:
      if node.kind == .list {
        pending += node.children.map { ($0, type.item) }
      } else {
        // One value stands for a list of it.
        pending.append((node, type.item))
      }
    case _ where schema.storage.tables.kind(type.named) == .inputObject:
      checkObject(node, type.named, &pending)
    default:
      checkLeafValue(node, type.named)
    }
  }

  private func checkObject(_ node: SyntaxNode, _ type: TypeID, _ pending: inout [(SyntaxNode, TypeRef)]) {
    guard node.kind == .object else {
      return reportValue("\(tables.name(type)) is an input object, and cannot be \(excerpt(node))", at: node)
    }
    let fields = node.children.compactMap { ObjectFieldSyntax($0) }
    var given: [Int: SyntaxNode] = [:]
    var known: [ObjectFieldSyntax] = []
    for field in fields {
      if let input = schema.storage.tables.inputField(names.schemaID(of: field.name), of: type) {
        given[input] = field.value.node
        known.append(field)
      } else {
        reportValue(
          "\(tables.name(type)) has no field \"\(field.name)\"."
            + question(field.name.text, among: NamedType(schema, type).inputFields.map(\.name)), at: field.node)
      }
    }
    for index in schema.storage.tables[type].inputFields {
      let input = schema.storage.tables.inputs[Int(index)]
      if let value = given[Int(index)] {
        pending.append((value, input.type))
      } else if input.isRequired {
        reportValue(
          "\(tables.name(type)) requires the field \"\(tables.names[input.name])\" of type \(tables.text(input.type))",
          at: node)
      }
    }
    if schema.storage.tables[type].isOneOf {
      let isNull = known.count == 1 && known[0].value.node.kind == .null
      if known.count != 1 || isNull {
        reportValue("\(tables.name(type)) takes exactly one field, which is not null", at: node)
      }
    }
  }

  private func checkLeafValue(_ node: SyntaxNode, _ type: TypeID) {
    let record = schema.storage.tables[type]
    if record.kind == .enum {
      guard case .enumValue(let name)? = ValueSyntax(node)?.kind else {
        return reportValue(
          "\(tables.name(type)) is an enum, and cannot be \(excerpt(node))."
            + (StringSyntax(node).map { valuesLike($0.value, type) } ?? ""), at: node)
      }
      if schema.storage.tables.value(names.schemaID(of: name), of: type) == nil {
        reportValue(
          "\(tables.name(type)) has no value \"\(name)\"." + valuesLike(name.text, type), at: node)
      }
    } else if !BuiltInScalar.accepts(node, as: record.name) {
      reportValue("\(tables.name(type)) cannot be \(excerpt(node))", at: node)
    }
  }

  private func valuesLike(_ name: String, _ type: TypeID) -> String {
    question(name, among: NamedType(schema, type).values.map(\.name))
  }

  /// A literal as it is written, cut to what fits a message.
  private func excerpt(_ node: SyntaxNode) -> String {
    let text = node.text
    return text.utf8.count > 80 ? text.prefix(60) + "…" : text
  }

  private func reportValue(_ message: @autoclosure () -> String, at node: SyntaxNode) {
    guard isChecked(.valuesOfCorrectType) else { return }
    report(.valuesOfCorrectType, message(), at: node.location)
  }

  func checkUniqueInputFields(_ object: SyntaxNode) {
    for places in names.repeated(object.children.lazy.compactMap { ObjectFieldSyntax($0)?.name }) {
      for other in places.dropFirst() {
        report(
          .uniqueInputFieldNames, "the field \"\(other)\" is given more than once", at: places[0].location,
          other.location)
      }
    }
  }
}
