import GraphQLLanguage

/// The rules about variables: `VariablesAreInputTypes`, `NoUndefinedVariables`, `NoUnusedVariables` and
/// `VariablesInAllowedPosition`.
extension ValidationContext {
  /// Returns the type of a variable, if it is known and one for input.
  func checkVariableType(_ variable: VariableDefinitionSyntax) -> TypeRef? {
    guard let type = type(variable.type.node) else {
      if TypeSyntax(variable.type.node).map({ self.type(named: $0.name) == nil }) ?? true {
        reportUnknownType(variable.type)
      }
      return nil
    }
    guard schema.storage.tables.kind(type.named).isInput else {
      report(
        .variablesAreInputTypes,
        "the variable \"$\(variable.name)\" cannot be of type \(tables.text(type)), as "
          + "\(tables.name(type.named)) is \(tables.kind(type.named).phrase)", at: variable.type.location)
      return nil
    }
    return type
  }

  private func type(named name: NameSyntax) -> TypeID? {
    schema.storage.tables.type(named: names.schemaID(of: name))
  }

  /// Checks each operation's variables against their uses in it and in all fragments that it reaches, and notes these.
  func checkVariables() {
    let (fragments, definitions, fragmentDefinitions) = (fragments, definitions, fragmentDefinitions)
    var work = 0
    var isReached = Array(repeating: false, count: definitions.count)
    defer {
      steps += work
      self.isReached = isReached
    }
    for (index, definition) in definitions.enumerated() where definition.operation != nil && !isStopped {
      let definedNames = OperationSyntax(definition.node)?.variables.map { $0 } ?? []
      var variables = OperationVariables(self, index, definedNames)
      variables.check(definition.variableUses)
      for number in fragments.reached(from: definition.spreads) {
        let fragment = fragmentDefinitions[number]
        isReached[fragment] = true
        work += 1 + fragments.all[number].spreads.count + definitions[fragment].variableUses.count
        variables.check(definitions[fragment].variableUses)
      }
      if work > Self.workLimit {
        return stop("the operations and fragments depend on each other too much to be checked")
      }
      variables.reportUnused()
    }
  }

  /// How many spreads and uses of variables are followed in all: operations that share fragments follow them again.
  private static var workLimit: Int { 1_000_000 }
}

/// The variables of one operation.
private struct OperationVariables {
  let context: ValidationContext
  let operation: Int
  let variables: [VariableDefinitionSyntax]
  /// For each variable, the number of its name.
  private var names: [Int] = []
  private let types: [TypeRef?]
  private var isUsed: [Bool]
  /// The variable with a name, for operations with many.
  private var byName: [Int: Int] = [:]

  init(_ context: ValidationContext, _ operation: Int, _ variables: [VariableDefinitionSyntax]) {
    self.context = context
    self.operation = operation
    self.variables = variables
    isUsed = Array(repeating: false, count: variables.count)
    types = variables.map { context.type($0.type.node) }
    names = variables.map { context.names.number($0.name) }
    // Of variables with one name the last counts, as in graphql-js.
    if variables.count > 8 { byName = Dictionary(zip(names, names.indices)) { $1 } }
  }

  mutating func check(_ uses: Range<Int>) {
    for index in uses {
      let use = context.variableUses[index]
      let variable = variables.count > 8 ? byName[use.name] : names.lastIndex(of: use.name)
      guard let variable else {
        guard context.isChecked(.noUndefinedVariables) else { continue }
        let name = context.text(use.name)
        context.report(
          .noUndefinedVariables,
          "the variable \"$\(name)\" is not defined" + suffix + "."
            + context.question(name, among: variables.map(\.name.text), prefix: "$"), at: use.node.location,
          context.definitions[operation].node.location)
        continue
      }
      isUsed[variable] = true
      checkPosition(of: use, variables[variable], types[variable])
    }
  }

  func reportUnused() {
    // Of variables with one name all count as used if one is.
    let used = Set(names.indices.lazy.filter { isUsed[$0] }.map { names[$0] })
    for (index, variable) in variables.enumerated()
    where !used.contains(names[index]) && context.isChecked(.noUnusedVariables) {
      context.report(
        .noUnusedVariables, "the variable \"$\(variable.name)\" is never used" + suffix, at: variable.location)
    }
  }

  private var suffix: String {
    let name = context.definitions[operation].name
    return name < 0 ? "" : " in the operation \"\(context.text(name))\""
  }

  /// `IsVariableUsageAllowed` of section 5.8.5.
  private func checkPosition(
    of use: ValidationContext.VariableUse, _ variable: VariableDefinitionSyntax, _ type: TypeRef?
  ) {
    guard let expected = use.type, let type else { return }
    let tables = context.tables
    var place = expected
    if expected.isNonNull && !type.isNonNull {
      let hasDefault = variable.defaultValue.map { $0.node.kind != .null } ?? false
      if hasDefault || use.hasDefault { place = expected.nullable }
    }
    if !tables.isSubtype(type, of: place) {
      context.report(
        .variablesInAllowedPosition,
        "the variable \"$\(variable.name)\" is \(tables.text(type)), which does not fit here: \(tables.text(expected)) "
          + "is expected", at: variable.location, use.node.location)
    }
    if let oneOf = use.oneOf, !type.isNonNull {
      context.report(
        .variablesInAllowedPosition,
        "the variable \"$\(variable.name)\" is \(tables.text(type)), but must not be null as the only field of "
          + tables.name(oneOf), at: variable.location, use.node.location)
    }
  }
}
