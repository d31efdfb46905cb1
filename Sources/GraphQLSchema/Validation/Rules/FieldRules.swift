import GraphQLLanguage

/// The rules about one field: `FieldsOnCorrectType` and `ScalarLeafs`.
extension ValidationContext {
  func reportUnknownField(_ field: FieldSyntax, on type: TypeID) {
    guard isChecked(.fieldsOnCorrectType) else { return }
    let name = field.name.text
    report(
      .fieldsOnCorrectType, "\(tables.name(type)) has no field \"\(name)\"." + hint(field.name, on: type),
      at: field.location)
  }

  private func hint(_ field: NameSyntax, on type: TypeID) -> String {
    let types = typesWithField(field, among: type)
    return types.isEmpty
      ? question(field.text, among: NamedType(schema, type).fields.map(\.name))
      : Suggestions.question(types, after: "to use an inline fragment on ")
  }

  /// The possible types of an abstract type that have a field, and their interfaces that have it: those that most of
  /// them share come first.
  private func typesWithField(_ field: NameSyntax, among type: TypeID) -> [String] {
    let tables = tables
    guard tables.kind(type).isAbstract else { return [] }
    let name = names.schemaID(of: field)
    var counts: [TypeID: Int] = [:]
    for object in tables.possibleTypes(of: type) where tables.field(name, of: object) != nil {
      counts[object] = 1
      for interface in tables.interfaces(of: object) where tables.field(name, of: interface) != nil {
        counts[interface, default: 0] += 1
      }
    }
    // What is implemented stands before what implements it.
    let sorted = counts.sorted { a, b in
      if a.value != b.value { return a.value > b.value }
      let (first, second) = (tables.interfaces(of: a.key).count, tables.interfaces(of: b.key).count)
      let isObject = (tables.kind(a.key) == .object, tables.kind(b.key) == .object)
      if isObject.0 != isObject.1 { return isObject.1 }
      return first != second && !isObject.0 ? first < second : tables.name(a.key) < tables.name(b.key)
    }
    return sorted.map { tables.name($0.key) }
  }

  func checkLeaf(_ field: FieldSyntax, _ type: TypeRef, _ selectionSet: SelectionSetSyntax?) {
    let isLeaf = schema.storage.tables.kind(type.named).isLeaf
    if isLeaf, let selectionSet {
      report(
        .scalarLeafs, "\"\(field.name)\" is \(tables.text(type)), which has no fields to select",
        at: selectionSet.location)
    } else if !isLeaf, selectionSet == nil {
      report(
        .scalarLeafs,
        "\"\(field.name)\" is \(tables.text(type)), of which fields must be selected: \(field.name) { … }",
        at: field.location)
    }
  }
}
