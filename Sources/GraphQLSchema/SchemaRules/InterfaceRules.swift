/// What a type that implements an interface must have (section 3.6, IsValidImplementation).
extension SchemaRules {
  mutating func checkInterfaces(_ id: TypeID) {
    let type = tables[id]
    let own = tables.interfaces(of: id)
    for interface in own {
      if interface == id {
        report("ImplementedInterfaces", "\"\(tables.name(id))\" cannot implement itself", at: type.source)
        continue
      }
      for inherited in tables.interfaces(of: interface) where !own.contains(inherited) {
        let (name, other) = (tables.name(interface), tables.name(inherited))
        report(
          "ImplementedInterfaces",
          inherited == id
            ? "\"\(tables.name(id))\" and \"\(name)\" cannot implement each other"
            : "\"\(tables.name(id))\" must also implement \"\(other)\", as \"\(name)\" does", at: type.source)
      }
      for index in tables[interface].fields { checkImplementation(of: tables.fields[Int(index)], Int(index), by: id) }
    }
  }

  private mutating func checkImplementation(
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
    }
    for argument in field.arguments.map({ tables.inputs[Int($0)] })
    where argument.isRequired && tables.argument(argument.name, ofField: wantedIndex) == nil {
      report(
        "ImplementedInterfaces",
        "the argument \"\(tables.names[argument.name])\" of \"\(name)\" cannot be required, as "
          + "\"\(coordinate(wanted))\" does not have it", at: argument.source, wanted.source)
    }
  }
}
