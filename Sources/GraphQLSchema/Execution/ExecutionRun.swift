import GraphQLLanguage
import JSON

/// One execution: it collects fields, completes values and propagates nulls (sections 6.3 and 6.4).
struct ExecutionRun {
  private let executor: Executor
  private let schema: Schema
  private let variables: [String: JSONValue]
  private let literals: LiteralCoercion
  private let fragments: [String: FragmentSyntax]
  private(set) var errors: [ExecutionError] = []
  private var path: [JSONError.PathElement] = []

  /// What a field was resolved to.
  private enum Resolved {
    case json(JSONValue)
    case introspection(IntrospectionValue)
  }

  /// The fields with one name in the response.
  private struct Group {
    let name: String
    var nodes: [FieldSyntax]
  }

  /// A null on its way to the next place that may be null. Its error is recorded already.
  private struct NullPropagation: Error {}

  /// How deep the response may nest: less than what JSON is written and read at most, and what half a mebibyte of stack
  /// has room for in a debug build, with 4.5 KB a level.
  private static let deepest = 100

  init(_ executor: Executor, _ document: DocumentSyntax, _ variables: [String: JSONValue]) {
    self.executor = executor
    schema = executor.schema
    self.variables = variables
    literals = LiteralCoercion(schema, variables: variables)
    fragments = Dictionary(document.fragments.map { ($0.name.text, $0) }) { $1 }
  }

  mutating func execute(_ operation: OperationSyntax, on root: NamedType) -> ResponseValue {
    let groups = collect([operation.selectionSet], on: root)
    return (try? execute(groups, on: root, of: .json(.null))) ?? .leaf(.null)
  }

  private mutating func execute(
    _ groups: [Group], on type: NamedType, of parent: Resolved
  ) throws(NullPropagation) -> ResponseValue {
    var fields: [ResponseField] = []
    for group in groups {
      guard let field = type.selectableField(named: group.nodes[0].name.text) else { continue }
      path.append(.key(group.name))
      defer { path.removeLast() }
      let value = try recovering(field.type, group) { (run) throws in
        let arguments = try run.arguments(of: field, group.nodes[0])
        let value = try run.resolve(field, arguments, on: type, of: parent)
        return try run.complete(value, field.type, group)
      }
      fields.append(ResponseField(name: group.name, value: value))
    }
    return .object(fields)
  }

  /// The value that the closure gives. If that fails, the error is recorded, and the value is null, or the null propagates.
  private mutating func recovering(
    _ type: TypeReference, _ group: Group, _ body: (inout ExecutionRun) throws -> ResponseValue
  ) throws(NullPropagation) -> ResponseValue {
    do {
      return try body(&self)
    } catch {
      switch error {
      case is NullPropagation: break
      case let error as CoercionError:
        errors.append(ExecutionError(message: error.message, locations: error.locations, path: path))
      default:
        let failure = error as? FieldError ?? FieldError("\(error)")
        errors.append(
          ExecutionError(
            message: failure.message, locations: group.nodes.map(\.location), path: path,
            extensions: failure.extensions))
      }
      if type.isNonNull { throw NullPropagation() }
      return .leaf(.null)
    }
  }

  private func resolve(
    _ field: Field, _ arguments: [String: JSONValue], on type: NamedType, of parent: Resolved
  ) throws -> Resolved {
    if field.name == "__typename" { return .json(.string(type.name)) }
    switch parent {
    case .introspection(let value): return resolved(value.field(field.name, arguments))
    case .json(let parent):
      if let value = IntrospectionValue.root(field.name, arguments, schema) { return resolved(value) }
      let request = Executor.FieldRequest(field: field, parent: parent, arguments: arguments, path: path)
      return .json(try executor.resolve(request))
    }
  }

  private func resolved(_ value: IntrospectionValue) -> Resolved {
    if case .json(let json) = value { .json(json) } else { .introspection(value) }
  }
}

// MARK: - Values

extension ExecutionRun {
  /// `CompleteValue` of section 6.4.3.
  private mutating func complete(_ value: Resolved, _ type: TypeReference, _ group: Group) throws -> ResponseValue {
    if case .json(.null) = value {
      if type.isNonNull { throw FieldError("\"\(group.nodes[0].name)\" is null, but its type is \(type)") }
      return .leaf(.null)
    }
    let nullable = type.nullable
    if let item = nullable.item { return try complete(list: value, of: item, group) }
    let named = nullable.named
    guard named.kind.isComposite else { return .leaf(try leaf(value, named)) }
    return try complete(object: value, named, group)
  }

  private mutating func complete(object: Resolved, _ type: NamedType, _ group: Group) throws -> ResponseValue {
    guard path.count < Self.deepest else { throw FieldError("the response is nested too deep") }
    let objectType = try self.objectType(of: object, type)
    return try execute(
      collect(group.nodes.compactMap(\.selectionSet), on: objectType), on: objectType, of: object)
  }

