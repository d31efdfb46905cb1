/// What a type that implements an interface must have (section 3.6, IsValidImplementation).
extension SchemaRules {
  mutating func checkInterfaces(_ id: TypeID) {
    let type = tables[id]
    let own = tables.interfaces(of: id)
    for interface in own { implementedBy[Int(interface.rawValue)] = id }
    // What an interface inherits is checked with that interface, and what fits the one fits the other, but for arguments
    // that are not required in the one: so the type is held only to those that it does not inherit, of which those with
    // the most interfaces are found first.
    let counts = own.map { ($0, tables.interfaces(of: $0).count) }
    for (interface, count) in counts.sorted(by: { $0.1 > $1.1 }) where inheritedBy[Int(interface.rawValue)] != id {
      for other in tables.interfaces(of: interface) where tables.interfaces(of: other).count < count {
        inheritedBy[Int(other.rawValue)] = id
      }
    }
    for interface in own where !isStopped && inheritedBy[Int(interface.rawValue)] != id {
      if interface == id {
        report("ImplementedInterfaces", "\"\(tables.name(id))\" cannot implement itself", at: type.source)
        continue
      }
      for other in tables.interfaces(of: interface) where implementedBy[Int(other.rawValue)] != id {
        let (name, otherName) = (tables.name(interface), tables.name(other))
        report(
          "ImplementedInterfaces",
          other == id
            ? "\"\(tables.name(id))\" and \"\(name)\" cannot implement each other"
            : "\"\(tables.name(id))\" must also implement \"\(otherName)\", as \"\(name)\" does", at: type.source)
      }
    }
    for interface in own where interface != id && inheritedBy[Int(interface.rawValue)] != id {
      for index in tables[interface].fields where !isStopped {
        checkImplementation(of: tables.fields[Int(index)], Int(index), by: id)
      }
    }
  }

  private func checkImplementation(
    of wanted: SchemaTables.FieldRecord, _ wantedIndex: Int, by id: TypeID
  ) {
    guard let index = tables.field(wanted.name, of: id) else {
      report(
        "ImplementedInterfaces", "\"\(tables.name(id))\" lacks the field \"\(coordinate(wanted))\"",
        at: tables[id].source, wanted.source)
      return
    }
    let field = tables.fields[index]
    let name = coordinate(field)
    if !tables.isSubtype(field.type, of: wanted.type) {
      report(
        "ImplementedInterfaces",
        "\"\(name)\" is \(tables.text(field.type)), but must be \(tables.text(wanted.type)) as in "
          + "\"\(tables.name(wanted.owner))\"", at: field.source, wanted.source)
    }
    if field.isDeprecated, !wanted.isDeprecated {
      report(
        "DeprecatedImplementations", "\"\(name)\" is deprecated, but \"\(coordinate(wanted))\" is not", .warning,
        at: field.source, wanted.source)
    }
    var newlyRequired: [SchemaTables.InputRecord] = []
    for wantedArgument in wanted.arguments.map({ tables.inputs[Int($0)] }) {
      let argumentName = tables.names[wantedArgument.name]
      guard let argument = tables.argument(wantedArgument.name, ofField: index) else {
        report(
          "ImplementedInterfaces", "\"\(name)\" lacks the argument \"\(argumentName)\" of \"\(coordinate(wanted))\"",
          at: field.source, wantedArgument.source)
        continue
      }
      let type = tables.inputs[argument].type
      if type != wantedArgument.type {
        report(
          "ImplementedInterfaces",
          "the argument \"\(argumentName)\" of \"\(name)\" is \(tables.text(type)), but must be "
            + "\(tables.text(wantedArgument.type)) as in \"\(tables.name(wanted.owner))\"",
          at: tables.inputs[argument].source, wantedArgument.source)
      }
      if type == wantedArgument.type, tables.inputs[argument].isRequired, !wantedArgument.isRequired {
        newlyRequired.append(tables.inputs[argument])
      }
    }
    let inherited =
      newlyRequired.isEmpty ? [] : tables.interfaces(of: wanted.owner).compactMap { tables.field(wanted.name, of: $0) }
    for argument in newlyRequired {
      if let lacking = inherited.first(where: { tables.argument(argument.name, ofField: $0) == nil }) {
        reportRequired(argument, of: name, lackingIn: tables.fields[lacking])
      }
    }
    for argument in field.arguments.map({ tables.inputs[Int($0)] })
    where argument.isRequired && tables.argument(argument.name, ofField: wantedIndex) == nil {
      reportRequired(argument, of: name, lackingIn: wanted)
    }
  }

  private func reportRequired(
    _ argument: SchemaTables.InputRecord, of field: String, lackingIn wanted: SchemaTables.FieldRecord
  ) {
    report(
      "ImplementedInterfaces",
      "the argument \"\(tables.names[argument.name])\" of \"\(field)\" cannot be required, as "
        + "\"\(coordinate(wanted))\" does not have it", at: argument.source, wanted.source)
  }
}
