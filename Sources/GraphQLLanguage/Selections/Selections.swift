/// What an operation selects, without a schema: its selection sets and those of the fragments that it uses, each resolved
/// once, however often a fragment is spread. Whatever follows an operation into its fragments does it on this form.
///
/// The sets have numbers: that of the operation is 0. What they select on one object is merged by `collect(_:where:)`,
/// and how deep they are within one another is known from `depths(upTo:)`.
package struct Selections: Sendable {
  /// A part of a selection set. A spread of a fragment that the documents lack is none.
  package enum Selection: Sendable {
    case field(Field)
    case fragment(Fragment)
  }

  package final class Field: Sendable {
    /// The number among all selections.
    package let number: Int
    package let syntax: FieldSyntax
    /// The name in the response.
    package let key: String
    /// The name in the schema.
    package let name: String
    /// What `@skip` and `@include` ask.
    package let conditions: [Condition]
    /// What `@stream` says.
    package let stream: Delivery?
    /// What it selects of its objects; a field without subfields has none.
    package let set: Int?

    fileprivate init(_ number: Int, _ syntax: FieldSyntax, _ directives: Directives, set: Int?) {
      self.number = number
      self.syntax = syntax
      name = syntax.name.text
      key = syntax.alias?.text ?? name
      conditions = directives.conditions
      stream = directives.stream
      self.set = set
    }
  }

  /// A fragment where it is used: an inline fragment or a spread.
  package final class Fragment: Sendable {
    package let syntax: SelectionSyntax
    /// The name of a fragment that is spread.
    package let name: String?
    /// The name of the type that it is on; an inline fragment may have none.
    package let type: String?
    /// What `@skip` and `@include` ask.
    package let conditions: [Condition]
    /// What `@defer` says.
    package let deferral: Delivery?
    /// What it selects. Spreads of one fragment share it.
    package let set: Int

    fileprivate init(
      _ syntax: SelectionSyntax, named name: NameSyntax? = nil, on type: TypeSyntax?, _ directives: Directives, set: Int
    ) {
      self.syntax = syntax
      self.name = name?.text
      self.type = type?.name.text
      conditions = directives.conditions
      deferral = directives.deferral
      self.set = set
    }
  }

  /// What `@skip` or `@include` asks (sections 3.13.1 and 3.13.2).
  package struct Condition: Sendable {
    package enum Directive: String, Sendable {
      case skip, include
    }

    package let directive: Directive
    /// The argument `if`.
    package let value: ValueSyntax

    /// What the value must be, so that the selection is there.
    package var wanted: Bool { directive == .include }

    /// Whether a constant excludes the selection.
    package var isNever: Bool {
      if case .boolean(let constant) = value.kind { constant != wanted } else { false }
    }
  }

  /// What `@defer` or `@stream` says.
  package struct Delivery: Sendable {
    package let label: String?
    /// Whether a constant turns it off.
    package let isOff: Bool
  }

  /// All selections; those of a set follow one another.
  package private(set) var all: [Selection] = []
  private var sets: [Range<Int>] = []

  /// Resolves what an operation selects.
  /// - Parameters:
  ///   - operation: An operation of one of the documents that the fragments are of.
  ///   - document: The number of that document.
  ///   - fragments: The fragments that it may use.
  package init(of operation: OperationSyntax, in document: Int = 0, _ fragments: FragmentTable) {
    var open = [(set: operation.selectionSet, document: document)]
    var numbers: [Int: Int] = [:]
    while sets.count < open.count {
      let (set, document) = open[sets.count]
      let start = all.count
      for selection in set.selections {
        let directives = Directives(selection.directives)
        switch selection {
        case .field(let field):
          let inner = field.selectionSet
          all.append(.field(Field(all.count, field, directives, set: inner.map { _ in open.count })))
          if let inner { open.append((inner, document)) }
        case .inlineFragment(let fragment):
          all.append(.fragment(Fragment(selection, on: fragment.typeCondition, directives, set: open.count)))
          open.append((fragment.selectionSet, document))
        case .fragmentSpread(let spread):
          guard let number = fragments.fragment(named: spread.name, in: document) else { continue }
          let fragment = fragments.all[number]
          let set = numbers[number] ?? open.count
          if set == open.count {
            numbers[number] = set
            open.append((fragment.syntax.selectionSet, fragment.document))
          }
          all.append(
            .fragment(
              Fragment(selection, named: spread.name, on: fragment.syntax.typeCondition, directives, set: set)))
        }
      }
      sets.append(start..<all.count)
    }
  }

  /// How many selection sets there are.
  package var count: Int { sets.count }

  /// What a set selects itself, in order.
  package subscript(set: Int) -> ArraySlice<Selection> { all[sets[set]] }

  /// What the directives of a selection say. One that stands twice, which is an error, counts where it stands first.
  fileprivate struct Directives {
    var conditions: [Condition] = []
    var deferral: Delivery?
    var stream: Delivery?

    init(_ list: SyntaxList<DirectiveSyntax>) {
      var skip: DirectiveSyntax?
      var include: DirectiveSyntax?
      for directive in list {
        let name = directive.name
        if name == "skip" {
          skip = skip ?? directive
        } else if name == "include" {
          include = include ?? directive
        } else if name == "defer" {
          deferral = deferral ?? Delivery(directive)
        } else if name == "stream" {
          stream = stream ?? Delivery(directive)
        }
      }
      if let value = skip?["if"] { conditions.append(Condition(directive: .skip, value: value)) }
      if let value = include?["if"] { conditions.append(Condition(directive: .include, value: value)) }
    }
  }
}

