import GraphQLLanguage
import StrictJSON

/// One execution: it collects fields, completes values and propagates nulls (sections 6.3 and 6.4).
///
/// The objects and lists that are not complete stand in an array, so that the stack does not grow with the depth of the
/// response.
struct ExecutionRun {
  private let executor: Executor
  private let schema: Schema
  private let variables: [String: JSONValue]
  private let selections: Selections
  private(set) var errors: [ExecutionError] = []
  /// Where the value stands that is being completed: an element for each frame.
  private var path: [JSONError.PathElement] = []
  private var frames: [Frame] = []

  /// What a field was resolved to.
  private enum Resolved {
    case json(JSONValue)
    case introspection(IntrospectionValue)
  }

  /// An object or a list whose values are being completed, one after the other.
  private struct Frame {
    enum Content {
      case object(NamedType, Resolved, [Selections.Group])
      case list(TypeReference, Selections.Group, [Resolved])
    }

    let content: Content
    var next = 0
    /// The type of the value that is being completed.
    var type: TypeReference?
    var fields: [ResponseField] = []
    var elements: [ResponseValue] = []

    init(_ content: Content) {
      self.content = content
    }

    mutating func add(_ value: ResponseValue) {
      switch content {
      case .object(_, _, let groups): fields.append(ResponseField(name: groups[next - 1].key, value: value))
      case .list: elements.append(value)
      }
    }

    var value: ResponseValue {
      switch content {
      case .object: .object(fields)
      case .list: .list(elements)
      }
    }
  }

  /// What became of a value.
  private enum Completed {
    case value(ResponseValue)
    /// It is an object or a list, whose own values come first.
    case begun(Frame.Content)
    /// It failed, and its error is recorded: a null takes its place, or that of the next parent that may be null.
    case failed
  }

  /// How deep the response may nest: less than what JSON is written and read at most.
  private static let deepest = 100

  init(_ executor: Executor, _ selections: Selections, _ variables: [String: JSONValue]) {
    self.executor = executor
    schema = executor.schema
    self.selections = selections
    self.variables = variables
  }

  mutating func execute(on root: NamedType) -> ResponseValue {
    do {
      let groups = try collect([0], on: root)
      frames = [Frame(.object(root, .json(.null), groups))]
    } catch {
      errors.append(ExecutionError(message: error.message, locations: error.locations))
      return .leaf(.null)
    }
    while let last = frames.indices.last {
      if let completed = completeNext(in: last) {
        deliver(completed)
      } else {
        let value = frames.removeLast().value
        if frames.isEmpty { return value }
        deliver(.value(value))
      }
    }
    return .leaf(.null)
  }

  /// Puts what became of a value into the last frame; a failure may end that, too, and those around it.
  private mutating func deliver(_ completed: Completed) {
    switch completed {
    case .begun(let content): frames.append(Frame(content))
    case .value(let value):
      frames[frames.count - 1].add(value)
      path.removeLast()
    case .failed:
      while let last = frames.indices.last {
        path.removeLast()
        guard frames[last].type?.isNonNull ?? true else { return frames[last].add(.leaf(.null)) }
        frames.removeLast()
        if frames.isEmpty { return }
      }
    }
  }

  /// Completes the next value of an object or a list; `nil` if it has no other.
  private mutating func completeNext(in number: Int) -> Completed? {
    switch frames[number].content {
    case .object(let type, let parent, let groups):
      while frames[number].next < groups.count {
        let group = groups[frames[number].next]
        frames[number].next += 1
        guard let field = type.selectableField(named: group.fields[0].name) else { continue }
        path.append(.key(group.key))
        frames[number].type = field.type
        return recovering(group) { (run) throws in
          let arguments = try run.arguments(of: field, group.fields[0].syntax)
          let value = try run.resolve(field, arguments, on: type, of: parent)
          return try run.complete(value, field.type, group)
        }
      }
      return nil
    case .list(let type, let group, let elements):
      let index = frames[number].next
      guard index < elements.count else { return nil }
      path.append(.index(index))
      frames[number].next += 1
      frames[number].type = type
      return recovering(group) { (run) throws in try run.complete(elements[index], type, group) }
    }
  }

