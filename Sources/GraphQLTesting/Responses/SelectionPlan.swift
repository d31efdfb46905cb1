import GraphQLLanguage
import GraphQLSchema

/// What a selection set selects: its fields with their definitions, and its fragments, each resolved once.
final class SelectionPlan {
  /// What a selection depends on.
  enum Condition: Hashable {
    /// What `@include` or `@skip` asks of a variable.
    case variable(String, is: Bool)
    /// That a fragment with `@defer` has arrived, by its place in the document.
    case arrival(String)
  }

  struct FieldPlan {
    /// The name in the response.
    let key: String
    /// The name in the schema.
    let name: String
    /// The field of the type that is selected on; objects of that type may define it more narrowly.
    let field: Field
    let conditions: [Condition]
    let selections: SelectionPlan?
  }

  struct FragmentPlan {
    let type: NamedType?
    let conditions: [Condition]
    let selections: SelectionPlan
    /// That of its `@defer`.
    var label: String?
  }

  enum Item {
    case field(FieldPlan)
    case fragment(FragmentPlan)
  }

  private(set) var items: [Item] = []

  private var knownKeys: Set<String>?
  private var knownFragments: [String: [FragmentPlan]]?

  /// How many selection sets are within one another here, this one included.
  private(set) var depth = 1

  /// Fields that the schema does not have, by their names in the response.
  fileprivate(set) var unknownKeys: Set<String> = []

  fileprivate func add(_ item: Item) {
    items.append(item)
    switch item {
    case .field(let field): depth = max(depth, 1 + (field.selections?.depth ?? 0))
    case .fragment(let fragment): depth = max(depth, 1 + fragment.selections.depth)
    }
  }
}

extension SelectionPlan {
  /// The names of all fields in responses, of whatever type and under whatever condition.
  var keys: Set<String> {
    if let knownKeys { return knownKeys }
    var keys: Set<String> = []
    for plan in withFragments {
      keys.formUnion(plan.unknownKeys)
      for case .field(let field) in plan.items { keys.insert(field.key) }
    }
    knownKeys = keys
    return keys
  }

  /// The deferred fragments with a label, also those inside of fragments.
  func deferred(_ label: String) -> [FragmentPlan] {
    if let knownFragments { return knownFragments[label] ?? [] }
    var fragments: [String: [FragmentPlan]] = [:]
    for plan in withFragments {
      for case .fragment(let fragment) in plan.items {
        if let label = fragment.label { fragments[label, default: []].append(fragment) }
      }
    }
    knownFragments = fragments
    return fragments[label] ?? []
  }

  /// Whether a field is selected that the schema does not have.
  var hasUnknownFields: Bool {
    var visited: Set<ObjectIdentifier> = []
    var pending = [self]
    while let plan = pending.popLast() {
      guard visited.insert(ObjectIdentifier(plan)).inserted else { continue }
      if !plan.unknownKeys.isEmpty { return true }
      for item in plan.items {
        switch item {
        case .field(let field): if let selections = field.selections { pending.append(selections) }
        case .fragment(let fragment): pending.append(fragment.selections)
        }
      }
    }
    return false
  }

  /// These selections and those of all fragments in them, each once, however often it is spread.
  var withFragments: [SelectionPlan] {
    var visited: Set<ObjectIdentifier> = []
    var result: [SelectionPlan] = []
    var pending = [self]
    while let plan = pending.popLast() {
      guard visited.insert(ObjectIdentifier(plan)).inserted else { continue }
      result.append(plan)
      for case .fragment(let fragment) in plan.items.reversed() { pending.append(fragment.selections) }
    }
    return result
  }
}

/// What an operation selects.
struct OperationPlan {
  let operationName: String?
  let root: NamedType
  let selections: SelectionPlan
  let variables: [VariableDefinitionSyntax]
  /// What the document uses in arguments although it is deprecated, with the reasons.
  let deprecations: [Deprecation]

  struct Deprecation {
    let coordinate: String
    let reason: String?

    var message: String { "\(coordinate) is deprecated" + (reason.map { ": \($0)" } ?? "") }
  }

  /// Why an operation has no plan.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// How many selection sets may be within one another, fragments included: whatever follows a plan recurses as deep.
  static let deepest = 100

  /// The plan of the operation of that name, or of the first one if there is no name.
  init(operation name: String?, in document: DocumentSyntax, _ schema: Schema) throws(Failure) {
    guard let operation = document.operations.first(where: { name == nil || $0.name?.text == name }) else {
      throw Failure(description: name.map { "has no operation named \"\($0)\"" } ?? "has no operation")
    }
    guard let root = schema.rootType(of: operation.kind) else {
      throw Failure(description: "is a \(operation.kind), and the schema has none")
    }
    operationName = operation.name?.text
    self.root = root
    var compiler = PlanCompiler(document, schema)
    selections = compiler.compile(operation.selectionSet, on: root)
    if compiler.isTooDeep {
      throw Failure(
        description:
          "has more than \(Self.deepest) selection sets within one another, fragments included: too many to check")
    }
    variables = Array(operation.variables)
    deprecations = compiler.deprecations
  }
}

private struct PlanCompiler {
  private let schema: Schema
  private let fragments: [String: FragmentSyntax]
  /// The plans of fragments; one that is begun, but not finished, contains itself.
  private var plans: [String: SelectionPlan] = [:]
  /// How many selection sets the current one is in.
  private var level = 0
  private(set) var isTooDeep = false
  private(set) var deprecations: [OperationPlan.Deprecation] = []

