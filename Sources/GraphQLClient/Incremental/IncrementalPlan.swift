import GraphQLLanguage
import StrictJSON

/// Where an operation has fragments with labels, so that each is decoded by itself; see ``Deferred``.
struct IncrementalPlan: Hashable, Sendable {
  /// What is selected of an object, of whatever type, without its fragments with labels. Objects of which the same is
  /// selected share it; others have their places in the plan.
  struct Object: Hashable, Sendable {
    /// The objects of its fields, by their names in the response; `nil` for a field that is no object.
    fileprivate(set) var fields: [String: Int?] = [:]
    /// The fields that are there whatever the object's type and the variables are.
    fileprivate(set) var required: [String] = []
    /// The objects of its deferred fragments by their labels.
    fileprivate(set) var fragments: [String: Int] = [:]
    /// Whether there are deferred fragments with labels here or further inside.
    fileprivate(set) var hasFragments = false
    /// How many objects and fields it is, with those of its fields and fragments.
    fileprivate var size = 1
  }

  /// Whether any fragment has a label.
  var hasFragments: Bool { objects.last?.hasFragments == true }

  /// The objects, each after those that it has; the last is the data as a whole.
  private(set) var objects = [Object()]

  /// Why the operation cannot be sent.
  private(set) var problem: String?

  /// The plan of an operation without deferred fragments.
  init() {}

  /// The plan of an operation; `nil` for one without `@defer` and `@stream`.
  init?(of operation: OperationSyntax, in document: DocumentSyntax) {
    self.init(of: operation, FragmentTable(document))
  }

  /// The plan of an operation with the fragments of its document; `nil` for one without `@defer` and `@stream`.
  init?(of operation: OperationSyntax, _ fragments: FragmentTable) {
    let selections = Selections(of: operation, fragments)
    guard selections.all.contains(where: { $0.delivery != nil }) else { return nil }
    do {
      _ = try selections.depths(upTo: Self.depthLimit)
      var compiler = Compiler(operation, selections)
      _ = try compiler.object(of: [0], certain: [0])
      objects = compiler.objects
      problem = compiler.problem
    } catch {
      problem = "The operation \(error), at \(error.location): this is too much for '@defer'."
    }
  }

  private static let depthLimit = 100

  /// Whether an object has all of a fragment's fields, in each element of its lists; `nil` if nothing tells: because no
  /// field must be there, or because lists are empty and objects `null`.
  func isContained(_ object: Int, in members: [String: JSONValue]) -> Bool? {
    var isFound: Bool? = objects[object].required.isEmpty ? nil : true
    for key in objects[object].required {
      guard let value = members[key] else { return false }
      // Of an object of which only fragments with labels are selected, nothing else comes.
      guard let inner = objects[object].fields[key] ?? nil, !objects[inner].fields.isEmpty else { continue }
      switch isContained(inner, in: value) {
      case false?: return false
      case nil: isFound = nil
      case true?: break
      }
    }
    return isFound
  }

  private func isContained(_ object: Int, in value: JSONValue) -> Bool? {
    switch value {
    case .object(let members): return isContained(object, in: members)
    case .array(let elements):
      var isFound: Bool?
      for element in elements {
        switch isContained(object, in: element) {
        case false?: return false
        case true?: isFound = true
        case nil: break
        }
      }
      return isFound
    default: return nil
    }
  }
}

/// Merges the selections of an operation. It recurses as deep as they nest.
private struct Compiler {
  private let operation: OperationSyntax
  private let selections: Selections
  private(set) var objects: [IncrementalPlan.Object] = []
  private(set) var problem: String?
  private var numbers: [Merged: Int] = [:]
  /// How many fields the objects have that are begun.
  private var count = 0

  /// How many fields there may be, those of an object that others share counted wherever it is.
  private static let fieldLimit = 20_000

  /// The selections that end up in one object.
  private struct Merged: Hashable {
    let sets: [Int]
    let certain: [Int]
  }

  init(_ operation: OperationSyntax, _ selections: Selections) {
    self.operation = operation
    self.selections = selections
  }

  /// The object of which sets are selected.
  /// - Parameter certain: Those of the sets that are, whatever the types of other objects and the variables are.
  mutating func object(of sets: [Int], certain: [Int]) throws(Selections.Problem) -> Int {
    let merged = Merged(sets: sets, certain: certain)
    if let known = numbers[merged] { return known }
    var object = IncrementalPlan.Object()
    var certainSets: [String: [Int]] = [:]
    for group in certain.isEmpty ? [] : selections.collect(certain, where: { $0.isCertain }) {
      object.required.append(group.key)
      let sets = group.sets
      if !sets.isEmpty { certainSets[group.key] = sets }
    }
    var labelled: [String: [Int]] = [:]
    let groups = selections.collect(sets) { selection in
      guard case .fragment(let fragment) = selection, let label = fragment.deferral?.label else { return true }
      if labelled[label]?.contains(fragment.set) != true { labelled[label, default: []].append(fragment.set) }
      return false
    }
    count += groups.count + 1
    try check(count)
    object.fields = Dictionary(minimumCapacity: groups.count)
    for group in groups {
      let sets = group.sets
      let inner = sets.isEmpty ? nil : try self.object(of: sets, certain: certainSets[group.key] ?? [])
      object.fields[group.key] = .some(inner)
      object.size += 1
      if let inner { try add(objects[inner], to: &object) }
    }
    for (label, sets) in labelled.sorted(by: { $0.key < $1.key }) {
      // The type condition is the fragment's own: what it selects is there if it is.
      let inner = try self.object(of: sets, certain: sets)
      object.fragments[label] = inner
      object.hasFragments = true
      try add(objects[inner], to: &object)
    }
    if let label = object.fragments.keys.filter({ selects($0, object) }).min() {
      problem = problem ?? "The label '\(label)' is also the name of a field beside it: choose another label."
    }
    objects.append(object)
    numbers[merged] = objects.count - 1
    return objects.count - 1
  }

  /// Whether an object or one of its fragments has a field of that name.
  private func selects(_ name: String, _ object: IncrementalPlan.Object) -> Bool {
    object.fields[name] != nil || object.fragments.values.contains { selects(name, objects[$0]) }
  }

  private func add(
    _ inner: IncrementalPlan.Object, to object: inout IncrementalPlan.Object
  ) throws(Selections.Problem) {
    object.size += inner.size
    if inner.hasFragments { object.hasFragments = true }
    try check(object.size)
  }

  private func check(_ fields: Int) throws(Selections.Problem) {
    guard fields > Self.fieldLimit else { return }
    throw .tooMany(limit: Self.fieldLimit, operation.location)
  }
}

extension Selections.Selection {
  /// Whether it is there whatever the object's type and the variables are.
  fileprivate var isCertain: Bool {
    switch self {
    case .field(let field): field.conditions.isEmpty
    case .fragment(let fragment): fragment.type == nil && fragment.conditions.isEmpty && fragment.deferral == nil
    }
  }
}
