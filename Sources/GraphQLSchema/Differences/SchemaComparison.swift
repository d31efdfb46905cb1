import GraphQLLanguage

/// Compares two schemas, definition by definition.
struct SchemaComparison {
  let old: Schema
  let new: Schema
  private(set) var changes: [SchemaChange] = []
  /// How many elements were compared: the work that was done.
  private(set) var steps = 0

  init(old: Schema, new: Schema) {
    self.old = old
    self.new = new
  }

  mutating func run() {
    for kind in [OperationSyntax.Kind.query, .mutation, .subscription] { compareRoots(kind) }
    compare(old.types, new.types, name: \.name) { comparison, old, new in
      switch (old, new) {
      case (let old?, nil): comparison.add(.breaking, old.name, "the type \(old.name) is removed")
      case (nil, let new?): comparison.add(.safe, new.name, "the type \(new.name) is added")
      case (let old?, let new?): comparison.compare(old, new)
      case (nil, nil): break
      }
    }
    compare(old.directives, new.directives, name: \.name) { comparison, old, new in
      switch (old, new) {
      case (let old?, nil): comparison.add(.breaking, "@\(old.name)", "the directive @\(old.name) is removed")
      case (nil, let new?): comparison.add(.safe, "@\(new.name)", "the directive @\(new.name) is added")
      case (let old?, let new?): comparison.compare(old, new)
      case (nil, nil): break
      }
    }
  }

  /// Pairs what has the same name.
  private mutating func compare<Element>(
    _ old: [Element], _ new: [Element], name: (Element) -> String,
    _ body: (inout SchemaComparison, Element?, Element?) -> Void
  ) {
    steps += old.count + new.count
    var byName = Dictionary(new.map { (name($0), $0) }) { first, _ in first }
    for element in old { body(&self, element, byName.removeValue(forKey: name(element))) }
    for element in new where byName[name(element)] != nil { body(&self, nil, element) }
  }

  private mutating func add(
    _ impact: SchemaChange.Impact, _ coordinate: String, _ message: String, affectedUses: [String]? = nil
  ) {
    changes.append(
      SchemaChange(
        impact: impact, coordinate: coordinate, message: message, affectedUses: affectedUses ?? [coordinate]))
  }

  private mutating func compareDocumentation(_ old: String?, _ new: String?, _ coordinate: String) {
    if old != new { add(.safe, coordinate, "the description of \(coordinate) is changed", affectedUses: []) }
  }

  private mutating func compareDeprecation(_ old: String?, _ new: String?, _ coordinate: String) {
    guard old != new else { return }
    let what = new.map { old == nil ? "is deprecated: \($0)" : "is deprecated for another reason: \($0)" }
    add(.safe, coordinate, "\(coordinate) \(what ?? "is no longer deprecated")", affectedUses: [])
  }
}

// MARK: - Types

extension SchemaComparison {
  private mutating func compareRoots(_ kind: OperationSyntax.Kind) {
    let (before, after) = (old.rootType(of: kind)?.name, new.rootType(of: kind)?.name)
    guard let before, before != after else { return }
    let change = after.map { "is \($0), and no longer \(before)" } ?? "\(before) is removed"
    add(.breaking, before, "the root of \(kind.rawValue) operations \(change)")
  }

  private mutating func compare(_ old: NamedType, _ new: NamedType) {
    let name = old.name
    compareDocumentation(old.documentation, new.documentation, name)
    guard old.kind == new.kind else {
      return add(.breaking, name, "\(name) is \(new.kind.phrase), and no longer \(old.kind.phrase)")
    }
    switch old.kind {
    case .scalar: break
    case .object, .interface:
      compareInterfaces(old, new)
      compare(old.fields, new.fields, name: \.name) { comparison, old, new in
        switch (old, new) {
        case (let old?, nil): comparison.add(.breaking, old.coordinate, "the field \(old.coordinate) is removed")
        case (nil, let new?):
          comparison.add(.safe, new.coordinate, "the field \(new.coordinate) is added", affectedUses: [])
        case (let old?, let new?): comparison.compare(old, new)
        case (nil, nil): break
        }
      }
    case .union:
      compare(old.possibleTypes, new.possibleTypes, name: \.name) { comparison, old, new in
        if let old, new == nil {
          comparison.add(.breaking, name, "\(old.name) is removed from the union \(name)")
        } else if let new, old == nil {
          comparison.add(.dangerous, name, "\(new.name) is added to the union \(name)")
        }
      }
    case .enum: compareValues(old, new)
    case .inputObject: compareInputFields(old, new)
    }
  }

