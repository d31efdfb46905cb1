import GraphQLLanguage
import GraphQLSchema

/// Makes the model of valid documents: decides what types there are, and what everything is called.
///
/// Each fragment and each operation is looked at once, so that the time and the result grow with the documents.
struct ModelBuilder {
  let configuration: GenerationConfiguration
  let schema: Schema
  let documents: DocumentSet
  let names: SwiftNames
  let directives: ClientDirectives
  let nullability: Nullability
  let inputGraph: InputGraph
  /// The fragments by their names.
  let fragments: [String: FragmentSyntax]

  var model = GeneratedModel()
  var problems: [GenerationProblem] = []
  /// Where `__typename` is to be added to the text of the documents.
  var typenamePlaces: Set<Int> = []

  /// The names that are taken in the module.
  private var scope: NameScope
  private var fragmentNames: [String: String] = [:]
  /// The names in Swift of the enums and input objects that are used, and those of them that are sent.
  var typeNames: [String: String] = [:]
  var sentEnums: Set<String> = []
  var receivedEnums: Set<String> = []
  var pendingInputs: [NamedType] = []
  /// Where input objects are met first.
  var inputLocations: [String: SourceLocation] = [:]
  /// The modules that what is being built needs.
  var modules: Set<String> = []
  private var typeSetNames: [String: String] = [:]
  /// How many objects are within one another in what is being built.
  private var depth = 0
  /// The names that no type inside of another may have, as they would hide what it needs.
  private var hiddenNames: Set<String>

  init(_ configuration: GenerationConfiguration, _ source: SchemaSource, _ documents: DocumentSet) {
    (self.configuration, schema, self.documents) = (configuration, source.schema, documents)
    names = SwiftNames(configuration)
    directives = source.directives
    nullability = Nullability(schema, directives)
    inputGraph = InputGraph(schema) { configuration.scalar($0.name)?.type == "GraphQLUpload" }
    fragments = Dictionary(documents.syntax.fragments.map { ($0.name.text, $0) }) { $1 }
    scope = NameScope(Self.namesInModule(configuration, source.schema))
    hiddenNames = SwiftNames.typesInUse
    for scalar in configuration.scalars.values {
      hiddenNames.formUnion(scalar.type.split { !$0.isLetter }.map(String.init))
      hiddenNames.formUnion(scalar.type.split { !$0.isPartOfName }.map(String.init))
    }
    for type in schema.types where type.kind == .enum { hiddenNames.insert(names.type(type.name)) }
  }

  /// The names that no type of the module may have, as what is generated means other types by them.
  private static func namesInModule(_ configuration: GenerationConfiguration, _ schema: Schema) -> Set<String> {
    var names = SwiftNames.typesInUse.union(SwiftNames.typesOfSessions)
    for name in Set(configuration.scalars.keys).union(["Upload"]) where schema.type(named: name)?.kind == .scalar {
      guard let scalar = configuration.scalar(name) else { continue }
      // What gets the progress of files returns it.
      if scalar.type == "GraphQLUpload" { names.insert("Void") }
      // A `GraphQLEnum` is of an enum that is generated.
      if !scalar.type.contains("GraphQLEnum<") { names.formUnion(SwiftNames.lookedUp(in: scalar.type)) }
    }
    if configuration.recordSchema != nil { names.insert("RecordSchema") }
    return names
  }

  /// The model; check ``problems`` afterwards.
  mutating func build() -> GeneratedModel {
    let operations = documents.syntax.operations
    let reached = operations.map { documents.fragments.reached(from: $0.node) }
    let used = Set(reached.joined())
    nameTypes(operations, used.sorted().map { documents.fragments.all[$0].syntax })
    for number in used.sorted() {
      let fragment = documents.fragments.all[number].syntax
      modules = []
      let object = object(of: fragment)
      model.fragments.append(FragmentModel(syntax: fragment, object: object, modules: modules))
    }
    for (operation, reached) in zip(operations, reached) {
      add(operation, reached.map { fragmentName(documents.fragments.all[$0].syntax.name.text) })
    }
    for (number, fragment) in documents.fragments.all.enumerated() where !used.contains(number) {
      problems.append(
        documents.problem(
          "no operation uses the fragment \"\(fragment.syntax.name)\": nothing is generated for it",
          at: fragment.syntax.location, severity: .warning))
    }
    buildInputs()
    buildEnums()
    return model
  }

