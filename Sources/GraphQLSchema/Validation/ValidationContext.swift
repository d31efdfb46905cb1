import GraphQLLanguage

/// What the rules know about a document: the schema, its names, its definitions, and what each selects.
///
/// One walk (`ValidationWalk.swift`) checks what can be seen in one place, and notes the selections and the uses of
/// variables; the rules that follow fragments work on these notes.
final class ValidationContext {
  let schema: Schema
  let document: DocumentSyntax

  /// All operations and fragments, in order.
  var definitions: [Definition] = []
  /// All selections, in order; a definition comes before its selections, as if it were one.
  var selections: [Selection] = []
  /// All uses of variables, in order.
  var variableUses: [VariableUse] = []
  /// The first directive with each label of `@defer` and `@stream`.
  var labels: [String: DirectiveSyntax] = [:]
  let fragments: FragmentTable
  /// For each fragment the index of its definition.
  private(set) var fragmentDefinitions: [Int] = []
  /// For each definition, whether it is a fragment that an operation uses.
  var isReached: [Bool] = []
  /// The spreads of the definition that is being walked which the walk has not met.
  var spreads: ArraySlice<FragmentTable.Spread> = []

  var names: DocumentNames
  private let rules: Set<ValidationRule>?
  private let limit: Int
  private var errors: [(offset: Int, error: ValidationError)] = []
  private var questions = 0
  /// How many selections, spreads, uses of variables and merged fields were looked at: the work that was done.
  var steps = 0

  /// An operation or a fragment.
  struct Definition {
    let node: SyntaxNode
    /// The number of its name, or -1.
    let name: Int
    /// What kind of operation it is; `nil` for a fragment.
    let operation: OperationSyntax.Kind?
    /// The fragments that it spreads, in order.
    let spreads: [FragmentTable.Spread]
    /// For a fragment, the index of the definition of its name that counts.
    var counting: Int?
    /// The type that it selects on, if that is known and composite.
    var type: TypeID?
    /// The entry among the selections that stands for it.
    var root = 0
    /// Its own uses of variables.
    var variableUses = 0..<0
  }

  /// An entry in the list of selections. Its own selections follow it, up to `end`.
  struct Selection {
    enum Kind: UInt8 {
      case definition, field, spread, inlineFragment
    }

    let kind: Kind
    /// The number of the node in the document.
    let node: UInt32
    /// The number of the name of a field or fragment.
    var name = -1
    /// The number of a field's name in the response.
    var responseName = -1
    /// The index of the definition of a fragment that is spread, if there is one.
    var fragment: Int?
    /// The type that it is selected on, if that is known.
    var parentType: TypeID?
    /// The field in the schema, if there is one.
    var field: Int?
    /// The index after the last of its own selections.
    var end = 0
    /// Whether a field has arguments.
    var hasArguments = false
    var hasSelections = false
  }

  /// A variable that is used as a value.
  struct VariableUse {
    /// The number of its name.
    let name: Int
    let node: SyntaxNode
    /// The type of its place, if that is known.
    let type: TypeRef?
    /// Whether the place has a default.
    let hasDefault: Bool
    /// The input object of which the place is a field, if that takes exactly one field.
    let oneOf: TypeID?
  }

  init(_ schema: Schema, _ document: DocumentSyntax, rules: Set<ValidationRule>?, limit: Int) {
    self.schema = schema
    self.document = document
    fragments = FragmentTable(document)
    self.rules = rules
    self.limit = limit
    names = DocumentNames(schema.tables.names)
  }

  func validate() {
    collectDefinitions()
    checkDefinitions()
    for index in definitions.indices where !isStopped { walk(index) }
    checkVariables()
    checkFragmentGraph()
    for definition in definitions { checkSingleField(definition) }
    checkDeferAndStream()
    checkIntrospectionDepth()
    if isChecked(.overlappingFieldsCanBeMerged) { OverlappingFields.check(self) }
  }

  private func collectDefinitions() {
    for definition in document.definitions {
      switch definition {
      case .operation(let operation):
        definitions.append(
          Definition(
            node: operation.node, name: operation.name.map { names.number($0) } ?? -1, operation: operation.kind,
            spreads: fragments.spreads(in: operation.node)))
      case .fragment(let fragment):
        fragmentDefinitions.append(definitions.count)
        definitions.append(
          Definition(
            node: fragment.node, name: names.number(fragment.name), operation: nil,
            spreads: fragments.all[fragmentDefinitions.count - 1].spreads))
      default:
        report(
          .executableDefinitions, "this definition belongs to a schema, and cannot be executed",
          at: definition.node.location)
      }
    }
    for (index, fragment) in zip(fragmentDefinitions, fragments.all) {
      definitions[index].counting = fragments.fragment(named: fragment.syntax.name).map { fragmentDefinitions[$0] }
    }
  }
}

extension ValidationContext {
  var tables: SchemaTables { schema.storage.tables }