  private mutating func compareInterfaces(_ old: NamedType, _ new: NamedType) {
    compare(old.interfaces, new.interfaces, name: \.name) { comparison, interface, newInterface in
      if let interface, newInterface == nil {
        comparison.add(
          .breaking, old.name, "\(old.name) no longer implements \(interface.name)",
          affectedUses: [old.name, interface.name])
      } else if let newInterface, interface == nil {
        comparison.add(
          .dangerous, old.name, "\(old.name) implements \(newInterface.name)", affectedUses: [newInterface.name])
      }
    }
  }

  private mutating func compareValues(_ old: NamedType, _ new: NamedType) {
    let name = old.name
    compare(old.values, new.values, name: \.name) { comparison, old, new in
      switch (old, new) {
      case (let old?, nil):
        comparison.add(
          .breaking, "\(name).\(old.name)", "the value \(name).\(old.name) is removed", affectedUses: [name])
      case (nil, let new?):
        comparison.add(
          .dangerous, "\(name).\(new.name)", "the value \(name).\(new.name) is added", affectedUses: [name])
      case (let old?, let new?):
        comparison.compareDocumentation(old.documentation, new.documentation, "\(name).\(old.name)")
        comparison.compareDeprecation(old.deprecationReason, new.deprecationReason, "\(name).\(old.name)")
      case (nil, nil): break
      }
    }
  }

  private mutating func compareInputFields(_ old: NamedType, _ new: NamedType) {
    let name = old.name
    if !old.isOneOf, new.isOneOf { add(.breaking, name, "\(name) takes exactly one field (@oneOf)") }
    if old.isOneOf, !new.isOneOf { add(.safe, name, "\(name) takes any number of fields, no longer exactly one") }
    compare(old.inputFields, new.inputFields, name: \.name) { comparison, old, new in
      let coordinate = "\(name).\(old?.name ?? new?.name ?? "")"
      switch (old, new) {
      case (_?, nil): comparison.add(.breaking, coordinate, "the field \(coordinate) is removed")
      case (nil, let new?):
        comparison.add(
          new.isRequired ? .breaking : .dangerous, coordinate,
          "the \(new.isRequired ? "required" : "optional") field \(coordinate) is added", affectedUses: [name])
      case (let old?, let new?): comparison.compare(old, new, "the field \(coordinate)", coordinate, owner: name)
      case (nil, nil): break
      }
    }
  }
}

// MARK: - Fields, arguments and directives

extension SchemaComparison {
  private mutating func compare(_ old: Field, _ new: Field) {
    let coordinate = old.coordinate
    compareDocumentation(old.documentation, new.documentation, coordinate)
    compareDeprecation(old.deprecationReason, new.deprecationReason, coordinate)
    if old.type.description != new.type.description {
      add(
        Self.isOutputSafe(old.type, new.type) ? .safe : .breaking, coordinate,
        "the field \(coordinate) is \(new.type), and no longer \(old.type)")
    }
    compareArguments(old.arguments, new.arguments, of: coordinate, isDirective: false)
  }

  private mutating func compareArguments(
    _ old: [InputValue], _ new: [InputValue], of owner: String, isDirective: Bool
  ) {
    compare(old, new, name: \.name) { comparison, old, new in
      let coordinate = "\(owner)(\(old?.name ?? new?.name ?? ""):)"
      switch (old, new) {
      case (_?, nil): comparison.add(.breaking, coordinate, "the argument \(coordinate) is removed")
      case (nil, let new?):
        comparison.add(
          new.isRequired ? .breaking : isDirective ? .safe : .dangerous, coordinate,
          "the \(new.isRequired ? "required" : "optional") argument \(coordinate) is added", affectedUses: [owner])
      case (let old?, let new?): comparison.compare(old, new, "the argument \(coordinate)", coordinate, owner: owner)
      case (nil, nil): break
      }
    }
  }