  /// Settles the names of the module's types: those of operations first, since people write them, in an order that does not
  /// depend on the files.
  private mutating func nameTypes(_ operations: [OperationSyntax], _ fragments: [FragmentSyntax]) {
    for operation in operations.sorted(by: { ($0.name?.text ?? "") < ($1.name?.text ?? "") }) {
      guard let name = operation.name?.text else { continue }
      for type in [names.type(name) + "Session", names.type(name) + "SessionType"] where scope.take(type) != type {
        problems.append(
          documents.problem(
            "the operation \"\(name)\" has the same Swift name as another: \(type)", at: operation.location))
      }
    }
    for type in schema.types.sorted(by: { $0.name < $1.name }) where type.kind == .enum || type.kind == .inputObject {
      let wanted = names.type(type.name)
      let name = scope.take(wanted, suffix: type.kind == .enum ? "Enum" : "Input")
      typeNames[type.name] = name
      if type.kind == .enum { hiddenNames.insert(name) }
    }
    for fragment in fragments.sorted(by: { $0.name.text < $1.name.text }) {
      fragmentNames[fragment.name.text] = scope.take(names.type(fragment.name.text), suffix: "Fragment")
    }
  }

  func fragmentName(_ name: String) -> String { fragmentNames[name] ?? names.type(name) }

  // MARK: - Operations and fragments

  private mutating func object(of fragment: FragmentSyntax) -> ObjectModel {
    guard let type = schema.type(named: fragment.typeCondition.name.text) else { return .fragment("Never") }
    return object(
      [.set(fragment.selectionSet, conditions: "")], on: type, named: fragmentName(fragment.name.text),
      hidden: hiddenNames(in: fragment.node), documentation: fragment.description?.value, isRoot: true)
  }

  private mutating func add(_ operation: OperationSyntax, _ fragments: [String]) {
    guard let name = operation.name?.text, let type = schema.rootType(of: operation.kind) else { return }
    let selections = Selections(of: operation, documents.fragments)
    for problem in DeliveryCheck(operation, selections).problems {
      let message = "in the operation \"\(name)\", \(problem.message)"
      problems.append(documents.problem(message, at: problem.location))
    }
    let hasParts = selections.all.contains { $0.delivery.map { !$0.isOff } ?? false }
    let typeName = names.type(name)
    // The name of the session's own property.
    var function = NameScope(["sessionHandler"])
    modules = []
    let variables = variables(of: operation)
    let data = object(
      [.set(operation.selectionSet, conditions: "")], on: type, named: "ResponseData",
      hidden: hiddenNames(in: operation.node), documentation: "The `data` of the response.")
    model.operations.append(
      OperationModel(
        syntax: operation, name: name,
        delivery: operation.kind == .subscription ? .live : hasParts ? .inParts : .once,
        session: typeName + "Session", function: function.take(names.lowercasedFirst(name)), variables: variables,
        data: data, fragments: fragments, documentation: operation.description?.value,
        modules: modules))
  }

  /// The names that types inside of a definition may not have.
  private func hiddenNames(in definition: SyntaxNode) -> Set<String> {
    hiddenNames.union(
      definition.descendants(.fragmentSpread).compactMap(FragmentSpreadSyntax.init).map {
        fragmentName($0.name.text)
      })
  }

  // MARK: - Objects

  /// How many structs may be within one another: more than anyone can read, and no more than a small stack has room for.
  private static let mostDepth = 50

