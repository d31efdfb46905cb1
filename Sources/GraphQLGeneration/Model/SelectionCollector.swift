import GraphQLLanguage
import GraphQLSchema

/// What is selected of an object: the parts of one or more selection sets, those that belong together in one place.
///
/// A field, a spread or a set may be there under conditions only, which are written as a text: what is selected under the
/// same conditions is there together.
struct SelectionCollector {
  /// A part of a selection that is still to be taken apart.
  enum Item {
    case set(SelectionSetSyntax, conditions: String)
    case spread(FragmentSpreadSyntax, conditions: String)
  }

  enum Entry {
    case field(FieldGroup)
    case spread(SpreadGroup)
    case deferred(DeferredGroup)
    /// An inline fragment on an abstract type that not every object is of.
    case narrowed(NarrowedGroup)
    /// The place of the fragments on objects.
    case kind
  }

  /// The fields with one name in the response.
  struct FieldGroup {
    let key: String
    var fields: [(syntax: FieldSyntax, conditions: String)]

    var isConditional: Bool { fields.allSatisfy { !$0.conditions.isEmpty } }

    /// What they select of their objects; where all are there or none, it is there whenever the object is.
    var items: [Item] {
      let isTogether = fields.allSatisfy { $0.conditions == fields[0].conditions }
      return fields.compactMap { field in
        field.syntax.selectionSet.map { .set($0, conditions: isTogether ? "" : field.conditions) }
      }
    }
  }

  struct SpreadGroup {
    let fragment: FragmentSyntax
    var conditions: [String]
    /// Whether it depends on the type of the object.
    let isNarrowed: Bool

    var isConditional: Bool { conditions.allSatisfy { !$0.isEmpty } }
  }

  struct DeferredGroup {
    let label: String
    let type: NamedType
    let item: Item
  }

  struct NarrowedGroup {
    let type: NamedType
    var items: [Item]
  }

  private(set) var entries: [Entry] = []
  /// The fragments on objects, each with what it selects.
  private(set) var kinds: [(type: NamedType, items: [Item])] = []
  /// Where `__typename` has to be added to the document, so that the object's type is known.
  private(set) var places: [Int] = []

  private let type: NamedType
  private let fragments: [String: FragmentSyntax]
  private var fieldPlaces: [String: Int] = [:]
  private var spreadPlaces: [String: Int] = [:]
  private var narrowedPlaces: [String: Int] = [:]
  private var needsTypename = false

  init(_ items: [Item], on type: NamedType, _ fragments: [String: FragmentSyntax]) {
    (self.type, self.fragments) = (type, fragments)
    for item in items {
      switch item {
      case .set(let set, let conditions): add(set, conditions)
      case .spread(let spread, let conditions): add(spread, conditions, isItem: true)
      }
    }
    let hasTypename = entries.contains {
      if case .field(let group) = $0 { group.key == "__typename" && !group.isConditional } else { false }
    }
    if !needsTypename || hasTypename { places = [] } else { addPlaces(in: items) }
  }

  /// If the first place is there under conditions only, another is needed.
  private mutating func addPlaces(in items: [Item]) {
    guard places.isEmpty else { return }
    for case .set(let set, _) in items { places.append(set.range.lowerBound + 1) }
  }

  private mutating func add(_ set: SelectionSetSyntax, _ conditions: String) {
    for selection in set.selections {
      let conditions = conditions + Self.conditions(of: selection)
      switch selection {
      case .field(let field): add(field, conditions)
      case .fragmentSpread(let spread): add(spread, conditions)
      case .inlineFragment(let fragment):
        let condition = fragment.typeCondition.flatMap { type.schema.type(named: $0.name.text) } ?? type
        if let label = Self.label(of: selection) {
          let item = Item.set(fragment.selectionSet, conditions: "")
          entries.append(.deferred(DeferredGroup(label: label, type: condition, item: item)))
        } else if type.isSubtype(of: condition) {
          add(fragment.selectionSet, conditions)
        } else {
          narrow(to: condition, .set(fragment.selectionSet, conditions: conditions), at: selection, conditions)
        }
      }
    }
  }

