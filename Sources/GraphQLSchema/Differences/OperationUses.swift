import GraphQLLanguage

/// What of a schema an operation uses, as coordinates: the types that it selects on, reads or writes, and their fields,
/// arguments and directives. A variable may bring whatever its type can hold.
///
/// What a fragment and a type of input bring is found once, however many operations use them.
struct OperationUses {
  private let schema: Schema
  /// The coordinates that are asked for.
  private let wanted: Set<String>
  private let fragments: FragmentTable
  private var ofFragments: [Int: Set<String>] = [:]
  private var ofInputs: [String: Set<String>] = [:]
  /// How many selections, spreads and input fields were looked at: the work that was done.
  private(set) var steps = 0

  /// What is used in one place.
  private struct Uses {
    var coordinates: Set<String> = []
    /// The selections that were met, but not yet looked at: a list, since they may be nested in any depth.
    var pending: [(set: SelectionSetSyntax, type: NamedType)] = []
  }

  init(_ schema: Schema, _ documents: [DocumentSyntax], wanted: Set<String>) {
    self.schema = schema
    self.wanted = wanted
    fragments = FragmentTable(documents)
  }

  /// Those of the wanted coordinates that an operation uses.
  mutating func coordinates(of operation: OperationSyntax, in document: Int) -> Set<String> {
    var uses = Uses()
    add(operation.directives, to: &uses)
    for variable in operation.variables {
      if let type = schema.typeReference(variable.type)?.named { uses.coordinates.formUnion(ofInput(type)) }
      add(variable.directives, to: &uses)
    }
    if let root = schema.rootType(of: operation.kind) { uses.pending = [(operation.selectionSet, root)] }
    finish(&uses)
    for number in fragments.reached(from: operation.node, in: document) {
      steps += 1
      uses.coordinates.formUnion(ofFragment(number))
    }
    return uses.coordinates
  }

  /// What a fragment uses itself.
  private mutating func ofFragment(_ number: Int) -> Set<String> {
    if let known = ofFragments[number] { return known }
    let fragment = fragments.all[number].syntax
    var uses = Uses()
    add(fragment.directives, to: &uses)
    if let condition = schema.type(named: fragment.typeCondition.name.text) {
      uses.pending = [(fragment.selectionSet, condition)]
    }
    finish(&uses)
    ofFragments[number] = uses.coordinates
    return uses.coordinates
  }

  private mutating func finish(_ uses: inout Uses) {
    while let (set, type) = uses.pending.popLast() { add(set, on: type, to: &uses) }
    uses.coordinates.formIntersection(wanted)
  }

  private mutating func add(_ set: SelectionSetSyntax, on type: NamedType, to uses: inout Uses) {
    uses.coordinates.insert(type.name)
    for selection in set.selections {
      steps += 1
      add(selection.directives, to: &uses)
      switch selection {
      case .field(let syntax):
        guard let field = type.selectableField(named: syntax.name.text) else { continue }
        uses.coordinates.formUnion([field.coordinate, field.type.named.name])
        for argument in syntax.arguments {
          guard let definition = field.argument(named: argument.name.text) else { continue }
          uses.coordinates.insert("\(field.coordinate)(\(definition.name):)")
          add(argument.value, definition.type.named, to: &uses)
        }
        if let set = syntax.selectionSet { uses.pending.append((set, field.type.named)) }
      case .inlineFragment(let fragment):
        let condition = fragment.typeCondition.map { schema.type(named: $0.name.text) } ?? type
        if let condition { uses.pending.append((fragment.selectionSet, condition)) }
      case .fragmentSpread: break
      }
    }
  }

  private func add(_ directives: SyntaxList<DirectiveSyntax>, to uses: inout Uses) {
    for directive in directives {
      let name = directive.name.text
      uses.coordinates.insert("@" + name)
      for argument in directive.arguments {
        uses.coordinates.insert("@\(name)(\(argument.name):)")
        guard let type = schema.directive(named: name)?.argument(named: argument.name.text)?.type else { continue }
        add(argument.value, type.named, to: &uses)
      }
    }
  }

  /// A literal in the place of a type.
  private func add(_ value: ValueSyntax, _ type: NamedType, to uses: inout Uses) {
    var pending = [(value, type)]
    while let (value, type) = pending.popLast() {
      uses.coordinates.insert(type.name)
      switch value.kind {
      case .list(let elements): pending += elements.map { ($0, type) }
      case .object(let fields):
        for field in fields {
          guard let definition = type.inputField(named: field.name.text) else { continue }
          uses.coordinates.insert("\(type.name).\(definition.name)")
          pending.append((field.value, definition.type.named))
        }
      default: break
      }
    }
  }

  /// A type of input with all that it can hold.
  private mutating func ofInput(_ type: NamedType) -> Set<String> {
    if let known = ofInputs[type.name] { return known }
    var coordinates: Set<String> = [type.name]
    var visited = coordinates
    var pending = [type]
    while let type = pending.popLast() {
      for field in type.inputFields {
        steps += 1
        coordinates.formUnion(["\(type.name).\(field.name)", field.type.named.name])
        if visited.insert(field.type.named.name).inserted { pending.append(field.type.named) }
      }
    }
    coordinates.formIntersection(wanted)
    ofInputs[type.name] = coordinates
    return coordinates
  }
}