  /// What selections of an object of a type are in Swift.
  private mutating func object(
    _ items: [SelectionCollector.Item], on type: NamedType, named name: String, hidden: Set<String>,
    documentation: String?, isRoot: Bool = false
  ) -> ObjectModel {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.mostDepth else {
      if case .set(let set, _)? = items.first {
        problems.append(
          documents.problem("more than \(Self.mostDepth) objects are selected within one another", at: set.location))
      }
      return .fragment("Never")
    }
    let selected = SelectionCollector(items, on: type, fragments)
    typenamePlaces.formUnion(selected.places)
    if !isRoot, selected.entries.count == 1, case .spread(let group) = selected.entries[0], !group.isNarrowed,
      !group.isConditional
    {
      return .fragment(fragmentName(group.fragment.name.text))
    }
    var members = NameScope(memberNames)
    // Fields have their names before what is named here.
    var properties: [Int: String] = [:]
    for (index, entry) in selected.entries.enumerated() {
      if case .field(let group) = entry { properties[index] = members.take(names.member(group.key)) }
    }
    // A field may be written as a type is.
    var types = NameScope(hidden.union(properties.values))
    var model = StructModel(name: name, documentation: documentation)
    let kindName = selected.kinds.isEmpty ? "" : types.take("Kind")
    for (index, entry) in selected.entries.enumerated() {
      switch entry {
      case .field(let group):
        add(group, of: type, as: properties[index] ?? group.key, to: &model, &types, hidden)
      case .spread(let group):
        add(
          group, as: members.take(names.lowercasedFirst(group.fragment.name.text)), beside: selected, on: type,
          to: &model)
      case .deferred(let group):
        let object = nested(
          [group.item], on: group.type, named: group.label, "What arrives later, as \"\(group.label)\".", in: &model,
          &types, hidden)
        model.properties.append(
          PropertyModel(
            name: members.take(names.member(group.label)), type: "Deferred<\(object.type)>",
            reading: "json.optionalValue(\(SwiftWriter.literal(group.label))) ?? .pending", defaultValue: ".pending",
            documentation: "What arrives later.", deprecation: nil))
      case .narrowed(let group):
        let object = nested(
          group.items, on: group.type, named: "As" + names.type(group.type.name),
          "What is selected of an object that is a `\(group.type.name)`.", in: &model, &types, hidden)
        model.properties.append(
          PropertyModel(
            name: members.take("as" + names.type(group.type.name)), type: object.type + "?",
            reading: "json.fragment(ifType: \(typeSet(of: group.type, within: type)))", defaultValue: "nil",
            documentation: "The object as a `\(group.type.name)`, if it is one.", deprecation: nil))
      case .kind:
        let property = members.take("kind", suffix: "OfType")
        model.kind = kind(selected.kinds, named: kindName, hidden)
        model.properties.append(
          PropertyModel(
            name: property, type: kindName, reading: "json.fragment()", defaultValue: nil,
            documentation: "Which type it is of, and what is selected of that.", deprecation: nil))
      }
    }
    for index in model.properties.indices where model.properties[index].deprecation != nil {
      model.properties[index].storedName = members.take("_" + model.properties[index].name)
    }
    return .own(model)
  }

  /// The names of members that the generated code needs itself. Nested structs, too, read `PossibleTypes`.
  private var memberNames: Set<String> {
    Set(
      (configuration.equality == .hashable ? ["hashValue"] : []) + (configuration.isEncodable ? ["received"] : [])
        + ["PossibleTypes"])
  }

  /// An object whose struct, if it is its own, is inside of another.
  private mutating func nested(
    _ items: [SelectionCollector.Item], on type: NamedType, named wanted: String, _ documentation: String?,
    in model: inout StructModel, _ types: inout NameScope, _ hidden: Set<String>
  ) -> ObjectModel {
    var free = types
    let name = free.take(names.type(wanted), suffix: "Object")
    let object = object(items, on: type, named: name, hidden: hidden, documentation: documentation)
    if case .own(let own) = object {
      types = free
      model.nested.append(own)
    }
    return object
  }