  private mutating func add(_ field: FieldSyntax, _ conditions: String) {
    let key = field.responseName.text
    if let place = fieldPlaces[key], case .field(var group) = entries[place] {
      group.fields.append((field, conditions))
      entries[place] = .field(group)
    } else {
      fieldPlaces[key] = entries.count
      entries.append(.field(FieldGroup(key: key, fields: [(field, conditions)])))
    }
  }

  /// - Parameter isItem: Whether it is all that there is, so that its label has counted already.
  private mutating func add(_ spread: FragmentSpreadSyntax, _ conditions: String, isItem: Bool = false) {
    guard let fragment = fragments[spread.name.text],
      let condition = type.schema.type(named: fragment.typeCondition.name.text)
    else { return }
    let selection = SelectionSyntax.fragmentSpread(spread)
    if !isItem, let label = Self.label(of: selection) {
      let item = Item.spread(spread, conditions: "")
      entries.append(.deferred(DeferredGroup(label: label, type: condition, item: item)))
      return
    }
    let isNarrowed = !type.isSubtype(of: condition)
    if isNarrowed, condition.kind == .object {
      return narrow(to: condition, .spread(spread, conditions: conditions), at: selection, conditions)
    }
    if isNarrowed { needTypename(at: selection, conditions) }
    if let place = spreadPlaces[spread.name.text], case .spread(var group) = entries[place] {
      group.conditions.append(conditions)
      entries[place] = .spread(group)
    } else {
      spreadPlaces[spread.name.text] = entries.count
      entries.append(.spread(SpreadGroup(fragment: fragment, conditions: [conditions], isNarrowed: isNarrowed)))
    }
  }

  private mutating func narrow(
    to type: NamedType, _ item: Item, at selection: SelectionSyntax, _ conditions: String
  ) {
    needTypename(at: selection, conditions)
    guard type.kind == .object else {
      if let place = narrowedPlaces[type.name], case .narrowed(var group) = entries[place] {
        group.items.append(item)
        entries[place] = .narrowed(group)
      } else {
        narrowedPlaces[type.name] = entries.count
        entries.append(.narrowed(NarrowedGroup(type: type, items: [item])))
      }
      return
    }
    if kinds.isEmpty { entries.append(.kind) }
    if let index = kinds.firstIndex(where: { $0.type == type }) {
      kinds[index].items.append(item)
    } else {
      kinds.append((type, [item]))
    }
  }

  /// The name of the type is asked for before the first selection that needs it, unless that may be left out.
  private mutating func needTypename(at selection: SelectionSyntax, _ conditions: String) {
    if !needsTypename, conditions == Self.conditions(of: selection) { places = [selection.range.lowerBound] }
    needsTypename = true
  }

  // MARK: - Directives

  /// What `@include` and `@skip` ask of a selection, and `@defer` without a label; empty if it is always there.
  private static func conditions(of selection: SelectionSyntax) -> String {
    var conditions = ""
    for directive in selection.directives {
      guard let value = directive.arguments.first(where: { $0.name == "if" })?.value else {
        if directive.name == "defer" { conditions += " defer" }
        continue
      }
      switch (directive.name.text, value.kind) {
      case ("include", .boolean(true)), ("skip", .boolean(false)), ("defer", .boolean(false)): break
      case ("include", _), ("skip", _), ("defer", _): conditions += " \(directive.name.text) \(value.text)"
      default: break
      }
    }
    return conditions
  }

  /// The label of a fragment that is deferred.
  private static func label(of selection: SelectionSyntax) -> String? {
    guard let directive = selection.directives.first(where: { $0.name == "defer" }) else { return nil }
    if case .boolean(false)? = directive.arguments.first(where: { $0.name == "if" })?.value.kind { return nil }
    return directive.string("label")
  }
}
