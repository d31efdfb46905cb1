package import GraphQLLanguage

extension RecordSchema {
  /// Adds to a document what a record cache needs of a response: `__typename` to what is selected of a field's objects,
  /// and the key wherever the type is known to have one. What stands under its own name is not added again. A name that
  /// the document gives to another field is not taken: then the addition has an alias.
  ///
  /// The root of an operation gets nothing, since its type is known, and a subscription may have one field only.
  package func addingKeys(to text: String) throws(GraphQLSyntaxError) -> String {
    addingKeys(to: try DocumentSyntax(parsing: text))
  }

  /// Adds what a record cache needs to a document that has been parsed.
  package func addingKeys(to document: DocumentSyntax) -> String {
    var rewriting = DocumentRewriting(self, document)
    return rewriting.rewritten()
  }
}

/// Goes through the selection sets of a document in the order of its text, and inserts fields at their beginnings.
private struct DocumentRewriting {
  /// What is known where a selection set begins.
  private struct Place {
    let set: SelectionSetSyntax
    var type: String?
    /// Whether the set is all that is selected of a field's objects, not a part of it.
    var isOfField = false
    /// What the sets around it already select of the same object.
    var selected: Set<String> = []
  }

  private let schema: RecordSchema
  private let document: DocumentSyntax
  /// The names in the response that the document gives to fields with other names.
  private let taken: Set<String>
  private var insertions: [(offset: Int, text: String)] = []

  init(_ schema: RecordSchema, _ document: DocumentSyntax) {
    self.schema = schema
    self.document = document
    taken = document.node.descendants(.field).reduce(into: []) { taken, node in
      guard let field = FieldSyntax(node), let alias = field.alias, !field.hasNameOfItsOwn else { return }
      taken.insert(alias.text)
    }
  }

  mutating func rewritten() -> String {
    // The places still to be looked at; the order is of no matter, as the insertions are sorted.
    var open = document.definitions.compactMap(root)
    while let place = open.popLast() { open += rewrite(place) }
    insertions.sort { $0.offset < $1.offset }
    var result: [UInt8] = []
    let source = Array(document.source.utf8)
    var copied = 0
    for (offset, text) in insertions {
      result += source[copied..<offset]
      result += text.utf8
      copied = offset
    }
    return String(decoding: result + source[copied...], as: UTF8.self)
  }

  private func root(_ definition: DefinitionSyntax) -> Place? {
    switch definition {
    case .operation(let operation):
      let type =
        switch operation.kind {
        case .query: schema.roots.query
        case .mutation: schema.roots.mutation
        case .subscription: schema.roots.subscription
        }
      return Place(set: operation.selectionSet, type: type)
    case .fragment(let fragment):
      return Place(set: fragment.selectionSet, type: fragment.typeCondition.name.text)
    default: return nil
    }
  }

  /// Adds to one set, and returns those in it.
  private mutating func rewrite(_ place: Place) -> [Place] {
    var selected = place.selected
    for case .field(let field) in place.set.selections where field.isAlways && field.hasNameOfItsOwn {
      selected.insert(field.name.text)
    }
    var added: [String] = []
    let wanted = (place.isOfField ? ["__typename"] : []) + schema.selectableKey(of: place.type)
    for name in wanted where selected.insert(name).inserted {
      added.append(taken.contains(name) ? "\(alias(for: name)): \(name)" : name)
    }
    if !added.isEmpty {
      insertions.append((place.set.range.lowerBound + 1, " " + added.joined(separator: " ") + " "))
    }
    return place.set.selections.compactMap { selection in
      switch selection {
      case .field(let field):
        field.selectionSet.map { set in
          Place(set: set, type: place.type.flatMap { schema.fieldTypes[$0]?[field.name.text] }, isOfField: true)
        }
      case .inlineFragment(let fragment):
        Place(
          set: fragment.selectionSet, type: fragment.typeCondition?.name.text ?? place.type, selected: selected)
      case .fragmentSpread: nil
      }
    }
  }

  private func alias(for name: String) -> String {
    var alias = FieldSyntax.aliasPrefix + name
    while taken.contains(alias) { alias += "_" }
    return alias
  }
}

extension FieldSyntax {
  /// Whether the field is in each response, and has no arguments.
  fileprivate var isAlways: Bool { arguments.isEmpty && directives.isEmpty }

  /// What the name begins with that an addition has if its own is taken.
  fileprivate static let aliasPrefix = "key_"

  /// Whether its name in the response is its own, or the one that an addition has.
  fileprivate var hasNameOfItsOwn: Bool {
    guard let alias else { return true }
    return alias == name || alias.text == Self.aliasPrefix + name.text
  }
}