  private mutating func add(
    _ group: SelectionCollector.FieldGroup, of type: NamedType, as name: String, to model: inout StructModel,
    _ types: inout NameScope, _ hidden: Set<String>
  ) {
    let syntax = group.fields[0].syntax
    guard let field = type.selectableField(named: syntax.name.text) else { return }
    if group.key == "__typename", field.name != "__typename" {
      problems.append(
        documents.problem(
          "\"__typename\" is the name of an object's type, here and for servers and caches: choose another alias",
          at: syntax.location))
    }
    let levels = nullability.nonNullLevels(of: field, selectedAs: group.fields.map(\.syntax))
    if let directive = syntax.directives.first(where: { directives.name(of: $0) == "catch" }),
      directive.enumValue("to") == "RESULT" || directive.enumValue("to") == nil
    {
      problems.append(
        documents.problem(
          "a field has no result of its own: @catch(to: RESULT) is read as @catch(to: NULL). With the error policy `all`, the response has the errors with their paths",
          at: directive.location, severity: .warning))
    }
    let leaf: Leaf
    let named = field.type.named
    switch named.kind {
    case .object, .interface, .union:
      let object = nested(
        group.items, on: named, named: group.key, named.documentation, in: &model, &types, hidden)
      leaf = Leaf(object.type)
    case .enum:
      receivedEnums.insert(named.name)
      leaf = Leaf("GraphQLEnum<\(typeNames[named.name] ?? named.name)>")
    default:
      leaf = scalar(named, at: syntax.location)
    }
    var shape = ValueShape(field.type, leaf, nonNullLevels: levels)
    if group.isConditional { shape = shape.optional }
    var reading = shape.reading(group.key)
    if group.key == "__typename" {
      reading = group.isConditional ? "json.optionalTypename()" : "json.typename()"
    } else if group.isConditional, named.kind.isComposite {
      reading = shape.readingIfComplete(group.key)
    }
    model.properties.append(
      PropertyModel(
        name: name, type: shape.type, reading: reading, defaultValue: shape.isOptional ? "nil" : nil,
        documentation: field.name == "__typename" ? "The name of its type." : field.documentation,
        deprecation: field.deprecationReason))
  }

  /// What reads a scalar.
  mutating func scalar(_ type: NamedType, at location: SourceLocation) -> Leaf {
    if configuration.scalars[type.name] == nil, let leaf = Leaf.builtIn[type.name] { return leaf }
    guard let scalar = configuration.scalar(type.name) else {
      problems.append(
        documents.problem(
          "the scalar \"\(type.name)\" has no Swift type: add \"scalars\": {\"\(type.name)\": \"String\"} to the configuration, or "
            + "{\"\(type.name)\": {\"type\": \"TYPE\", \"module\": \"MODULE\"}} for a type that is JSONDecodable",
          at: location))
      return Leaf("String")
    }
    if let module = scalar.module { modules.insert(module) }
    return Leaf(scalar.type)
  }

  private mutating func add(
    _ group: SelectionCollector.SpreadGroup, as name: String, beside selected: SelectionCollector, on type: NamedType,
    to model: inout StructModel
  ) {
    let fragmentType = fragmentName(group.fragment.name.text)
    var reading = "json.fragment()"
    if group.isConditional {
      let key = witness(of: group.fragment, beside: selected)
      reading = key.map { "json.fragment(ifHas: \(SwiftWriter.literal($0)))" } ?? "json.fragmentIfComplete()"
    }
    if group.isNarrowed, let condition = schema.type(named: group.fragment.typeCondition.name.text) {
      let types = typeSet(of: condition, within: type)
      // An object of another type may have all of its keys, too.
      reading =
        group.isConditional
        ? "\(types).contains(json.typename()) ? \(reading) : nil" : "json.fragment(ifType: \(types))"
    }
    let isOptional = group.isConditional || group.isNarrowed
    model.properties.append(
      PropertyModel(
        name: name, type: fragmentType + (isOptional ? "?" : ""), reading: reading,
        defaultValue: isOptional ? "nil" : nil,
        documentation: "What `\(group.fragment.name)` selects\(isOptional ? ", if it is there" : "").", deprecation: nil
      ))
  }

