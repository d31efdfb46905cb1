import GraphQLLanguage
import StrictJSON

/// Where an operation has fragments with labels, so that each is decoded by itself; see ``Deferred``.
struct IncrementalPlan: Hashable, Sendable {
  /// What is selected of an object.
  struct Selections: Hashable, Sendable {
    /// The fields by their names in the response.
    var fields: [String: Selections] = [:]
    /// The fields that are there whatever the object's type and the variables are.
    var required: Set<String> = []
    /// The deferred fragments by their labels.
    var fragments: [String: Selections] = [:]
    /// Whether there are deferred fragments with labels here or further inside.
    fileprivate(set) var hasFragments = false
  }

  /// What the operation selects.
  private(set) var selections = Selections()

  /// Why the operation cannot be sent.
  private(set) var problem: String?

  /// The plan of an operation without deferred fragments.
  init() {}

  /// The plan of an operation; `nil` for one without `@defer` and `@stream`.
  init?(of operation: OperationSyntax, in document: DocumentSyntax) {
    var compiler = Compiler(document)
    compiler.add(operation.selectionSet, to: &selections)
    guard compiler.isIncremental else { return nil }
    problem = compiler.problem
    selections.findFragments(&problem)
  }
}

extension IncrementalPlan.Selections {
  /// Whether an object has all of a fragment's fields. Of lists, the first element that is an object tells.
  func isContained(in members: [String: JSONValue]) -> Bool {
    required.allSatisfy { key in
      guard let value = members[key] else { return false }
      guard let selections = fields[key], let members = value.firstObject else { return true }
      return selections.isContained(in: members)
    }
  }

  /// The names of the fields of the object itself, those of its fragments included.
  private var names: Set<String> {
    fragments.values.reduce(into: Set(fields.keys)) { $0.formUnion($1.names) }
  }

  /// Notes where fragments are; a label must not be the name of a field beside it.
  fileprivate mutating func findFragments(_ problem: inout String?) {
    let names = names
    for label in fragments.keys.sorted() {
      if names.contains(label) {
        problem = problem ?? "The label '\(label)' is also the name of a field beside it: choose another label."
      }
      fragments[label]?.findFragments(&problem)
    }
    hasFragments = !fragments.isEmpty
    for key in fields.keys {
      fields[key]?.findFragments(&problem)
      if fields[key]?.hasFragments == true { hasFragments = true }
    }
  }
}

/// Follows the selections of an operation into its fragments.
private struct Compiler {
  private static let depthLimit = 100
  private static let fieldLimit = 20_000

  private(set) var isIncremental = false
  private(set) var problem: String?
  private let fragments: [String: FragmentSyntax]
  private var spreads: Set<String> = []
  private var depth = 0
  private var count = 0

  init(_ document: DocumentSyntax) {
    fragments = Dictionary(document.fragments.map { ($0.name.text, $0) }) { first, _ in first }
  }

  /// Adds a set's selections; `isConditional` if they do not hold for every object.
  mutating func add(
    _ set: SelectionSetSyntax, to selections: inout IncrementalPlan.Selections, isConditional: Bool = false
  ) {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.depthLimit, count <= Self.fieldLimit else {
      problem =
        "The operation has more than \(Self.depthLimit) selection sets within one another, or more than "
        + "\(Self.fieldLimit) fields: too many for '@defer'."
      return
    }
    for selection in set.selections {
      let directives = selection.directives
      let isConditional = isConditional || directives.contains { $0.name == "skip" || $0.name == "include" }
      switch selection {
      case .field(let field):
        count += 1
        if directives.contains(where: { $0.name == "stream" }) { isIncremental = true }
        let key = field.responseName.text
        if !isConditional { selections.required.insert(key) }
        var inner = selections.fields[key] ?? IncrementalPlan.Selections()
        if let set = field.selectionSet { add(set, to: &inner, isConditional: isConditional) }
        selections.fields[key] = inner
      case .inlineFragment(let fragment):
        add(
          fragment.selectionSet, directives, to: &selections,
          isConditional: isConditional || fragment.typeCondition != nil)
      case .fragmentSpread(let spread):
        let name = spread.name.text
        guard let fragment = fragments[name], spreads.insert(name).inserted else { continue }
        add(fragment.selectionSet, directives, to: &selections, isConditional: true)
        spreads.remove(name)
      }
    }
  }

  private mutating func add(
    _ set: SelectionSetSyntax, _ directives: SyntaxList<DirectiveSyntax>,
    to selections: inout IncrementalPlan.Selections, isConditional: Bool
  ) {
    guard let directive = directives.first(where: { $0.name == "defer" }) else {
      return add(set, to: &selections, isConditional: isConditional)
    }
    isIncremental = true
    guard case .string(let label)? = directive.arguments.first(where: { $0.name == "label" })?.value.kind else {
      return add(set, to: &selections, isConditional: true)
    }
    // The type condition is the fragment's own: what it selects is there if it is.
    var inner = selections.fragments[label.value] ?? IncrementalPlan.Selections()
    add(set, to: &inner)
    selections.fragments[label.value] = inner
  }
}

extension JSONValue {
  /// The object itself, or the first one in a list.
  fileprivate var firstObject: [String: JSONValue]? {
    switch self {
    case .object(let members): members
    case .array(let elements): elements.lazy.compactMap(\.firstObject).first
    default: nil
    }
  }
}
