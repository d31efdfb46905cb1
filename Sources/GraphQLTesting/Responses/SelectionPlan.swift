import GraphQLLanguage
import GraphQLSchema

/// What an operation selects, with the definitions of a schema.
final class OperationPlan {
  let operationName: String?
  let root: NamedType
  let variables: [VariableDefinitionSyntax]
  /// What the document uses in arguments although it is deprecated, with the reasons, in the order of the document.
  let deprecations: [Deprecation]
  /// The selections without the schema.
  let resolved: Selections
  /// For each set how many are within one another in it.
  fileprivate let depths: [Int]
  private let definitions: Definitions
  fileprivate var summaries: [[Int]: SelectionPlan.Summary] = [:]

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
    variables = Array(operation.variables)
    resolved = Selections(of: operation, FragmentTable(document))
    do {
      depths = try resolved.depths(upTo: Self.deepest)
    } catch {
      throw Failure(description: "\(error): too many to check")
    }
    var definitions = Definitions(resolved, schema)
    definitions.find(from: root)
    self.definitions = definitions
    deprecations = definitions.deprecations.sorted { $0.place < $1.place }.map(\.deprecation)
  }

  /// What is selected of the data as a whole.
  var selections: SelectionPlan { SelectionPlan(operation: self, sets: [0]) }

  /// Whether a field is selected that the schema does not have.
  var hasUnknownFields: Bool { definitions.hasUnknownFields }

  /// The field of the type that is selected on; objects of that type may define it more narrowly.
  func field(_ field: Selections.Field) -> Field? { definitions.fields[field.number] }

  /// Whether a fragment applies to an object. One on a type that does not exist is for the rules of documents.
  func applies(_ fragment: Selections.Fragment, to type: ConcreteType) -> Bool {
    guard fragment.type != nil else { return true }
    return definitions.types[fragment.set].map(type.isOf) ?? false
  }

  /// Whether the type that a fragment is on exists.
  fileprivate func isKnown(_ fragment: Selections.Fragment) -> Bool { definitions.types[fragment.set] != nil }
}

/// What is selected of an object: the sets of an operation that are merged in it.
struct SelectionPlan {
  let operation: OperationPlan
  let sets: [Int]

  /// What is selected of whatever type and under whatever condition.
  fileprivate struct Summary {
    var keys: Set<String> = []
    var unknownKeys: Set<String> = []
    var deferred: [String: [Selections.Fragment]] = [:]
  }

  /// The names of all fields in responses, of whatever type and under whatever condition.
  var keys: Set<String> { summary.keys }

  /// The names of fields in responses that the schema does not have.
  var unknownKeys: Set<String> { summary.unknownKeys }

  /// The deferred fragments with a label, also those inside of fragments.
  func deferred(_ label: String) -> [Selections.Fragment] { summary.deferred[label] ?? [] }

  /// How many selection sets are within one another here.
  var depth: Int { sets.map { operation.depths[$0] }.max() ?? 0 }

  /// Whether a name in the response is selected on a type, under whatever condition.
  /// - Parameter withDeferred: Whether deferred fragments count.
  func selects(_ key: String, on type: ConcreteType, withDeferred: Bool = true) -> Bool {
    let groups = operation.resolved.collect(sets) { selection in
      switch selection {
      case .field(let field): field.key == key && operation.field(field) != nil
      case .fragment(let fragment): operation.applies(fragment, to: type) && (withDeferred || !fragment.isDeferred)
      }
    }
    return !groups.isEmpty
  }

  private var summary: Summary {
    if let known = operation.summaries[sets] { return known }
    var summary = Summary()
    let groups = operation.resolved.collect(sets) { selection in
      if selection.conditions.contains(where: \.isNever) { return false }
      guard case .fragment(let fragment) = selection else { return true }
      guard operation.isKnown(fragment) else { return false }
      if let label = fragment.deferral?.label { summary.deferred[label, default: []].append(fragment) }
      return true
    }
    summary.keys = Set(groups.map(\.key))
    summary.unknownKeys = Set(groups.filter { $0.fields.allSatisfy { operation.field($0) == nil } }.map(\.key))
    operation.summaries[sets] = summary
    return summary
  }
}

extension Selections.Fragment {
  /// Whether it may arrive later.
  var isDeferred: Bool { deferral.map { !$0.isOff } ?? false }
}

/// The types and fields of a schema that selections are of.
private struct Definitions {
  private let selections: Selections
  private let schema: Schema
  /// For each set the type that it selects on, if that exists and the set is not excluded.
  private(set) var types: [NamedType?]
  /// For each selection the field that it is, if the schema has that and it is not excluded.
  private(set) var fields: [Field?]
  private(set) var hasUnknownFields = false
  private(set) var deprecations: [(place: SourceLocation, deprecation: OperationPlan.Deprecation)] = []

  init(_ selections: Selections, _ schema: Schema) {
    self.selections = selections
    self.schema = schema
    types = Array(repeating: nil, count: selections.count)
    fields = Array(repeating: nil, count: selections.all.count)
  }

  mutating func find(from root: NamedType) {
    types[0] = root
    var pending = [(set: 0, type: root)]
    while let (set, type) = pending.popLast() {
      for selection in selections[set] where !selection.conditions.contains(where: \.isNever) {
        let inner: NamedType?
        switch selection {
        case .field(let syntax):
          let field = type.selectableField(named: syntax.name)
          fields[syntax.number] = field
          if let field { recordDeprecations(in: syntax.syntax.arguments, of: field) } else { hasUnknownFields = true }
          inner = field?.type.named
        case .fragment(let fragment): inner = fragment.type.map { schema.type(named: $0) } ?? type
        }
        guard let inner, let set = selection.set, types[set] == nil else { continue }
        types[set] = inner
        pending.append((set, inner))
      }
    }
  }

  private mutating func recordDeprecations(in arguments: SyntaxList<ArgumentSyntax>, of field: Field) {
    for syntax in arguments {
      guard let argument = field.argument(named: syntax.name.text) else { continue }
      if argument.isDeprecated {
        record("\(field.coordinate)(\(argument.name):)", argument.deprecationReason, at: syntax.location)
      }
      recordDeprecations(in: syntax.value, of: argument.type.named)
    }
  }

  private mutating func recordDeprecations(in value: ValueSyntax, of type: NamedType) {
    switch value.kind {
    case .list(let elements): for element in elements { recordDeprecations(in: element, of: type) }
    case .object(let fields):
      for syntax in fields {
        guard let field = type.inputField(named: syntax.name.text) else { continue }
        if field.isDeprecated { record("\(type.name).\(field.name)", field.deprecationReason, at: syntax.location) }
        recordDeprecations(in: syntax.value, of: field.type.named)
      }
    case .enumValue(let name):
      guard let enumValue = type.value(named: name.text), enumValue.isDeprecated else { return }
      record("\(type.name).\(enumValue.name)", enumValue.deprecationReason, at: value.location)
    default: break
    }
  }

  private mutating func record(_ coordinate: String, _ reason: String?, at place: SourceLocation) {
    deprecations.append((place, .init(coordinate: coordinate, reason: reason)))
  }
}