  // MARK: - Fragments that may be left out

  /// A key that only this fragment selects, whenever it is there; `nil` if all are selected beside it, too.
  private func witness(of fragment: FragmentSyntax, beside selected: SelectionCollector) -> String? {
    var others: Set<String> = []
    for entry in selected.entries {
      switch entry {
      case .field(let group): others.insert(group.key)
      case .spread(let group) where group.fragment.name != fragment.name: others.formUnion(keys(of: group.fragment))
      case .narrowed(let group): for item in group.items { others.formUnion(keys(of: item)) }
      default: break
      }
    }
    for item in selected.kinds.flatMap(\.items) { others.formUnion(keys(of: item)) }
    return fragment.selectionSet.selections.lazy.compactMap { selection -> String? in
      guard case .field(let field) = selection else { return nil }
      let isConditional = field.directives.contains { $0.name == "include" || $0.name == "skip" }
      return isConditional || others.contains(field.responseName.text) ? nil : field.responseName.text
    }.first
  }

  private func keys(of item: SelectionCollector.Item) -> Set<String> {
    switch item {
    case .set(let set, _): keys(of: set)
    case .spread(let spread, _): fragments[spread.name.text].map { keys(of: $0) } ?? []
    }
  }

  private func keys(of fragment: FragmentSyntax) -> Set<String> { keys(of: fragment.selectionSet) }

  /// The keys that a set selects of its object, with those of its fragments.
  private func keys(of set: SelectionSetSyntax) -> Set<String> {
    var keys: Set<String> = []
    var entered: Set<String> = []
    var pending = [set]
    while let set = pending.popLast() {
      for selection in set.selections {
        switch selection {
        case .field(let field): keys.insert(field.responseName.text)
        case .inlineFragment(let inner): pending.append(inner.selectionSet)
        case .fragmentSpread(let spread):
          guard entered.insert(spread.name.text).inserted, let inner = fragments[spread.name.text] else { continue }
          pending.append(inner.selectionSet)
        }
      }
    }
    return keys
  }

  // MARK: - Abstract types

  private mutating func kind(
    _ kinds: [(type: NamedType, items: [SelectionCollector.Item])], named name: String, _ hidden: Set<String>
  ) -> KindModel {
    var cases = NameScope()
    let caseNames = kinds.map { cases.take(names.lowercasedFirst($0.type.name)) }
    // A type may have a name without letters, which is that of its case, too.
    var types = NameScope(hidden.union(caseNames))
    var result: [KindModel.Case] = []
    for ((type, items), caseName) in zip(kinds, caseNames) {
      var holder = StructModel(name: name, documentation: nil)
      let object = nested(
        items, on: type, named: type.name, type.documentation, in: &holder, &types, hidden)
      result.append(
        KindModel.Case(name: caseName, type: type.name, payload: object))
    }
    return KindModel(name: name, cases: result, other: cases.take("other", suffix: "Type"))
  }

  /// The name of the set of types that an object of one type has if it is of another. It has the names of both, so that no
  /// other operation changes it.
  private mutating func typeSet(of type: NamedType, within other: NamedType) -> String {
    let key = "\(type.name) \(other.name)"
    if let name = typeSetNames[key] { return "PossibleTypes.\(name)" }
    var taken = NameScope(Set(typeSetNames.values))
    let name = taken.take("\(names.lowercasedFirst(type.name))Of\(names.type(other.name))")
    typeSetNames[key] = name
    model.typeSets.append((name, type.possibleTypes.filter { $0.isSubtype(of: other) }.map(\.name).sorted()))
    return "PossibleTypes.\(name)"
  }
}
