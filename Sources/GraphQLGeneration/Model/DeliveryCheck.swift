import GraphQLLanguage

/// Why an operation with `@defer` or `@stream` can never be sent: a client would refuse each request of it.
///
/// A client makes a fragment with a label a member of its object, called as the label, beside the fields that are selected of
/// the object, those of the fragment included.
struct DeliveryCheck {
  /// What is wrong, and where.
  private(set) var problems: [(message: String, location: SourceLocation)] = []

  private let operation: OperationSyntax
  private let selections: Selections
  /// The names of what sets select of one object.
  private var known: [[Int]: Set<String>] = [:]
  /// How many fields the objects have that were looked at.
  private var count = 0

  /// As deep as a client follows such an operation, and as many fields as it merges.
  private static let mostDepth = 100
  private static let mostFields = 20_000

  init(_ operation: OperationSyntax, _ selections: Selections) {
    self.operation = operation
    self.selections = selections
    guard let part = selections.all.first(where: { $0.delivery != nil }) else { return }
    guard operation.kind != .subscription else {
      problems.append(
        ("the results of a subscription do not arrive in parts: take \"@defer\" and \"@stream\" out", part.place))
      return
    }
    do throws(Selections.Problem) {
      _ = try selections.depths(upTo: Self.mostDepth)
      _ = try names(of: [0])
    } catch {
      problems.append(("it \(error): this is too much for \"@defer\"", error.location))
    }
  }

  /// The names of the fields that are selected of an object, with those of its fragments with labels.
  private mutating func names(of sets: [Int]) throws(Selections.Problem) -> Set<String> {
    if let known = known[sets] { return known }
    var labelled: [String: (sets: [Int], place: SourceLocation)] = [:]
    let groups = selections.collect(sets) { selection in
      guard case .fragment(let fragment) = selection, let label = fragment.deferral?.label else { return true }
      if labelled[label]?.sets.contains(fragment.set) != true {
        labelled[label, default: ([], selection.place)].sets.append(fragment.set)
      }
      return false
    }
    count += groups.count + 1
    if count > Self.mostFields { throw .tooMany(limit: Self.mostFields, operation.location) }
    var names = Set(groups.map(\.key))
    for group in groups where !group.sets.isEmpty { _ = try self.names(of: group.sets) }
    let labels = labelled.sorted { $0.key < $1.key }
    for (_, fragment) in labels { names.formUnion(try self.names(of: fragment.sets)) }
    for (label, fragment) in labels where names.contains(label) {
      problems.append(
        (
          "the label \"\(label)\" is also the name of a field of the object, in the fragment or beside it: choose another "
            + "label",
          fragment.place
        ))
    }
    known[sets] = names
    return names
  }
}

extension Selections.Selection {
  /// Where it is said how it arrives.
  fileprivate var place: SourceLocation {
    let syntax: SelectionSyntax =
      switch self {
      case .field(let field): .field(field.syntax)
      case .fragment(let fragment): fragment.syntax
      }
    let directive = syntax.directives.first { $0.name == "defer" || $0.name == "stream" }
    return directive?.location ?? syntax.location
  }
}
