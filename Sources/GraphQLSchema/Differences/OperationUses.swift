import GraphQLLanguage

/// What of a schema an operation uses, as coordinates: the types that it selects on, reads or writes, and their fields,
/// arguments and directives. A variable may bring whatever its type can hold.
struct OperationUses {
  private let schema: Schema
  /// The fragments of all documents, and those of each.
  private let shared: [String: FragmentSyntax]
  private let own: [[String: FragmentSyntax]]
  private var document = 0
  private var coordinates: Set<String> = []
  private var visited: Set<String> = []
  /// The selections that were met, but not yet looked at: a list, since they may be nested in any depth.
  private var pending: [(set: SelectionSetSyntax, type: NamedType)] = []

  init(_ schema: Schema, _ documents: [DocumentSyntax]) {
    self.schema = schema
    own = documents.map { Dictionary($0.fragments.map { ($0.name.text, $0) }) { $1 } }
    shared = own.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
  }

  mutating func coordinates(of operation: OperationSyntax, in document: Int) -> Set<String> {
    self.document = document
    coordinates = []
    visited = []
    add(operation.directives)
    for variable in operation.variables {
      addInput(schema.typeReference(variable.type)?.named)
      add(variable.directives)
    }
    if let root = schema.rootType(of: operation.kind) { pending = [(operation.selectionSet, root)] }
    while let (set, type) = pending.popLast() { add(set, on: type) }
    return coordinates
  }

  private func fragment(_ name: String) -> FragmentSyntax? { own[document][name] ?? shared[name] }

  private mutating func add(_ set: SelectionSetSyntax, on type: NamedType) {
    coordinates.insert(type.name)
    for selection in set.selections {
      add(selection.directives)
      switch selection {
      case .field(let syntax):
        guard let field = type.selectableField(named: syntax.name.text) else { continue }
        coordinates.formUnion([field.coordinate, field.type.named.name])
        for argument in syntax.arguments {
          guard let definition = field.argument(named: argument.name.text) else { continue }
          coordinates.insert("\(field.coordinate)(\(definition.name):)")
          add(argument.value, definition.type.named)
        }
        if let set = syntax.selectionSet { pending.append((set, field.type.named)) }
      case .inlineFragment(let fragment):
        let condition = fragment.typeCondition.map { schema.type(named: $0.name.text) } ?? type
        if let condition { pending.append((fragment.selectionSet, condition)) }
      case .fragmentSpread(let spread):
        guard visited.insert(spread.name.text).inserted, let fragment = fragment(spread.name.text) else { continue }
        add(fragment.directives)
        if let condition = schema.type(named: fragment.typeCondition.name.text) {
          pending.append((fragment.selectionSet, condition))
        }
      }
    }
  }

  private mutating func add(_ directives: SyntaxList<DirectiveSyntax>) {
    for directive in directives {
      let name = directive.name.text
      coordinates.insert("@" + name)
      for argument in directive.arguments {
        coordinates.insert("@\(name)(\(argument.name):)")
        guard let type = schema.directive(named: name)?.argument(named: argument.name.text)?.type else { continue }
        add(argument.value, type.named)
      }
    }
  }

  /// A literal in the place of a type.
  private mutating func add(_ value: ValueSyntax, _ type: NamedType) {
    var pending = [(value, type)]
    while let (value, type) = pending.popLast() {
      coordinates.insert(type.name)
      switch value.kind {
      case .list(let elements): pending += elements.map { ($0, type) }
      case .object(let fields):
        for field in fields {
          guard let definition = type.inputField(named: field.name.text) else { continue }
          coordinates.insert("\(type.name).\(definition.name)")
          pending.append((field.value, definition.type.named))
        }
      default: break
      }
    }
  }

  /// A type of input with all that it can hold.
  private mutating func addInput(_ type: NamedType?) {
    var pending = [type].compactMap { $0 }
    while let type = pending.popLast() {
      guard visited.insert("input " + type.name).inserted else { continue }
      coordinates.insert(type.name)
      for field in type.inputFields {
        coordinates.insert("\(type.name).\(field.name)")
        pending.append(field.type.named)
      }
    }
  }
}
