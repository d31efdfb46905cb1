import GraphQLLanguage

/// The rules about `@defer` and `@stream`, as graphql-js has them: `DeferStreamDirectiveLabel`,
/// `StreamDirectiveOnListField`, `DeferStreamDirectiveOnRootField` and `DeferStreamDirectiveOnValidOperations`.
extension ValidationContext {
  /// - Parameters:
  ///   - field: The field on or in which the directive stands.
  ///   - parentType: The type that is selected on.
  func checkDeferOrStream(_ directive: DirectiveSyntax, on field: Int?, of parentType: TypeID?) {
    let name = names.schemaID(of: directive.name)
    guard name == .defer || name == .stream else { return }
    checkLabel(directive)
    if name == .stream, let field, parentType != nil, !schema.storage.tables.fields[field].type.isList {
      report(
        .streamDirectiveOnListField, "only lists can be streamed, and \(Field(schema, field).coordinate) is none",
        at: directive.location)
    }
  }

  private func checkLabel(_ directive: DirectiveSyntax) {
    guard let value = directive.arguments.first(where: { $0.name == "label" })?.value else { return }
    switch value.kind {
    case .null: return
    case .string(let text):
      if let first = labels.updateValue(directive, forKey: text.value) {
        labels[text.value] = first
        report(
          .deferStreamDirectiveLabel, "the label \"\(text.value)\" is used more than once", at: first.location,
          directive.location)
      }
    default:
      report(
        .deferStreamDirectiveLabel, "the label of \"@\(directive.name)\" must be a string", at: directive.location)
    }
  }

  func checkDeferAndStream() {
    guard names.contains(.defer) || names.contains(.stream) else { return }
    var roots = DeferStreamSearch(context: self, isRootOnly: true)
    var conditions = DeferStreamSearch(context: self, isRootOnly: false)
    for definition in definitions where definition.operation == .subscription || definition.operation == .mutation {
      if definition.type != nil { roots.search(definition) }
      if definition.operation == .subscription { conditions.search(definition) }
    }
  }
}

/// Looks for `@defer` and `@stream` where they are not allowed: on the root fields of an operation, or anywhere in one
/// without a condition that can turn them off.
private struct DeferStreamSearch {
  let context: ValidationContext
  let isRootOnly: Bool
  /// The fragments that were looked at for an earlier operation.
  private var checked: Set<Int> = []

  init(context: ValidationContext, isRootOnly: Bool) {
    self.context = context
    self.isRootOnly = isRootOnly
  }

  mutating func search(_ definition: ValidationContext.Definition) {
    let checked = checked
    var visited: Set<Int> = []
    var isValid = true
    // With each selection go the spreads through which the search came.
    context.follow(definition.root, [Int]()) { index, spreads in
      let selection = context.selections[index]
      guard let syntax = SelectionSyntax(context.node(selection.node)) else { return nil }
      if !isRootOnly, canBeSkipped(syntax) { return nil }
      // graphql-js looks only at the first spread of a fragment.
      if isRootOnly, selection.kind == .spread, selection.fragment.map(visited.contains) ?? true { return nil }
      if isForbidden(syntax, selection, definition, spreads) { isValid = false }
      switch selection.kind {
      case .field where isRootOnly: return nil
      case .spread:
        guard let fragment = selection.fragment, spreads.count < 100, visited.insert(fragment).inserted,
          !checked.contains(fragment)
        else { return nil }
        return isRootOnly ? [] : spreads + [index]
      default: return spreads
      }
    }
    if isValid { self.checked.formUnion(visited) }
  }

  private func isForbidden(
    _ syntax: SelectionSyntax, _ selection: ValidationContext.Selection,
    _ definition: ValidationContext.Definition, _ spreads: [Int]
  ) -> Bool {
    var isForbidden = false
    let kind = definition.operation?.rawValue ?? ""
    if isRootOnly {
      let wanted = selection.kind == .field ? "stream" : "defer"
      guard let directive = syntax.directives.first(where: { $0.name == wanted }) else { return false }
      context.report(
        .deferStreamDirectiveOnRootField, "the root fields of a \(kind) cannot use \"@\(wanted)\"",
        at: directive.location)
      return true
    }
    for directive in syntax.directives where directive.name == "defer" || directive.name == "stream" {
      if canBeTurnedOff(directive) { continue }
      isForbidden = true
      context.report(
        .deferStreamDirectiveOnValidOperations,
        "a subscription can use \"@\(directive.name)\" only with an argument \"if\" that can be false",
        at: [directive.location] + spreads.reversed().map { context.node(context.selections[$0].node).location })
    }
    return isForbidden
  }

  private func canBeTurnedOff(_ directive: DirectiveSyntax) -> Bool {
    switch directive.arguments.first(where: { $0.name == "if" })?.value.kind {
    case .boolean(let isOn): !isOn
    case .variable: true
    default: false
    }
  }

  private func canBeSkipped(_ syntax: SelectionSyntax) -> Bool {
    if let skip = syntax.directives.first(where: { $0.name == "skip" }) {
      guard case .boolean(let isSkipped)? = skip.arguments.first(where: { $0.name == "if" })?.value.kind else {
        return true
      }
      if isSkipped { return true }
    }
    guard let include = syntax.directives.first(where: { $0.name == "include" }),
      let condition = include.arguments.first(where: { $0.name == "if" })
    else { return false }
    if case .boolean(let isIncluded) = condition.value.kind { return !isIncluded }
    return true
  }
}