  /// What the closure gives. If that fails, the error is recorded.
  private mutating func recovering(
    _ group: Selections.Group, _ body: (inout ExecutionRun) throws -> Completed
  ) -> Completed {
    do {
      return try body(&self)
    } catch {
      if let error = error as? CoercionError {
        errors.append(ExecutionError(message: error.message, locations: error.locations, path: path))
      } else {
        let failure = error as? FieldError ?? FieldError("\(error)")
        errors.append(
          ExecutionError(
            message: failure.message, locations: group.fields.map(\.syntax.location), path: path,
            extensions: failure.extensions))
      }
      return .failed
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
  private func complete(_ value: Resolved, _ type: TypeReference, _ group: Selections.Group) throws -> Completed {
    if case .json(.null) = value {
      if type.isNonNull { throw FieldError("\"\(group.fields[0].name)\" is null, but its type is \(type)") }
      return .value(.leaf(.null))
    }
    let nullable = type.nullable
    if let item = nullable.item { return try complete(list: value, of: item, group) }
    let named = nullable.named
    guard named.kind.isComposite else { return .value(.leaf(try leaf(value, named))) }
    return try complete(object: value, named, group)
  }

  private func complete(object: Resolved, _ type: NamedType, _ group: Selections.Group) throws -> Completed {
    guard path.count < Self.deepest else { throw FieldError("the response is nested too deep") }
    let objectType = try self.objectType(of: object, type)
    let groups = try collect(group.sets, on: objectType)
    return .begun(.object(objectType, object, groups))
  }

  private func complete(list: Resolved, of type: TypeReference, _ group: Selections.Group) throws -> Completed {
    switch list {
    case .json(.array(let values)): return .begun(.list(type, group, values.map { .json($0) }))
    case .introspection(.list(let values)): return .begun(.list(type, group, values.map { resolved($0) }))
    default: throw FieldError("\"\(group.fields[0].name)\" is no list, but its type is [\(type)]")
    }
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
  /// The fields that selection sets select on an object.
  private func collect(_ sets: [Int], on type: NamedType) throws(CoercionError) -> [Selections.Group] {
    try selections.collect(sets) { (selection) throws(CoercionError) in
      for condition in selection.conditions where try value(of: condition) != condition.wanted { return false }
      guard case .fragment(let fragment) = selection, let name = fragment.type else { return true }
      return schema.type(named: name).map { type.isSubtype(of: $0) } ?? false
    }
  }

  /// The argument `if` of a directive, which is `Boolean!`.
  private func value(of condition: Selections.Condition) throws(CoercionError) -> Bool {
    switch condition.value.kind {
    case .boolean(let isTrue): return isTrue
    case .variable(let variable):
      if let isTrue = variables[variable.text]?.boolValue { return isTrue }
    default: break
    }
    throw CoercionError(
      message: "the argument \"if\" of \"@\(condition.directive.rawValue)\" must be true or false",
      locations: [condition.value.location])
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
      var coercion = InputCoercion(schema, variables: variables)
      if isGiven, let value {
        result[argument.name] = coercion.coerce(.literal(value.node), record.type)
      } else if record.hasDefault {
        result[argument.name] = coercion.defaultValue(of: record)
      } else if record.type.isNonNull {
        throw CoercionError(
          message: "the argument \"\(argument.name)\" of type \(argument.type) is not given", locations: [location])
      }
      if let fault = coercion.faults.first {
        throw CoercionError(
          message: "the argument \"\(argument.name)\(fault.path)\" \(fault.message)", locations: [location])
      }
    }
    return result
  }
}