  private mutating func compare(
    _ old: InputValue, _ new: InputValue, _ phrase: String, _ coordinate: String, owner: String
  ) {
    compareDocumentation(old.documentation, new.documentation, coordinate)
    compareDeprecation(old.deprecationReason, new.deprecationReason, coordinate)
    if old.type.description != new.type.description {
      let isSafe = Self.isInputSafe(old.type, new.type)
      // What becomes required breaks where it is not given.
      add(
        isSafe ? .safe : .breaking, coordinate, "\(phrase) is \(new.type), and no longer \(old.type)",
        affectedUses: !old.isRequired && new.isRequired ? [owner] : nil)
    }
    let (before, after) = (old.defaultValue?.printed(), new.defaultValue?.printed())
    guard before != after, !isSameDefault(old, new) else { return }
    switch (before, after) {
    case (let before?, nil):
      add(
        new.isRequired ? .breaking : .dangerous, coordinate,
        "\(phrase) loses its default \(before)" + (new.isRequired ? ", and becomes required" : ""),
        affectedUses: [owner]
      )
    case (let before?, let after?):
      add(
        .dangerous, coordinate, "the default of \(phrase) is \(after), and no longer \(before)", affectedUses: [owner])
    case (nil, let after?): add(.safe, coordinate, "\(phrase) has the default \(after)", affectedUses: [])
    case (nil, nil): break
    }
  }

  /// Whether defaults that are written otherwise are one value, such as `1` and `1.0`. What a scalar of the schema's own
  /// takes `A` and `"A"` for, only the server knows.
  private func isSameDefault(_ old: InputValue, _ new: InputValue) -> Bool {
    let type = old.type.named
    guard type.kind != .scalar || self.old.builtInTypes.contains(where: { $0.name == type.name }),
      let before = old.defaultValue, let after = new.defaultValue,
      let value = self.old.coerce(literal: before, to: old.type)
    else { return false }
    return value == self.new.coerce(literal: after, to: new.type)
  }

  private mutating func compare(_ old: DirectiveDefinition, _ new: DirectiveDefinition) {
    let coordinate = "@\(old.name)"
    compareDocumentation(old.documentation, new.documentation, coordinate)
    compareArguments(old.arguments, new.arguments, of: coordinate, isDirective: true)
    if old.isRepeatable, !new.isRepeatable { add(.breaking, coordinate, "\(coordinate) is no longer repeatable") }
    if !old.isRepeatable, new.isRepeatable { add(.safe, coordinate, "\(coordinate) is repeatable", affectedUses: []) }
    for location in old.locations where !new.locations.contains(location) {
      add(.breaking, coordinate, "\(coordinate) can no longer stand on \(location.rawValue)")
    }
    for location in new.locations where !old.locations.contains(location) {
      add(.safe, coordinate, "\(coordinate) can stand on \(location.rawValue)", affectedUses: [])
    }
  }

  /// Whether what was read as the old type can be read from the new one: nulls may vanish.
  private static func isOutputSafe(_ old: TypeReference, _ new: TypeReference) -> Bool {
    if old.isNonNull && !new.isNonNull { return false }
    guard let oldItem = old.item else { return new.item == nil && old.named.name == new.named.name }
    return new.item.map { isOutputSafe(oldItem, $0) } ?? false
  }

  /// Whether what was written for the old type can be written for the new one: nulls may be allowed.
  private static func isInputSafe(_ old: TypeReference, _ new: TypeReference) -> Bool {
    if !old.isNonNull && new.isNonNull { return false }
    guard let oldItem = old.item else { return new.item == nil && old.named.name == new.named.name }
    return new.item.map { isInputSafe(oldItem, $0) } ?? false
  }
}
