import GraphQLLanguage
import GraphQLSchema

/// What a selection set selects: its fields with their definitions, and its fragments, each resolved once.
final class SelectionPlan {
  /// What `@include` or `@skip` asks of a variable.
  struct Condition: Hashable {
    let variable: String
    let value: Bool
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
  }

  enum Item {
    case field(FieldPlan)
    case fragment(FragmentPlan)
  }

  fileprivate(set) var items: [Item] = []

  /// Fields that the schema does not have, by their names in the response.
  fileprivate(set) var unknownKeys: Set<String> = []
}

extension SelectionPlan {
  /// The names of all fields in responses, of whatever type and under whatever condition.
  var keys: Set<String> {
    var keys = unknownKeys
    var visited: Set<ObjectIdentifier> = []
    collectKeys(into: &keys, &visited)
    return keys
  }

  private func collectKeys(into keys: inout Set<String>, _ visited: inout Set<ObjectIdentifier>) {
    guard visited.insert(ObjectIdentifier(self)).inserted else { return }
    keys.formUnion(unknownKeys)
    for item in items {
      switch item {
      case .field(let field): keys.insert(field.key)
      case .fragment(let fragment): fragment.selections.collectKeys(into: &keys, &visited)
      }
    }
  }
}

/// What an operation selects.
struct OperationPlan {
  let root: NamedType
  let selections: SelectionPlan
  let variables: [VariableDefinitionSyntax]
  /// The arguments in use that are deprecated.
  let deprecatedArguments: [(coordinate: String, argument: InputValue)]

  /// The plan of an operation; `nil` if the schema has no operations of its kind.
  init?(_ operation: OperationSyntax, in document: DocumentSyntax, _ schema: Schema) {
    guard let root = schema.rootType(of: operation.kind) else { return nil }
    self.root = root
    var compiler = PlanCompiler(document, schema)
    selections = compiler.compile(operation.selectionSet, on: root)
    variables = Array(operation.variables)
    deprecatedArguments = compiler.deprecatedArguments
  }
}

private struct PlanCompiler {
  private let schema: Schema
  private let fragments: [String: FragmentSyntax]
  /// The plans of fragments; one that is begun, but not finished, contains itself.
  private var plans: [String: SelectionPlan] = [:]
  private(set) var deprecatedArguments: [(coordinate: String, argument: InputValue)] = []

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
    for selection in set.selections {
      guard let conditions = conditions(of: selection.directives) else { continue }
      switch selection {
      case .field(let syntax):
        let (key, name) = (syntax.responseName.text, syntax.name.text)
        guard let field = type.selectableField(named: name) else {
          plan.unknownKeys.insert(key)
          continue
        }
        for argument in syntax.arguments.compactMap({ field.argument(named: $0.name.text) }) where argument.isDeprecated
        {
          deprecatedArguments.append(("\(field.coordinate)(\(argument.name):)", argument))
        }
        let selections = syntax.selectionSet.map { compile($0, on: field.type.named) }
        plan.items.append(
          .field(.init(key: key, name: name, field: field, conditions: conditions, selections: selections)))
      case .inlineFragment(let fragment):
        let condition = fragment.typeCondition.map { schema.type(named: $0.name.text) }
        // A type that does not exist is for the rules of documents.
        if case .some(nil) = condition { continue }
        let selections = compile(fragment.selectionSet, on: (condition ?? nil) ?? type)
        plan.items.append(.fragment(.init(type: condition ?? nil, conditions: conditions, selections: selections)))
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
        plan.items.append(.fragment(.init(type: on, conditions: conditions, selections: selections)))
      }
    }
  }

  /// The conditions that depend on variables; `nil` if a constant excludes the selection.
  private func conditions(of directives: SyntaxList<DirectiveSyntax>) -> [SelectionPlan.Condition]? {
    var conditions: [SelectionPlan.Condition] = []
    for directive in directives {
      let wanted = directive.name == "include" ? true : directive.name == "skip" ? false : nil
      guard let wanted, let value = directive.arguments.first(where: { $0.name == "if" })?.value.kind else { continue }
      switch value {
      case .boolean(let constant): if constant != wanted { return nil }
      case .variable(let name): conditions.append(.init(variable: name.text, value: wanted))
      default: continue
      }
    }
    return conditions
  }
}