  init(_ document: DocumentSyntax, _ schema: Schema) {
    self.schema = schema
    fragments = Dictionary(document.fragments.map { ($0.name.text, $0) }, uniquingKeysWith: { first, _ in first })
  }

  mutating func compile(_ set: SelectionSetSyntax, on type: NamedType) -> SelectionPlan {
    let plan = SelectionPlan()
    fill(plan, set, on: type)
    return plan
  }

  private mutating func fill(_ plan: SelectionPlan, _ set: SelectionSetSyntax, on type: NamedType) {
    level += 1
    defer { level -= 1 }
    guard level <= OperationPlan.deepest else {
      isTooDeep = true
      return
    }
    for selection in set.selections {
      guard let conditions = conditions(of: selection.directives) else { continue }
      switch selection {
      case .field(let syntax):
        let (key, name) = (syntax.responseName.text, syntax.name.text)
        guard let field = type.selectableField(named: name) else {
          plan.unknownKeys.insert(key)
          continue
        }
        recordDeprecations(in: syntax.arguments, of: field)
        let selections = syntax.selectionSet.map { compile($0, on: field.type.named) }
        plan.add(.field(.init(key: key, name: name, field: field, conditions: conditions, selections: selections)))
      case .inlineFragment(let fragment):
        let condition = fragment.typeCondition.map { schema.type(named: $0.name.text) }
        // A type that does not exist is for the rules of documents.
        if case .some(nil) = condition { continue }
        let selections = compile(fragment.selectionSet, on: (condition ?? nil) ?? type)
        plan.add(
          .fragment(
            .init(
              type: condition ?? nil, conditions: conditions + arrival(of: fragment.directives, fragment.location),
              selections: selections, label: fragment.directives.deferLabel)))
      case .fragmentSpread(let spread):
        let name = spread.name.text
        guard let fragment = fragments[name], let on = schema.type(named: fragment.typeCondition.name.text) else {
          continue
        }
        if plans[name] == nil {
          let fragmentPlan = SelectionPlan()
          plans[name] = fragmentPlan
          fill(fragmentPlan, fragment.selectionSet, on: on)
        }
        guard let selections = plans[name] else { continue }
        // It may have been compiled where it was less deep.
        if level + selections.depth > OperationPlan.deepest { isTooDeep = true }
        plan.add(
          .fragment(
            .init(
              type: on, conditions: conditions + arrival(of: spread.directives, spread.location),
              selections: selections, label: spread.directives.deferLabel)))
      }
    }
  }

  private mutating func recordDeprecations(in arguments: SyntaxList<ArgumentSyntax>, of field: Field) {
    for syntax in arguments {
      guard let argument = field.argument(named: syntax.name.text) else { continue }
      if argument.isDeprecated { record("\(field.coordinate)(\(argument.name):)", argument.deprecationReason) }
      recordDeprecations(in: syntax.value, of: argument.type.named)
    }
  }

  private mutating func recordDeprecations(in value: ValueSyntax, of type: NamedType) {
    switch value.kind {
    case .list(let elements): for element in elements { recordDeprecations(in: element, of: type) }
    case .object(let fields):
      for syntax in fields {
        guard let field = type.inputField(named: syntax.name.text) else { continue }
        if field.isDeprecated { record("\(type.name).\(field.name)", field.deprecationReason) }
        recordDeprecations(in: syntax.value, of: field.type.named)
      }
    case .enumValue(let name):
      guard let value = type.value(named: name.text), value.isDeprecated else { return }
      record("\(type.name).\(value.name)", value.deprecationReason)
    default: break
    }
  }

  private mutating func record(_ coordinate: String, _ reason: String?) {
    deprecations.append(.init(coordinate: coordinate, reason: reason))
  }

  /// The conditions that depend on variables; `nil` if a constant excludes the selection.
  private func conditions(of directives: SyntaxList<DirectiveSyntax>) -> [SelectionPlan.Condition]? {
    var conditions: [SelectionPlan.Condition] = []
    for directive in directives {
      let wanted = directive.name == "include" ? true : directive.name == "skip" ? false : nil
      guard let wanted, let value = directive.arguments.first(where: { $0.name == "if" })?.value.kind else { continue }
      switch value {
      case .boolean(let constant): if constant != wanted { return nil }
      case .variable(let name): conditions.append(.variable(name.text, is: wanted))
      default: continue
      }
    }
    return conditions
  }
}

extension PlanCompiler {
  /// That a fragment with these directives may arrive later.
  private func arrival(
    of directives: SyntaxList<DirectiveSyntax>, _ location: SourceLocation
  ) -> [SelectionPlan.Condition] {
    guard let directive = directives.first(where: { $0.name == "defer" }) else { return [] }
    if case .boolean(false)? = directive.arguments.first(where: { $0.name == "if" })?.value.kind { return [] }
    return [.arrival("\(location)")]
  }
}

extension SyntaxList<DirectiveSyntax> {
  /// The label of a deferred fragment.
  fileprivate var deferLabel: String? {
    let label = first { $0.name == "defer" }?.arguments.first { $0.name == "label" }
    guard case .string(let text)? = label?.value.kind else { return nil }
    return text.value
  }
}