  private mutating func complete(list: Resolved, of type: TypeReference, _ group: Group) throws -> ResponseValue {
    let elements: [Resolved]
    switch list {
    case .json(.array(let values)): elements = values.map { .json($0) }
    case .introspection(.list(let values)): elements = values.map { resolved($0) }
    default: throw FieldError("\"\(group.nodes[0].name)\" is no list, but its type is [\(type)]")
    }
    var result: [ResponseValue] = []
    for (index, element) in elements.enumerated() {
      path.append(.index(index))
      defer { path.removeLast() }
      result.append(try recovering(type, group) { (run) throws in try run.complete(element, type, group) })
    }
    return .list(result)
  }

  private func leaf(_ value: Resolved, _ type: NamedType) throws -> JSONValue {
    guard case .json(let value) = value else { throw FieldError("a part of the schema is no \(type.name)") }
    if type.kind == .enum {
      if let name = value.stringValue, type.value(named: name) != nil { return value }
    } else if let result = BuiltInScalar.output(value, as: schema.tables[type.id].name) {
      return result
    }
    let text = (try? value.json()).map { String(decoding: $0, as: UTF8.self) } ?? "the value"
    throw FieldError("\(text.utf8.count > 80 ? text.prefix(60) + "…" : text) is no \(type.name)")
  }

  /// The type of an object, which for an interface or union is in its `__typename`.
  private func objectType(of value: Resolved, _ type: NamedType) throws -> NamedType {
    guard case .json(let json) = value else { return type }
    guard case .object = json else { throw FieldError("a value of \(type.name) must be an object") }
    guard type.kind.isAbstract else { return type }
    guard let name = json["__typename"]?.stringValue else {
      throw FieldError("a value of \(type.name) must have \"__typename\", which says what it is")
    }
    guard let object = schema.type(named: name), object.kind == .object, object.isSubtype(of: type) else {
      throw FieldError("\(name) is none of the types of \(type.name)")
    }
    return object
  }
}

// MARK: - Fields and arguments

extension ExecutionRun {
  /// `CollectFields` of section 6.3.2: the fields that selection sets select on an object, grouped by their names in the
  /// response.
  private func collect(_ sets: [SelectionSetSyntax], on type: NamedType) -> [Group] {
    var groups: [Group] = []
    var places: [String: Int] = [:]
    var visited: Set<String> = []
    // The selections still to be looked at; the next is in the last.
    var pending = sets.reversed().map { $0.selections[...] }
    while var selections = pending.popLast() {
      guard let selection = selections.popFirst() else { continue }
      pending.append(selections)
      guard isIncluded(selection.directives) else { continue }
      switch selection {
      case .field(let field):
        let name = field.responseName.text
        if let place = places[name] {
          groups[place].nodes.append(field)
        } else {
          places[name] = groups.count
          groups.append(Group(name: name, nodes: [field]))
        }
      case .inlineFragment(let fragment):
        if fragment.typeCondition.map({ applies($0, to: type) }) ?? true {
          pending.append(fragment.selectionSet.selections[...])
        }
      case .fragmentSpread(let spread):
        let name = spread.name.text
        guard visited.insert(name).inserted, let fragment = fragments[name], applies(fragment.typeCondition, to: type)
        else { continue }
        pending.append(fragment.selectionSet.selections[...])
      }
    }
    return groups
  }

  private func applies(_ condition: TypeSyntax, to object: NamedType) -> Bool {
    schema.type(named: condition.name.text).map { object.isSubtype(of: $0) } ?? false
  }

  private func isIncluded(_ directives: SyntaxList<DirectiveSyntax>) -> Bool {
    func condition(_ name: String) -> Bool? {
      switch directives.first(where: { $0.name == name })?.arguments.first(where: { $0.name == "if" })?.value.kind {
      case .boolean(let isTrue)?: isTrue
      case .variable(let variable)?: variables[variable.text]?.boolValue
      default: nil
      }
    }
    return directives.isEmpty || condition("skip") != true && condition("include") != false
  }

  /// `CoerceArgumentValues` of section 6.4.1.
  private func arguments(of field: Field, _ node: FieldSyntax) throws(CoercionError) -> [String: JSONValue] {
    var result: [String: JSONValue] = [:]
    for argument in field.arguments {
      let record = schema.tables.inputs[argument.index]
      let value = node.arguments.first { $0.name == argument.name }?.value
      var isGiven = value != nil
      if case .variable(let variable)? = value?.kind { isGiven = variables[variable.text] != nil }
      let location = value?.location ?? node.location
      if isGiven, let value {
        guard let coerced = literals.coerce(value.node, record.type) else {
          throw CoercionError(
            message: "the argument \"\(argument.name)\" does not fit its type \(argument.type)", locations: [location])
        }
        result[argument.name] = coerced
      } else if record.hasDefault {
        result[argument.name] = literals.defaultValue(of: record)
      } else if record.type.isNonNull {
        throw CoercionError(
          message: "the argument \"\(argument.name)\" of type \(argument.type) is not given", locations: [location])
      }
    }
    return result
  }
}