extension Selections.Delivery {
  fileprivate init(_ directive: DirectiveSyntax) {
    if case .string(let text)? = directive["label"]?.kind { label = text.value } else { label = nil }
    if case .boolean(false)? = directive["if"]?.kind { isOff = true } else { isOff = false }
  }
}

extension DirectiveSyntax {
  /// The value of an argument.
  fileprivate subscript(argument: String) -> ValueSyntax? { arguments.first { $0.name == argument }?.value }
}

// MARK: - What is selected on one object

extension Selections {
  /// The fields with one name in the response.
  package struct Group: Sendable {
    package let key: String
    /// The fields, in order: valid ones have one name and the same arguments.
    package fileprivate(set) var fields: [Field]

    /// What they select of their objects, all together.
    package var sets: [Int] { fields.compactMap(\.set) }
  }

  /// The fields that sets select on one object, those of one name together, in the order in which the response has them:
  /// `CollectFields` (section 6.3.2). A fragment is entered once, however often it is spread.
  /// - Parameters:
  ///   - sets: Different sets, such as those of fields with one name.
  ///   - isSelected: Whether a field or a fragment is there: its type and its conditions decide.
  package func collect<Failure: Error>(
    _ sets: [Int], where isSelected: (Selection) throws(Failure) -> Bool
  ) throws(Failure) -> [Group] {
    var groups: [Group] = []
    var places: [String: Int] = [:]
    var entered: Set<Int> = []
    // The selections still to be looked at; the next is in the last.
    var open = sets.reversed().map { self.sets[$0] }
    while let last = open.indices.last {
      guard let next = open[last].popFirst() else {
        open.removeLast()
        continue
      }
      let selection = all[next]
      guard try isSelected(selection) else { continue }
      switch selection {
      case .field(let field):
        // A few are found faster without an index.
        let place = places.isEmpty ? groups.firstIndex { $0.key == field.key } : places[field.key]
        if let place {
          groups[place].fields.append(field)
          continue
        }
        groups.append(Group(key: field.key, fields: [field]))
        if groups.count == 16 {
          for (place, group) in groups.enumerated() { places[group.key] = place }
        } else if groups.count > 16 {
          places[field.key] = groups.count - 1
        }
      case .fragment(let fragment):
        if fragment.name != nil, !entered.insert(fragment.set).inserted { continue }
        open.append(self.sets[fragment.set])
      }
    }
    return groups
  }
}

// MARK: - Limits

extension Selections {
  /// Why selections cannot be followed; it reads on from the name of an operation.
  package enum Problem: Error, Hashable, Sendable, CustomStringConvertible {
    /// More sets are within one another; what is too deep is selected there.
    case tooDeep(limit: Int, SourceLocation)
    /// More fields are selected, those of a fragment counted wherever they are merged.
    case tooMany(limit: Int, SourceLocation)
    /// A fragment contains itself, and is spread there.
    case endless(fragment: String, SourceLocation)

    package var description: String {
      switch self {
      case .tooDeep(let limit, _): "has more than \(limit) selection sets within one another, fragments included"
      case .tooMany(let limit, _): "has more than \(limit) fields, fragments included"
      case .endless(let fragment, _): "has the fragment '\(fragment)', which contains itself"
      }
    }

    /// The place in the document.
    package var location: SourceLocation {
      switch self {
      case .tooDeep(_, let location), .tooMany(_, let location), .endless(_, let location): location
      }
    }
  }

  /// For each set, how many are within one another in it, itself included; so whatever follows them recurses as deep.
  /// - Throws: That they are deeper than a limit, or have no end.
  package func depths(upTo limit: Int) throws(Problem) -> [Int] {
    /// Those of the sets that are done; 0 for others.
    var depths = Array(repeating: 0, count: sets.count)
    var isOpen = Array(repeating: false, count: sets.count)
    var path: [(set: Int, rest: Range<Int>, depth: Int)] = [(0, sets[0], 1)]
    isOpen[0] = true
    while let last = path.indices.last {
      guard let next = path[last].rest.popFirst() else {
        let (set, _, depth) = path.removeLast()
        depths[set] = depth
        isOpen[set] = false
        if last > 0 { path[last - 1].depth = max(path[last - 1].depth, depth + 1) }
        continue
      }
      guard let set = all[next].set else { continue }
      if isOpen[set] { throw .endless(fragment: all[next].name, all[next].location) }
      // What is entered is at least one deep.
      if path.count + max(depths[set], 1) > limit { throw .tooDeep(limit: limit, all[next].location) }
      if depths[set] > 0 {
        path[last].depth = max(path[last].depth, depths[set] + 1)
      } else {
        isOpen[set] = true
        path.append((set, sets[set], 1))
      }
    }
    return depths
  }
}

extension Selections.Selection {
  /// What it selects.
  package var set: Int? {
    switch self {
    case .field(let field): field.set
    case .fragment(let fragment): fragment.set
    }
  }

  /// What `@skip` and `@include` ask.
  package var conditions: [Selections.Condition] {
    switch self {
    case .field(let field): field.conditions
    case .fragment(let fragment): fragment.conditions
    }
  }

  /// What `@defer` or `@stream` says.
  package var delivery: Selections.Delivery? {
    switch self {
    case .field(let field): field.stream
    case .fragment(let fragment): fragment.deferral
    }
  }

  fileprivate var location: SourceLocation {
    switch self {
    case .field(let field): field.syntax.location
    case .fragment(let fragment): fragment.syntax.location
    }
  }

  fileprivate var name: String {
    switch self {
    case .field(let field): field.name
    case .fragment(let fragment): fragment.name ?? ""
    }
  }
}