  /// Visits the selections of an owner in order, and in them as far as the closure says, also into fragments.
  /// - Parameters:
  ///   - owner: The index of a selection or a definition's entry.
  ///   - state: What its selections are visited with.
  ///   - visit: Takes the index of a selection; returns what its own selections, or those of the fragment that it spreads, are
  ///     visited with, or `nil` to leave them out.
  func follow<State, Failure: Error>(
    _ owner: Int, _ state: State, _ visit: (Int, State) throws(Failure) -> State?
  ) throws(Failure) {
    var open = [(index: owner + 1, end: selections[owner].end, state: state)]
    while let (index, end, state) = open.last {
      guard index < end else {
        open.removeLast()
        continue
      }
      steps += 1
      open[open.count - 1].index = selections[index].end
      guard let inner = try visit(index, state) else { continue }
      let owner = selections[index].fragment.map { definitions[$0].root } ?? index
      open.append((owner + 1, selections[owner].end, inner))
    }
  }

  /// The text of the name with a number.
  func text(_ name: Int) -> String { names.text(name) }

  func node(_ id: UInt32) -> SyntaxNode { document.node(id) }

  /// The type that is written in a node, if the schema has its named type.
  func type(_ node: SyntaxNode) -> TypeRef? {
    tables.type(node) { names.schemaID(of: $0) }
  }

  /// ` Did you mean …?` with the names most like one that is unknown; nothing, once there were many such questions. It is
  /// asked only for what is reported.
  func question(_ name: String, among names: [String], prefix: String = "") -> String {
    guard questions < Self.mostQuestions else { return "" }
    questions += 1
    return Suggestions.question(Suggestions.nearest(to: name, among: names).prefix(5).map { prefix + $0 })
  }

  private static var mostQuestions: Int { 20 }
}

// MARK: - Errors

extension ValidationContext {
  func isChecked(_ rule: ValidationRule) -> Bool { !isStopped && rules?.contains(rule) ?? true }

  /// Whether there are so many errors that there is no use in more.
  var isStopped: Bool { errors.count > limit }

  func report(_ rule: ValidationRule, _ message: @autoclosure () -> String, at locations: SourceLocation...) {
    report(rule, message(), at: locations)
  }

  func report(_ rule: ValidationRule, _ message: @autoclosure () -> String, at locations: [SourceLocation]) {
    guard isChecked(rule) else { return }
    if errors.count == limit {
      stop("there are more than \(limit) errors; the others are not listed")
    } else {
      errors.append((errors.count, ValidationError(rule: rule, message: message(), locations: locations)))
    }
  }

  /// Ends the validation with an error without a rule.
  func stop(_ message: String) {
    guard !isStopped else { return }
    let error = ValidationError(rule: nil, message: message, locations: [])
    errors += repeatElement((offset: Int.max, error: error), count: limit + 1 - errors.count)
  }

  /// The errors in the order of their places, and one without a rule at the end.
  var sortedErrors: [ValidationError] {
    let reported = errors.filter { $0.offset != .max }
    let sorted = reported.sorted { a, b in
      guard let first = a.error.locations.first, let second = b.error.locations.first, first != second else {
        return a.offset < b.offset
      }
      return first < second
    }
    return sorted.map(\.error) + (errors.last.map { $0.offset == .max ? [$0.error] : [] } ?? [])
  }
}

/// The names of a document, numbered from 0, and what they are in the schema.
struct DocumentNames {
  private let schemaNames: NameTable
  private var table = NameTable()
  private var schemaIDs: [NameTable.ID] = []
  /// For each name, the last round in which it was seen.
  private var rounds: [Int32] = []
  private var round: Int32 = 0

  init(_ schemaNames: NameTable) {
    self.schemaNames = schemaNames
  }

  var count: Int { table.count }

  mutating func number(_ name: NameSyntax) -> Int {
    name.withBytes { bytes in
      let number = Int(table.insert(bytes).rawValue)
      if number == schemaIDs.count {
        schemaIDs.append(schemaNames.find(bytes))
        rounds.append(0)
      }
      return number
    }
  }

  /// Whether a name of the schema occurs in the document.
  func contains(_ id: NameTable.ID) -> Bool { schemaIDs.contains(id) }

  mutating func schemaID(of name: NameSyntax) -> NameTable.ID { schemaIDs[number(name)] }

  func schemaID(_ number: Int) -> NameTable.ID { schemaIDs[number] }

  func text(_ number: Int) -> String { table[NameTable.ID(rawValue: UInt32(number))] }

  /// The names among these that occur several times: each with its places, in order.
  mutating func repeated(_ names: some Sequence<NameSyntax>) -> [[NameSyntax]] {
    round += 1
    var isRepeated = false
    for name in names {
      let number = number(name)
      if rounds[number] == round { isRepeated = true }
      rounds[number] = round
    }
    guard isRepeated else { return [] }
    var places: [Int: Int] = [:]
    var groups: [[NameSyntax]] = []
    for name in names {
      let number = number(name)
      if let index = places[number] {
        groups[index].append(name)
      } else {
        places[number] = groups.count
        groups.append([name])
      }
    }
    return groups.filter { $0.count > 1 }
  }
}
